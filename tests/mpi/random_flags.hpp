// SPDX-License-Identifier: Apache-2.0
#pragma once

// Flags: words that one rank raises and one looks at, in the memory of any. They are raised by atomics, and
// looked at by these; or put, and polled by gets; or put and looked at under a lock.
//
// A poll is the same get again, with nothing but its completion between. One that brings other bytes than the
// look before is an acquire, in every state of its target. Where it was another look that found the flag
// raised, the program synchronises by MPI_Win_sync.

#include <chrono>
#include <thread>

#include "random_windows.hpp"

namespace random_programs {

class Flags {
  public:
    Flags(const Windows& all, MoveCounts& counts) : windows_(all), counts_(counts) {}

    void raise(const Act& act) const {
        const int variant = act.step.variant, home = act.step.window;
        const std::int64_t one = 1, value = act.expected;
        if (has_handshake(variant))
            CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, act.step.peer, tag, world(), MPI_STATUS_IGNORE));
        const Place at = place(act.step);
        if (is_poll(variant))
            CHECK_MPI(
                MPI_Put(&value, 1, MPI_INT64_T, home, at.displacement(at.word), 1, MPI_INT64_T, at.win));
        else
            CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, home, at.displacement(at.word), 1, MPI_INT64_T,
                                     MPI_SUM, at.win));
        CHECK_MPI(MPI_Win_flush(home, at.win));
    }

    void look_at(const Act& act) const { is_poll(act.step.variant) ? poll(act) : ask(act); }

    void raise_locked(const Act& act) const {
        const MPI_Win win = *windows_.lock_flags;
        const int home = act.step.window;
        const std::int64_t value = act.expected;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home, 0, win));
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, home, word(act.step), 1, MPI_INT64_T, win));
        CHECK_MPI(MPI_Win_unlock(home, win));
    }

    void look_at_locked(const Act& act) const {
        const MPI_Win win = *windows_.lock_flags;
        const int home = act.step.window;
        const int type = act.step.variant % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        const int beside = word(act.step) == 0 ? 1 : 0;
        for (std::int64_t value = 0, other = 0;;) {
            CHECK_MPI(MPI_Win_lock(type, home, 0, win));
            CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, home, word(act.step), 1, MPI_INT64_T, win));
            // So that it is no poll: it is the lock that tells.
            CHECK_MPI(MPI_Get(&other, 1, MPI_INT64_T, home, beside, 1, MPI_INT64_T, win));
            CHECK_MPI(MPI_Win_unlock(home, win));
            if (value >= act.expected) break;
            windows_.forget_all();
            // Between two locks the other gets its own.
            std::this_thread::sleep_for(std::chrono::microseconds(300));
        }
    }

  private:
    static constexpr int tag = 8, unused_tag = 9, looks_in_row = 16;

    struct Place {
        MPI_Win win;
        int word;
        MPI_Aint first, unit;
        MPI_Aint displacement(int i) const { return first + i * unit; }
    };

    static int word(const Step& step) { return step.rank * most_ranks + step.peer; }
    Place place(const Step& step) const {
        if (!is_poll(step.variant)) return {*windows_.flags, word(step), 0, 1};
        constexpr MPI_Aint words = most_ranks * most_ranks;
        if (step.variant % 10 != poll_in_allocated) return {*windows_.flags, word(step), words, 1};
        return {windows_[allocated], word(step), static_cast<MPI_Aint>(part_bytes(allocated, step.window)),
                8};
    }

    void ask(const Act& act) const {
        const MPI_Win win = *windows_.flags;
        const int home = act.step.window, way = act.step.variant % 10;
        const MPI_Aint at = word(act.step);
        static const std::int64_t nothing = 0;
        for (std::int64_t value = 0; value < act.expected;) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (way == 0)
                CHECK_MPI(MPI_Fetch_and_op(nullptr, &value, MPI_INT64_T, home, at, MPI_NO_OP, win));
            else if (way == 1)
                CHECK_MPI(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, home, at, 1,
                                             MPI_INT64_T, MPI_NO_OP, win));
            else if (way == 2)
                CHECK_MPI(MPI_Rget_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, home, at, 1,
                                              MPI_INT64_T, MPI_NO_OP, win, &request));
            else if (way == 3 && can_swap(check::Kind::allocate))
                CHECK_MPI(MPI_Compare_and_swap(&nothing, &nothing, &value, MPI_INT64_T, home, at, win));
            else
                CHECK_MPI(MPI_Fetch_and_op(&nothing, &value, MPI_INT64_T, home, at, MPI_SUM, win));
            if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Win_flush(home, win));
        }
    }

    void poll(const Act& act) const {
        const Place at = place(act.step);
        const int first = act.step.variant % 10 == poll_of_64_bytes ? at.word / 8 * 8 : at.word;
        const bool handshake = has_handshake(act.step.variant);
        for (int looks = 0;; ++looks) {
            std::int64_t words[8] = {};
            look(act.step, at, first, words);
            windows_.forget_all();
            const bool raised = words[at.word - first] >= act.expected;
            // Only its completion has come between this look and the one before.
            const bool is_poll = looks > (handshake ? 1 : 0) && looks % looks_in_row != 0;
            if (raised && is_poll) {
                ++counts_[index(Move::poll)];
                return;
            }
            if (raised) return CHECK_MPI(MPI_Win_sync(at.win));
            if (looks == 0 && handshake)
                CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, act.step.rank, tag, world()));
            if (looks % looks_in_row == looks_in_row - 1) serve_others();
        }
    }

    /// In shared memory a get and its completion may serve nobody.
    static void serve_others() {
        int found = 0;
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, unused_tag, world(), &found, MPI_STATUS_IGNORE));
    }

    /// Gets and completes the words from `first` on.
    static void look(const Step& step, const Place& at, int first, std::int64_t* words) {
        const int how = step.variant % 10, number = how == poll_of_64_bytes ? 8 : 1, home = step.window;
        const MPI_Aint there = at.displacement(first);
        if (how == poll_by_wait) {
            MPI_Request request = MPI_REQUEST_NULL;
            CHECK_MPI(
                MPI_Rget(words, number, MPI_INT64_T, home, there, number, MPI_INT64_T, at.win, &request));
            return CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        CHECK_MPI(MPI_Get(words, number, MPI_INT64_T, home, there, number, MPI_INT64_T, at.win));
        CHECK_MPI(how == poll_by_flush_all ? MPI_Win_flush_all(at.win) : MPI_Win_flush(home, at.win));
    }

    const Windows& windows_;
    MoveCounts& counts_;
};

}  // namespace random_programs
