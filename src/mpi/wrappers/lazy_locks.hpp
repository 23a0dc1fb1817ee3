// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks that the library has not seen. Under the promise locks=access a shared lock only opens an access
// epoch (docs/consistency.md), and MPI lets a library acquire a lock as late as it likes before the first
// access. So the lock of a target that is cached waits here. If everything that the epoch asks for hits,
// neither it nor its unlock enters the library; whatever else the program does with the window opens what
// waits first, in the order in which it was asked for. An error of such a lock is that of the call that opens
// it.
//
// A library that takes accesses to other targets than those that are locked has to see the locks before them,
// too: nothing is bypassed while a lock waits.
//
// For one thread: with MPI_THREAD_MULTIPLE no lock waits.

#include <mpi.h>

#include <array>
#include <cstddef>

#include "base/finally.hpp"

namespace nearfetch {

class LazyLocks {
  public:
    bool any() const noexcept { return count_ != 0; }
    bool full() const noexcept { return count_ == waiting_.size(); }
    bool has(int target) const noexcept {
        for (std::size_t i = 0; i < count_; ++i)
            if (waiting_[i].target == target) return true;
        return false;
    }
    /// \param assert as the program gave it
    void add(int target, int assert) noexcept { waiting_[count_++] = {target, assert}; }
    void remove(int target) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i)
            if (waiting_[i].target != target) waiting_[kept++] = waiting_[i];
        count_ = kept;
    }
    /// Hands all that wait to the library. \param failed called with each target whose lock it refuses
    /// \return the first error, or MPI_SUCCESS
    template <class Failed>
    int open(MPI_Win win, const Failed& failed) {
        int first = MPI_SUCCESS;
        // One at a time: after an exception those that are left still wait.
        while (any()) {
            const Waiting next = waiting_[0];
            remove(next.target);
            const auto lock = [&] { return PMPI_Win_lock(MPI_LOCK_SHARED, next.target, next.assert, win); };
            const int status = and_then(lock, [&](int outcome) {
                if (outcome != MPI_SUCCESS) failed(next.target);
            });
            if (first == MPI_SUCCESS) first = status;
        }
        return first;
    }

  private:
    struct Waiting {
        int target;
        int assert;
    };
    std::array<Waiting, 8> waiting_{};  ///< of more targets at once, the others' locks are opened at once
    std::size_t count_ = 0;             ///< what hot paths ask comes last, beside what else they ask
};

}  // namespace nearfetch
