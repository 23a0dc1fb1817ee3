// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls that nobody looks at. Where nothing is kept of any target of any window, and calls take less than two
// microseconds, as in shared memory, all that nearfetch does for them is felt: it looks each up, counts it,
// and notes that something is under way. So there is a recess: for up to ten milliseconds gets, updates,
// atomics, flushes, and locks and unlocks of single targets go to the library as they are. Fences stay seen,
// and do not disturb it, and so do locks if one was open when it began, or if they do not synchronize;
// whatever else asks for a window ends it (find_window), and so does one of the calls that complete others,
// after so many of them. Then all targets count as having something of these kinds under way. After updates,
// atomics and locks that means that nothing is used that was cached before; and after locks, that it is not
// known which are open, so that nothing hits before the next one. What gets could have taken in that time is
// subtracted from the pauses after which targets are looked at again.
//
// There is none with MPI_THREAD_MULTIPLE, while memory is exposed by two windows (then the end of an update
// is an acquire), or where somebody asks how many calls there were.

#include <cstdint>

namespace nearfetch {

class Recess {
  public:
    bool is_on() const noexcept { return on_; }
    /// Whether gets pass, too: not if nothing was read before, because the first get is to be seen, unless
    /// all windows are off.
    bool gets_pass() const noexcept { return gets_pass_; }
    // Gets are not counted: how long they take is measured.
    void get_passes() noexcept {}
    void update_passes() noexcept { ++updates_; }
    void atomic_passes() noexcept { ++atomics_; }
    /// Whether a lock of a single target passes.
    bool lock_passes() noexcept {
        if (!locks_pass_) [[likely]]
            return false;
        ++locks_;
        return true;
    }
    /// Whether a completion passes, or a request-based get, which comes without one: not after so many of
    /// them that it is time for the end.
    bool completion_passes() noexcept { return on_ && ++completions_ <= calls_; }
    bool request_passes() noexcept { return gets_pass_ && completion_passes(); }
    bool unlock_passes() noexcept { return locks_pass_ && ++completions_ <= calls_; }

    /// Counts a call that passes after it has been seen. \return true if it is time to begin()
    bool falls_due() noexcept { return --calls_to_next_ == 0; }
    /// If it was, and the call is a get: whether it passes in the recess that begins with it.
    bool begins_with_get() noexcept {
        if (calls_to_next_ != 0) return false;
        begin();
        return gets_pass_;
    }
    /// Ends it, if there is one.
    void stop() noexcept {
        if (on_) [[unlikely]]
            end();
    }
    /// At the end of a completion that was seen, and passed.
    void completion_passed() noexcept {
        if (on_) {
            if (!completion_passes()) end();
        } else if (falls_due()) {
            begin();
        }
    }
    /// The same of an unlock: now the lock is not open that a recess has waited for.
    void unlock_passed() noexcept {
        if (waits_for_unlock_ && !on_)
            begin();
        else
            completion_passed();
    }

    /// From now on there are recesses, of so many calls at most.
    void allow(std::uint32_t calls) noexcept;
    /// From now on there is none.
    void forbid() noexcept;

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// If that may be.
    [[gnu::noinline]] void begin() noexcept;
    [[gnu::noinline]] void end() noexcept;
    void wait_longer() noexcept;

    bool on_ = false;
    bool gets_pass_ = false;
    bool locks_pass_ = false;
    bool waits_for_unlock_ = false;
    // What has passed.
    std::uint32_t updates_ = 0;
    std::uint32_t atomics_ = 0;
    std::uint32_t locks_ = 0;
    std::uint32_t completions_ = 0;
    std::uint32_t calls_ = 0;  ///< completions that may pass
    std::uint32_t most_calls_ = 0;
    std::uint64_t calls_to_next_ = never;
    std::uint64_t wait_ = never;
    std::uint64_t begin_ticks_ = 0;
};

/// The process's.
extern constinit Recess recess __attribute__((visibility("hidden")));

/// The library's call in a recess. Ends in it, and leaves its arguments where they are. A function of its
/// own, because its address has to be known before the library may be loaded (by a Python program, say), and
/// because that may lack the call: then only who makes it fails.
template <void (Recess::*passes)() noexcept, auto* call>
struct InRecess;
template <void (Recess::*passes)() noexcept, class... Arguments, int (*call)(Arguments...)>
struct InRecess<passes, call> {
    static int run(Arguments... arguments) {
        (recess.*passes)();
        return call(arguments...);
    }
};

#if defined(NEARFETCH_CANARY)
/// So that a test can see that there were recesses.
void count_unseen(unsigned long long calls) noexcept;
#else
constexpr void count_unseen(unsigned long long) noexcept {}
#endif

}  // namespace nearfetch
