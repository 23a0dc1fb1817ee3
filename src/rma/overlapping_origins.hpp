// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gets that are under way into the same buffer. What such a program finds there is open (MPI-4.0, section
// 12.7), and it does not look. But whoever reads the same places later, into a buffer of its own, must not be
// served what one get has brought for another. So a get that wants its bytes where others are on their way to
// is not kept, nor are these.
//
// The same holds for gets of several windows, unless the program has several threads in MPI: then only those
// of one window are compared.
//
// All origins that may be in use lie in one span of addresses. So a get that goes to the network costs one
// comparison where nothing is under way, and two where gets fill a buffer from its beginning to its end. Only
// a get within that span looks at what is under way: at the last few hundred of each target, so that
// thousands of gets all over a large buffer do not wait for one another's comparisons; and at none if the
// last that were found want the same place: a bandwidth test has a thousand of them there. A hit does not
// look: a program that has one copied to where a get is under way is not helped.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "rma/fetch_table.hpp"
#include "rma/target_table.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

/// Whether the run's origin shares a byte with these.
inline bool overlap(const ByteRun& run, const std::byte* origin, std::uint64_t size) noexcept {
    Origins origins;
    origins.add({0, size, const_cast<std::byte*>(origin)});
    return origins.overlap(run.origin, run.size);
}

class OverlappingOrigins;

/// Of the gets that are under way in all windows of the process. With several threads it stays empty.
struct OriginsOfProcess {
    Origins all;
    OverlappingOrigins* first = nullptr;  ///< of a list of the windows that have some
};

/// Of the gets that are under way in one window.
class OverlappingOrigins {
  public:
    OverlappingOrigins(TargetTable& targets, bool threaded, FetchTable& fetches, OriginsOfProcess& process);
    ~OverlappingOrigins();
    OverlappingOrigins(const OverlappingOrigins&) = delete;
    OverlappingOrigins& operator=(const OverlappingOrigins&) = delete;

    /// Whether bytes may be on their way to there.
    bool may_be_in_use(const std::byte* origin, std::uint64_t size) const noexcept {
        return (threaded_ ? all_ : process_.all).overlap(origin, size);
    }
    /// Whether bytes are on their way to where a get wants its own. Then those are not kept, nor may these
    /// be.
    bool invalidate_overlapping(std::span<const ByteRun> runs) noexcept;

    /// A get is under way.
    void add(Rank target, std::span<const ByteRun> runs) noexcept;
    /// The same, and its bytes may come until the next flush of the target, whatever a request says.
    void add_late(Rank target, std::span<const ByteRun> runs) noexcept;
    /// That flush is over.
    void late_arrived(Rank target) noexcept { at(target).late = {}; }
    bool any() const noexcept { return !targets_.empty(); }

    /// Forgets those of a target that no bytes are on their way from any more.
    void release(Rank target) noexcept;
    void release_all() noexcept;

  private:
    TargetOrigins& at(Rank target) noexcept { return table_.make(target).origins; }
    bool in_use(Rank target) noexcept { return fetches_.in_transit(target) || !at(target).late.none(); }
    bool invalidate(const ByteRun& run) noexcept;
    bool invalidate_in_other_windows(const ByteRun& run) noexcept;
    void join_process() noexcept;
    void leave_process() noexcept;

    bool threaded_;
    Origins all_;
    Origins shared_;             ///< of the last one that was found to share its own with others
    std::vector<Rank> targets_;  ///< that bytes are on their way from
    TargetTable& table_;
    FetchTable& fetches_;
    OriginsOfProcess& process_;
    OverlappingOrigins* next_ = nullptr;  ///< in the process's list
};

}  // namespace nearfetch
