// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "mpi/datatypes/datatype.hpp"
#include "mpi/lease_windows.hpp"
#include "mpi/wrappers/lazy_locks.hpp"
#include "rma/window_cache.hpp"
#include "transport/mpi/mpi_window_transfers.hpp"

namespace nearfetch {

/// An MPI window as the interposer knows it.
class Window final : private WindowListener {
  public:
    /// \param units displacement unit of each target in bytes; one entry if all are the same
    Window(MPI_Win win, Rank ranks, Rank self, std::vector<std::uint64_t> units, const Settings& settings,
           bool threaded);

    MPI_Win handle() const noexcept { return handle_; }
    WindowCache& cache() noexcept { return cache_; }
    MpiWindowTransfers& transport() noexcept { return transport_; }
    Mode mode() const noexcept { return cache_.settings().mode; }
    bool off() const noexcept { return mode() == Mode::off; }
    bool atomics_synchronize() const noexcept { return atomics_synchronize_; }
    bool caches_atomic_reads() const noexcept { return caches_atomic_reads_; }
    std::uint64_t run_limit() const noexcept { return cache_.settings().run_limit; }

    /// False for MPI_PROC_NULL and for what the library itself will call an error.
    bool has(int target) const noexcept {
        return static_cast<unsigned>(target) < static_cast<unsigned>(cache_.ranks());
    }
    /// Window offset of a displacement, bytes.
    std::uint64_t offset(int target, MPI_Aint displacement) const noexcept {
        return static_cast<std::uint64_t>(displacement) * unit(target);
    }
    /// Displacement unit, bytes.
    std::uint64_t unit(int target) const noexcept {
        return uniform_unit_ != 0 ? uniform_unit_ : units_[static_cast<std::size_t>(target)];
    }
    std::string name() const;

    /// Enters the library because the engine says that it is time to serve others.
    void serve_others();

    /// As WindowCache has it.
    void change_settings(const Settings& settings);

    /// A shared lock of `target` that the program asks for: what it is, and whether it may be kept back.
    SharedLock judge_lock(int target, int assert) noexcept;
    /// The library is not to see it yet. \pre judge_lock() says who keeps it
    void keep_lock_back(SharedLock::Keeper keeper, int target, int assert) noexcept;
    /// The unlock of `target`. \return true if its lock was kept back until now: then the library sees
    /// neither
    bool elide_unlock(int target) noexcept;
    /// To be called before the library is, with anything that has to do with the window's epochs.
    /// \return the error of a lock that was kept back, or MPI_SUCCESS
    int open_locks() { return locks_wait() ? open_locks_slowly() : MPI_SUCCESS; }
    /// The same before a get that is to be complete with its epoch, and before the unlock of `target`.
    int open_locks_to_get() { return locks_wait() ? open_locks_to_get_slowly() : MPI_SUCCESS; }
    int open_locks_to_unlock(int target);
    /// After an unlock that the library has seen.
    int after_unlock(int target);
    /// Whether a lock is kept back, or an epoch is under a lease.
    bool locks_wait() const noexcept { return locks_.any() || cache_.locks().has_leased_epoch(); }

    /// From now on shared locks may be kept under leases. \throws std::bad_alloc
    void open_leases(std::unique_ptr<LeaseSlot> slot, std::uint64_t lease_ns);
    /// Before the window goes. \return what its words were in, to be given back when it has gone
    std::unique_ptr<LeaseSlot> close_leases() noexcept;

  private:
    void stale_hit(const StaleHit& stale) noexcept override;
    void no_cache(const char* why) noexcept override;
    void arrived(RequestId request) noexcept override;
    int open_locks_slowly();
    int open_locks_to_get_slowly();
    int open_promised_locks();
    void note_promises() noexcept;

    LazyLocks locks_;
    std::uint64_t uniform_unit_;  ///< 0 if the displacement units differ
    bool atomics_synchronize_;
    bool caches_atomic_reads_;
    WindowCache cache_;  // beside these, for the hot paths
    std::vector<std::uint64_t> units_;
    MPI_Win handle_;
    MpiWindowTransfers transport_;
    std::unique_ptr<LeaseSlot> lease_slot_;
};

/// The contiguous runs of one access, origin beside target.
/// \return false if the layouts are not known, differ in size, or have too many blocks: then the access is
/// not cached
/// \throws std::bad_alloc
bool make_runs(const Window& window, const void* origin, std::uint64_t origin_count, MPI_Datatype origin_type,
               int target, MPI_Aint displacement, std::uint64_t target_count, MPI_Datatype target_type,
               std::vector<ByteRun>& runs);

/// The same for the target alone; origins are null.
bool make_target_runs(const Window& window, int target, MPI_Aint displacement, std::uint64_t count,
                      MPI_Datatype type, std::vector<ByteRun>& runs);

}  // namespace nearfetch
