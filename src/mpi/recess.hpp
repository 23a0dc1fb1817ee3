// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls that nobody looks at. Where nothing is kept of any target of any window, and calls take less than
// five microseconds, as in shared memory, all that nearfetch does for them is felt: it looks each up, counts
// it, and notes that something is under way. So there is a recess: for up to ten milliseconds gets, updates,
// atomics, flushes, locks and unlocks of single targets, fences and waits go to the library as they are.
// Locks, unlocks and fences do not if a lock was open when it began, or if they do not synchronize; waits do
// not if a request was known then. Whatever else asks for a window ends it (find_window), and so does what is
// counted, after so many of its kind; where nothing of that comes, it lasts.
//
// Then all targets count as having something of the kinds under way that have passed. After updates, atomics,
// locks, fences and waits that means that nothing is used that was cached before; and after locks and fences,
// that it is not known which epochs are open, so that nothing hits before the next one. What gets have passed
// is subtracted from the pauses after which targets are looked at again.
//
// What starts something is counted, before the library's call, and flushes are not: on some libraries a
// flush of shared memory waits for all stores before it, and one of ours between an update and that, to
// whatever place, can make 25 ns more of 80 (Zen 5, Open MPI, 8 bytes at random in 64 MiB). Fences are, which
// take so long that it is not felt.
//
// But where many come before each flush, or some before each fence, which is a series, only these are
// counted, and MPI_Get or MPI_Put is no more than a jump to the library. For what the processor has under way
// at once is so many instructions, and with five more for each of a thousand gets at random it may be one
// cache miss less of three: 104 us in place of 75 (Zen 5, Open MPI). Whether there is a series is told by the
// first completions of each recess, while both are counted. Locks do not pass in one: what unlocks complete
// is not counted.
//
// There is none with MPI_THREAD_MULTIPLE, or where somebody asks how many calls there were.

#include <mpi.h>

#include <cstdint>

#include "mpi/allowance.hpp"
#include "mpi/wrappers/large_count.hpp"
#include "rma/rest.hpp"

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

/// The program's MPI_Get and MPI_Put where they are seen, and where they pass and are counted, until they are
/// used up.
decltype(PMPI_Get) get_seen, get_counted;
decltype(PMPI_Put) put_seen, put_counted;

/// Where these go: to one of those, or to the library.
struct Ways {
    decltype(&PMPI_Get) get = get_seen;
    decltype(&PMPI_Put) put = put_seen;
};

/// All that gets and their flushes, or locks, gets and unlocks, run through in one stands together in a line
/// of the processor's cache (recess.cpp).
class alignas(64) Recess {
  public:
    Ways ways;
    Allowance gets;  ///< none where the first get is to be seen: nothing was read before
    Allowance updates;
    Allowance atomics;
    Permission locks;  ///< of single targets, that synchronize
    Permission waits;  ///< that may bring news

  private:
    bool flushes_pass_ = false;

  public:
    LibraryCalls library;
    Allowance flushes;  ///< that are counted
    Allowance fences;   ///< that synchronize

    bool unlocks_pass() const noexcept { return locks.given(); }
    /// Without being counted.
    bool flushes_pass() const noexcept { return flushes_pass_; }
    /// Of one that none of that lets pass: whether it does because it tells whether there is a series.
    bool flush_tells() noexcept {
        if (!seeks_series_) return false;
        find_series(least_before_flush);
        return true;
    }
    bool fence_tells() noexcept {
        if (!seeks_series_ || allowed_.fences == 0) return false;
        fenced_ = true;
        find_series(least_before_fence);
        return true;
    }

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
    /// \param held where there may be one, there is one
    void allow(std::uint32_t calls, bool held) noexcept;
    /// A window comes or goes: that there were none for long says nothing any more.
    void start_over() noexcept;
    /// From now on there is none.
    void forbid() noexcept;

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    static constexpr std::uint32_t least_before_flush = 32;  ///< then it is not felt that it is counted
    static constexpr std::uint32_t least_before_fence = 1;   ///< it waits for others, and takes long

    /// How many come before each flush or fence, of those that are not counted.
    struct Series {
        std::uint32_t gets = 0;
        std::uint32_t updates = 0;
    };
    /// What was allowed when it was last said.
    struct Allowed {
        std::uint32_t gets = 0;
        std::uint32_t flushes = 0;
        std::uint32_t fences = 0;
    };

    /// If that may be.
    [[gnu::noinline]] void begin() noexcept;
    [[gnu::noinline]] void end() noexcept;
    [[gnu::noinline]] void find_series(std::uint32_t least) noexcept;
    void allow_completions(std::uint32_t flushes_counted, std::uint32_t fences_counted) noexcept;
    bool has_used_up() const noexcept;
    Unseen count() noexcept;
    bool are_quick(const Rest& rest) noexcept;
    void wait_longer() noexcept;

    bool on_ = false;
    bool held_ = false;
    bool seeks_series_ = false;
    bool fenced_ = false;  ///< before it was found
    bool waits_for_unlock_ = false;
    Series series_;
    Allowed allowed_;
    std::uint32_t calls_ = 0;  ///< of each kind that may pass in the next one
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
/// \param line "1" has a get, where it is counted, and a flush, "2" a lock and an unlock, "3" a put, where it
/// is counted, and a local flush, "4" the rest
/// \pre it is no template's, of which GCC takes no notice
#define NEARFETCH_IN_LINE(line) [[gnu::section(".text.sorted.nearfetch." line), gnu::aligned(8)]]

#if defined(NEARFETCH_FAULT_INJECTION)
/// So that a test can see that there were recesses, and series.
void count_unseen(unsigned long long calls) noexcept;
void count_in_series(unsigned long long completions) noexcept;
#else
constexpr void count_unseen(unsigned long long) noexcept {}
constexpr void count_in_series(unsigned long long) noexcept {}
#endif

}  // namespace nearfetch
