// SPDX-License-Identifier: Apache-2.0
#pragma once

// Passthrough: the whole process bypasses. When all targets of all windows are bypassed, off, or were never
// read, gets, puts, accumulates and atomics go straight to the library, and only their number is counted. So
// do flushes, and locks, whose epochs are noted. When the budget is spent, calls are looked at again. The
// budget is as large as the shortest backoff that is left, and at most passthrough_calls. Where some target
// was never read, its first gets are not to be missed: each passthrough takes at most twice as many calls as
// the one before.
//
// Which calls these were is not known, but whether updates, and atomics that fetch, were among them. So a get
// that is under way at the beginning is never looked at again, because its buffer may be gone. At the end the
// process acquires, and every target counts as having operations of these kinds outstanding. Fences and waits
// are never passed through, so that epochs stay known.
//
// There is none with MPI_THREAD_MULTIPLE, or where somebody asks how many calls there were.

#include <cstdint>

namespace nearfetch {

class Passthrough {
  public:
    bool is_on() const noexcept { return budget_ != 0; }
    /// Counts a get that goes straight to the library. \return false if it does
    /// not, because the budget is spent
    bool takes_call() noexcept {
        if (budget_ == 0) return false;
        if (--budget_ != 0) return true;
        end();
        return false;
    }
    /// The same for an update.
    bool takes_update() noexcept {
        if (budget_ != 0) has_taken_updates_ = true;
        return takes_call();
    }
    /// The same for an atomic that fetches: what it brings may synchronise.
    bool takes_fetch() noexcept {
        if (budget_ != 0) has_taken_fetches_ = true;
        return takes_update();
    }
    /// Counts a call that was bypassed by itself.
    void count_bypassed() noexcept {
        if (--calls_to_check_ == 0) begin();
    }
    /// \param calls the most that it may take at a time; 0: none \param held begin whenever that may be
    void allow(std::uint64_t calls, bool held) noexcept;
    /// From now on there is none.
    void forbid() noexcept;
    /// Ends it, because windows or their settings change; whether it may begin again is asked soon.
    void restart() noexcept;

  private:
    [[gnu::noinline]] void begin() noexcept;
    [[gnu::noinline]] void end() noexcept;

    static constexpr std::uint64_t never = ~std::uint64_t{0};
    static constexpr std::uint64_t first_wait = 64;  ///< bypassed calls
    static constexpr std::uint64_t longest_wait = 1u << 20;
    static constexpr std::uint64_t least_budget = 16;  ///< calls; less is not worth the end

    std::uint64_t budget_ = 0;  ///< calls that it still takes
    std::uint64_t calls_to_check_ = never;
    std::uint64_t wait_ = first_wait;
    std::uint64_t taken_ = 0;                 ///< the budget at its beginning
    std::uint64_t most_unread_ = first_wait;  ///< calls that may pass where some target was never read
    std::uint64_t most_calls_ = 0;
    bool held_ = false;
    bool has_taken_updates_ = false;
    bool has_taken_fetches_ = false;
};

#if defined(NEARFETCH_FAULT_INJECTION)
/// So that a test can see that there were some.
void count_passed_through(unsigned long long calls) noexcept;
#else
constexpr void count_passed_through(unsigned long long) noexcept {}
#endif

}  // namespace nearfetch
