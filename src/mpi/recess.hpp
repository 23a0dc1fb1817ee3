// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls that nobody looks at. Where nothing is kept of any target of any window, and calls take less than
// five microseconds, as in shared memory, all that nearfetch does for them is felt: it looks each up, counts
// it, and notes that something is under way. So there is a recess: for up to ten milliseconds gets, updates,
// atomics, flushes, locks and unlocks of single targets, fences and waits go to the library as they are.
// Locks, unlocks and fences do not if a lock was open when it began, or if they do not synchronize; waits do
// not if a request was known then. Whatever else asks for a window ends it (find_window), and so does the
// get, update or atomic after so many of its kind; where none of these comes, it lasts.
//
// Then all targets count as having something of the kinds under way that have passed. After updates, atomics,
// locks, fences and waits that means that nothing is used that was cached before; and after locks and fences,
// that it is not known which epochs are open, so that nothing hits before the next one. What gets have passed
// is subtracted from the pauses after which targets are looked at again.
//
// What starts something is counted, before the library's call, and what completes it is not: on some
// libraries a flush of shared memory is a fence, which waits for all stores before it, and one of ours
// between an update and that fence, to whatever place, can make 25 ns more of 80 (Zen 5, Open MPI, 8 bytes at
// random in 64 MiB).
//
// There is none with MPI_THREAD_MULTIPLE, or where somebody asks how many calls there were.

#include <mpi.h>

#include <cstdint>

#include "engine/rest.hpp"
#include "mpi/allowance.hpp"
#include "mpi/large_count.hpp"

namespace nearfetch {

/// Those that pass. A get and its flush, and a lock and its unlock, are called most.
// clang-format off
#define NEARFETCH_PASSING_CALLS(OF)                                                  \
    OF(Get) OF(Win_flush) OF(Win_lock) OF(Win_unlock)                                \
    OF(Put) OF(Win_flush_local) OF(Rget) OF(Wait) OF(Waitall)                        \
    OF(Win_fence) OF(Win_flush_all) OF(Win_flush_local_all)                          \
    OF(Fetch_and_op) OF(Compare_and_swap) OF(Accumulate) OF(Get_accumulate)
// clang-format on
#if NEARFETCH_LARGE_COUNT
#define NEARFETCH_PASSING_LARGE_CALLS(OF) OF(Get_c) OF(Rget_c) OF(Put_c) OF(Accumulate_c) OF(Get_accumulate_c)
#else
#define NEARFETCH_PASSING_LARGE_CALLS(OF)
#endif

/// Each has the name of its call.
struct LibraryCalls {
#define NEARFETCH_MEMBER(NAME) LibraryCall<PMPI_##NAME> NAME;
    NEARFETCH_PASSING_CALLS(NEARFETCH_MEMBER)
    NEARFETCH_PASSING_LARGE_CALLS(NEARFETCH_MEMBER)
#undef NEARFETCH_MEMBER
    void look_up() noexcept;
};

/// All that gets and their flushes, or locks, gets and unlocks, run through in one stands together in a line
/// of the processor's cache (recess.cpp).
class alignas(64) Recess {
  public:
    Allowance gets;  ///< none where the first get is to be seen: nothing was read before
    Allowance updates;
    Allowance atomics;
    Permission epochs;  ///< of locks of single targets and of fences, to open them
    Permission waits;   ///< that may bring news

  private:
    bool on_ = false;
    bool waits_for_unlock_ = false;
    std::uint32_t calls_ = 0;  ///< of each kind that may pass in the next one

  public:
    LibraryCalls library;

    bool unlocks_pass() const noexcept { return epochs.given(); }
    bool flushes_pass() const noexcept { return on_; }

    /// Counts a call that passes after it has been seen. \return true if it is time to begin()
    bool falls_due() noexcept { return --calls_to_next_ == 0; }
    /// If it was, and the call is a get: whether it passes in the recess that begins with it.
    bool begins_with_get() noexcept {
        if (calls_to_next_ != 0) return false;
        begin();
        return gets.passes();
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
    void wait_longer() noexcept;

    std::uint32_t most_calls_ = 0;
    std::uint64_t calls_to_next_ = never;
    std::uint64_t wait_ = never;
    std::uint64_t begin_ticks_ = 0;
    std::uint64_t asked_ticks_ = 0;  ///< when it was last asked whether calls are quick
};

/// The process's.
extern constinit Recess recess __attribute__((visibility("hidden")));

/// What a get and its flush run through in a recess stands together in one line of the processor's cache of
/// instructions. That has room for eight lines at the same place of their pages (32 KiB in 64 sets), and
/// three or four of MPICH's 64 are full on its path through shared memory: there a ninth line is 5 ns, of 90.
/// \param line "1" has a get and a flush, "2" a lock and an unlock, "3" a put and a local flush, "4" the rest
/// \pre it is no template's, of which GCC takes no notice
#define NEARFETCH_IN_LINE(line) [[gnu::section(".text.sorted.nearfetch." line), gnu::aligned(8)]]

#if defined(NEARFETCH_CANARY)
/// So that a test can see that there were recesses.
void count_unseen(unsigned long long calls) noexcept;
#else
constexpr void count_unseen(unsigned long long) noexcept {}
#endif

}  // namespace nearfetch
