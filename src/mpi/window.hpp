// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "mpi/datatypes/datatype.hpp"
#include "mpi/window_locks.hpp"
#include "rma/window_cache.hpp"
#include "transport/mpi/mpi_window_transfers.hpp"
#include "transport/mpi/node_segment.hpp"

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
    /// From now on it shares what it fetches with other processes of its node.
    /// \param segment nullptr: there is none \throws std::bad_alloc
    void share(std::unique_ptr<NodeSegment> segment);
    void do_not_share(const char* why) noexcept { not_shared_because_ = why; }
    /// Why it does not share, where a reader of a summary would expect it; else "".
    const char* not_shared_because() const noexcept { return not_shared_because_; }

    WindowLocks& locks() noexcept { return locks_; }
    /// As WindowLocks has it.
    int open_locks() { return locks_.open(); }
    bool locks_wait() const noexcept { return locks_.wait(); }

  private:
    void stale_hit(const StaleHit& stale) noexcept override;
    void no_cache(const char* why) noexcept override;
    void arrived(RequestId request) noexcept override;
    void note_promises() noexcept;

    std::unique_ptr<NodeSegment> node_segment_;  ///< nullptr: it has a cache of its own only
    std::uint64_t uniform_unit_;                 ///< 0 if the displacement units differ
    bool atomics_synchronize_;
    bool caches_atomic_reads_;
    WindowCache cache_;  // beside these, for the hot paths
    WindowLocks locks_;
    std::vector<std::uint64_t> units_;
    MPI_Win handle_;
    MpiWindowTransfers transport_;
    const char* not_shared_because_ = "";
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
