// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls that nobody looks at. Where nothing is kept of any target of any window, and calls take less than a
// microsecond, as in shared memory, all that nearfetch does for them is felt: it looks each up, counts it,
// and notes that something is under way. So there is a recess: the next gets, updates, atomics and flushes, a
// few thousand of them, go to the library as they are. Locks of single targets and their unlocks stay seen,
// and do not disturb it; whatever else asks for a window ends it (find_window). After that all targets count
// as having something of these kinds under way, atomics may have brought news, and the gets are subtracted
// from the pauses after which targets are looked at again.
//
// There is none with MPI_THREAD_MULTIPLE, while memory is exposed by two windows (then the end of an update
// is an acquire), or where somebody asks how many calls there were.

#include <cstdint>

namespace nearfetch {

class Recess {
  public:
    /// Whether the call goes by unseen. The first instructions of the wrappers.
    bool lets_get_pass() noexcept { return take(gets_left_); }
    bool lets_flush_pass() noexcept { return take(others_left_); }
    bool lets_update_pass() noexcept { return take(others_left_) && (updates_ = true); }
    bool lets_atomic_pass() noexcept { return take(others_left_) && (atomics_ = true); }

    bool is_on() const noexcept { return on_; }
    /// Counts a call that passes and that somebody looks at. \return true if it is time to begin()
    bool falls_due() noexcept { return --calls_to_next_ == 0; }
    bool is_due() const noexcept { return calls_to_next_ == 0; }
    /// Begins one, if that may be.
    [[gnu::noinline]] void begin() noexcept;
    /// At the end of a call that has passed.
    void after_call() noexcept {
        if (falls_due()) [[unlikely]]
            begin();
    }
    /// \pre is_on()
    [[gnu::noinline]] void end() noexcept;

    /// From now on there are recesses, of so many calls at most.
    void allow(std::uint32_t calls) noexcept;
    /// From now on there is none.
    void forbid() noexcept;

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    static bool take(std::uint32_t& left) noexcept {
        if (left == 0) [[likely]]
            return false;
        --left;
        return true;
    }
    void wait_longer() noexcept;

    std::uint32_t gets_left_ = 0;
    std::uint32_t others_left_ = 0;
    bool updates_ = false;  ///< some have passed
    bool atomics_ = false;
    bool on_ = false;
    std::uint64_t calls_to_next_ = never;

    std::uint64_t wait_ = never;
    std::uint64_t begin_ticks_ = 0;
    std::uint32_t gets_ = 0;  ///< that may pass, and others, at its beginning
    std::uint32_t others_ = 0;
    std::uint32_t calls_ = 0;  ///< of the next one
    std::uint32_t most_calls_ = 0;
};

#if defined(NEARFETCH_CANARY)
/// So that a test can see that there were recesses.
void count_unseen(unsigned long long calls) noexcept;
#else
constexpr void count_unseen(unsigned long long) noexcept {}
#endif

/// The process's.
extern constinit Recess recess __attribute__((visibility("hidden")));

}  // namespace nearfetch
