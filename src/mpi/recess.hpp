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

#include <dlfcn.h>

#include <cstdint>
#include <utility>

#include "engine/rest.hpp"

namespace nearfetch {

/// The library's call in a recess: where it is, once that has been looked up. Until then, and where it cannot
/// be found, by the table of procedures' addresses, which is a jump more.
template <auto* call>
class LibraryCall;
template <class... Arguments, int (*call)(Arguments...)>
class LibraryCall<call> {
    using Function = int (*)(Arguments...);
    static int by_table(Arguments... arguments) { return call(arguments...); }

  public:
    [[gnu::visibility("hidden")]] static inline constinit Function now = by_table;

    /// \param name "PMPI_Get"
    static void look_up(const char* name) noexcept {
        if (void* const found = dlsym(RTLD_DEFAULT, name)) now = reinterpret_cast<Function>(found);
    }
};

/// How many calls of one kind pass in the recess that is on.
class Allowance {
  public:
    /// Counts one that does. Writes nothing where none does.
    bool passes() noexcept {
        if (left_ == 0) return false;
        --left_;
        return true;
    }
    /// The same of a call of the program: where it goes on, to the library or to where it is seen.
    template <auto* call>
    auto way(decltype(call) seen) noexcept {
#if defined(__x86_64__)
        // Where it sees a branch GCC 12 loads the arguments that are on the stack, and stores them again
        // where they were: 1 ns of a get's 30.
        asm("cmpl $0, %[left]\n\t"
            "je 1f\n\t"
            "subl $1, %[left]\n\t"
            "movq %[library], %[seen]\n"
            "1:"
            : [seen] "+r"(seen), [left] "+m"(left_)
            : [library] "m"(LibraryCall<call>::now)
            : "cc");
        return seen;
#else
        return passes() ? LibraryCall<call>::now : seen;
#endif
    }
    void begin(std::uint32_t calls) noexcept { allowed_ = left_ = calls; }
    bool is_used_up() const noexcept { return allowed_ != 0 && left_ == 0; }
    /// \return how many have passed
    std::uint32_t end() noexcept { return std::exchange(allowed_, 0) - std::exchange(left_, 0); }

  private:
    std::uint32_t left_ = 0;
    std::uint32_t allowed_ = 0;
};

/// Whether calls of one kind pass in the recess that is on, of which it matters only whether there were any:
/// then there are no more writes, of which the library's own might have to wait.
class Permission {
  public:
    /// Notes one that does.
    bool passes() noexcept {
        if (state_ == State::used) [[likely]]
            return true;
        if (state_ == State::none) return false;
        state_ = State::used;
        return true;
    }
    bool given() const noexcept { return state_ != State::none; }
    void begin(bool pass) noexcept { state_ = pass ? State::given : State::none; }
    /// \return whether one has passed
    bool end() noexcept { return std::exchange(state_, State::none) == State::used; }

  private:
    enum class State : std::uint8_t { none, given, used } state_ = State::none;
};

class alignas(64) Recess {
  public:
    Allowance gets;  ///< none where the first get is to be seen: nothing was read before
    Allowance updates;
    Allowance atomics;
    Permission epochs;  ///< of locks of single targets and of fences, to open them
    Permission waits;   ///< that may bring news
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

    bool on_ = false;
    bool waits_for_unlock_ = false;
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
