// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls that nobody looks at. Where nothing is kept of any target of any window, and calls take less than
// five microseconds, as in shared memory, all that nearfetch does for them is felt: it looks each up, counts
// it, and notes that something is under way. So there is a recess: for up to ten milliseconds gets, updates,
// atomics, flushes, locks and unlocks of single targets, fences and waits go to the library as they are.
// Locks and fences do not if a lock was open when it began, or if they do not synchronize; waits do not if a
// request was known then. Whatever else asks for a window ends it (find_window), and so does one of the calls
// that complete others, after so many of them.
//
// Then all targets count as having something of these kinds under way. After updates, atomics, locks, fences
// and waits that means that nothing is used that was cached before; and after locks and fences, that it is
// not known which epochs are open, so that nothing hits before the next one. What gets could have taken in
// that time is subtracted from the pauses after which targets are looked at again.
//
// An update or atomic that is noted costs a jump more than one that is not. So what passed in one recess is
// taken to pass in the next seven, whether it does or not: nothing is lost by it that was cached.
//
// Where updates pass, flushes are counted after the library's call, in which it waits for the stores of the
// updates to be done (a fence). A store between an update and that fence, of anything, can make 25 ns more of
// 80 (Zen 5, Open MPI, 8 bytes at random in 64 MiB of shared memory).
//
// There is none with MPI_THREAD_MULTIPLE, or where somebody asks how many calls there were.

#include <dlfcn.h>

#include <cstdint>
#include <utility>

#include "engine/rest.hpp"

namespace nearfetch {

/// What becomes of a call of the program.
enum class Passage {
    seen,      ///< nearfetch looks at it
    counted,   ///< it goes to the library, and is noted
    straight,  ///< it goes to the library: a jump
};

class Recess {
  public:
    // What passes is counted, but for gets, of which it is measured how long they take, and for what is
    // assumed to pass.
    void uncounted() noexcept {}
    void update_passes() noexcept { ++updates_; }
    void atomic_passes() noexcept { ++atomics_; }
    void epoch_passes() noexcept { ++epochs_; }
    void wait_passes() noexcept { has_waited_ = true; }
    /// Whether a completion passes in the recess that is on, or a request-based get, which comes without one:
    /// not after so many of them that it is time for the end. Writes nothing if none is on.
    bool completion_passes() noexcept {
        if (completions_left_ == 0) return false;
        --completions_left_;
        return true;
    }

    /// Where completions count when the library is done: whether a flush passes now.
    bool flush_passes() const noexcept { return flushes_left_ != 0; }
    /// An error handler may have ended the recess meanwhile.
    void flush_passed() noexcept {
        if (flushes_left_ != 0) --flushes_left_;
    }
    /// A completion that may do either.
    bool passes_in_time() noexcept {
        if (completion_passes()) return true;
        if (!flush_passes()) return false;
        flush_passed();
        return true;
    }

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
        if (falls_due()) begin();
    }
    /// The same of an unlock: now the lock is not open that a recess has waited for.
    void unlock_passed() noexcept {
        if (falls_due() || waits_for_unlock_) begin();
    }

    /// From now on there are recesses, of so many calls at most.
    void allow(std::uint32_t calls) noexcept;
    /// A window comes or goes: that there were none for long says nothing any more.
    void start_over() noexcept;
    /// From now on there is none.
    void forbid() noexcept;

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// If that may be.
    [[gnu::noinline]] void begin() noexcept;
    [[gnu::noinline]] void end() noexcept;
    bool are_quick(const Rest& rest) noexcept;
    Passage passage(Passed kind) const noexcept;
    Passed changes_counted() const noexcept;
    void assume(Passed changes, double updates_to_completion) noexcept;
    void change_ways() noexcept;
    void wait_longer() noexcept;

    bool on_ = false;
    /// Not if nothing was read before, because the first get is to be seen, unless all windows are off.
    bool gets_pass_ = false;
    bool epochs_pass_ = false;
    bool waits_for_unlock_ = false;
    // What has passed.
    std::uint32_t updates_ = 0;
    std::uint32_t atomics_ = 0;
    std::uint32_t epochs_ = 0;  ///< that were opened
    bool has_waited_ = false;   ///< for a request that may have brought news
    /// Updates and atomics that passed when they were last counted are not counted in the next recesses, but
    /// taken to have passed.
    Passed assumed_ = Passed::nothing;
    std::uint32_t recesses_to_next_count_ = 0;
    double updates_to_completion_ = 0;    ///< of these, when they were counted
    std::uint32_t completions_left_ = 0;  ///< that may pass in the one that is on
    std::uint32_t flushes_left_ = 0;      ///< instead, if they count afterwards
    bool updates_passed_ = false;         ///< when they were last counted
    std::uint32_t calls_ = 0;             ///< that may in the next one
    std::uint32_t most_calls_ = 0;
    std::uint64_t calls_to_next_ = never;
    std::uint64_t wait_ = never;
    std::uint64_t begin_ticks_ = 0;
    std::uint64_t asked_ticks_ = 0;  ///< when it was last asked whether calls are quick
};

/// The process's.
extern constinit Recess recess __attribute__((visibility("hidden")));

/// The library's call in a recess: where it is, once that has been looked up. Until then, and where it cannot
/// be found, by the table of procedures' addresses, which is a jump more.
template <auto* call>
class LibraryCall;
template <class... Arguments, int (*call)(Arguments...)>
class LibraryCall<call> {
    using Function = int (*)(Arguments...);
    static int by_table(Arguments... arguments) { return call(arguments...); }

  public:
    static inline constinit Function now = by_table;

    /// \param name "PMPI_Get"
    static Function look_up(const char* name) noexcept {
        if (!std::exchange(is_looked_up_, true))
            if (void* const found = dlsym(RTLD_DEFAULT, name)) now = reinterpret_cast<Function>(found);
        return now;
    }

  private:
    static inline constinit bool is_looked_up_ = false;
};

/// What passes ends in the library's call, and leaves its arguments where they are.
template <auto* call, void (Recess::*passes)() noexcept = &Recess::uncounted>
struct Passing;
template <class... Arguments, int (*call)(Arguments...), void (Recess::*passes)() noexcept>
struct Passing<call, passes> {
    using Library = LibraryCall<call>;
    static int run(Arguments... arguments) {
        (recess.*passes)();
        return Library::now(arguments...);
    }
};

/// The same of a call that completes others, until it is time for the end: then it is seen.
template <auto* call, auto* seen, void (Recess::*passes)() noexcept = &Recess::uncounted>
struct PassingInTime;
template <class... Arguments, int (*call)(Arguments...), int (*seen)(Arguments...),
          void (Recess::*passes)() noexcept>
struct PassingInTime<call, seen, passes> {
    using Library = LibraryCall<call>;
    static int run(Arguments... arguments) {
        if (!recess.passes_in_time()) [[unlikely]]
            return seen(arguments...);
        (recess.*passes)();
        return Library::now(arguments...);
    }
};

/// What a get and its flush run through in a recess stands together in one line of the processor's cache of
/// instructions. That has room for eight lines at the same place of their pages (32 KiB in 64 sets), and
/// three or four of MPICH's 64 are full on its path through shared memory: there a ninth line is 5 ns, of 90.
/// \param line "1", the first, has room for eight jumps  \pre it is no template's, of which GCC takes no
/// notice
#define NEARFETCH_IN_LINE(line) [[gnu::section(".text.sorted.nearfetch." line), gnu::aligned(8)]]

/// The way that a call of the program takes at the moment: to where it is seen, or to the library. One jump,
/// because a hit pays for it, too.
template <auto* seen, class Passes>
struct Way {
    static inline constinit decltype(seen) now = seen;

    /// \param name of the library's call
    static void change(Passage passage, const char* name) noexcept {
        if (passage == Passage::seen) {
            now = seen;
            return;
        }
        const auto library = Passes::Library::look_up(name);
        now = passage == Passage::straight ? library : Passes::run;
    }
};

// Each file of calls has one of these, for its own.
void change_ways_of_gets(bool pass) noexcept;
void change_ways_of_puts(Passage passage) noexcept;
void change_ways_of_updates(Passage updates, Passage atomics) noexcept;
void change_ways_of_epochs(bool pass) noexcept;
void change_ways_of_waits(bool pass) noexcept;
/// Flushes have no way. In a recess they have to count anyhow, so that each asks whether one is on: one that
/// passes saves a jump, and what a hit's pays, it pays instead of one.
void look_up_flushes() noexcept;

#if defined(NEARFETCH_CANARY)
/// So that a test can see that there were recesses.
void count_unseen(unsigned long long calls) noexcept;
#else
constexpr void count_unseen(unsigned long long) noexcept {}
#endif

}  // namespace nearfetch
