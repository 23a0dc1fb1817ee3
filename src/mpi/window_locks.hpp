// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks of a window that the library has not seen: those that the program promises to be access only
// (wrappers/lazy_locks.hpp), and that of an epoch under a lease (rma/leased_epoch.hpp).

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "mpi/lease_windows.hpp"
#include "mpi/wrappers/lazy_locks.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

class WindowLocks {
  public:
    /// \param cache of the window; outlives this
    WindowLocks(MPI_Win win, WindowCache& cache) noexcept : cache_(cache), win_(win) {}

    /// Whether a lock is kept back, or an epoch is under a lease.
    bool wait() const noexcept { return lazy_.any() || cache_.locks().has_leased_epoch(); }
    /// A shared lock of `target` that the program asks for: what it is, and whether it may be kept back.
    SharedLock judge(int target, int assert) noexcept;
    /// The library is not to see it yet. \pre judge() says who keeps it
    void keep_back(SharedLock::Keeper keeper, int target, int assert) noexcept;
    /// The unlock of `target`. \param serves whether it is time to serve others
    /// \return true if its lock was kept back until now: then the library sees neither
    bool elide_unlock(int target, bool& serves) noexcept;

    /// To be called before the library is, with anything that has to do with the window's epochs.
    /// \return the error of a lock that was kept back, or MPI_SUCCESS
    int open() { return wait() ? open_slowly() : MPI_SUCCESS; }
    /// The same before a get that is to be complete with its epoch.
    int open_to_get() { return wait() ? open_to_get_slowly() : MPI_SUCCESS; }
    /// The same before the unlock of `target`, and what is to be done after it.
    int before_unlock(int target);
    int after_unlock(int target);

    /// From now on shared locks may be kept under leases. \throws std::bad_alloc
    void open_leases(std::unique_ptr<LeaseSlot> slot, std::uint64_t lease_ns);
    /// Before the window goes. \return what its words were in, to be given back when it has gone
    std::unique_ptr<LeaseSlot> close_leases() noexcept;

  private:
    int open_slowly();
    int open_to_get_slowly();
    int open_lazy();

    WindowCache& cache_;
    LazyLocks lazy_;
    MPI_Win win_;
    std::unique_ptr<LeaseSlot> slot_;
};

}  // namespace nearfetch
