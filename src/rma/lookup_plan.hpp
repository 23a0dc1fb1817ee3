// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/copy.hpp"
#include "base/ticks.hpp"
#include "cache/range_cache/range_cache.hpp"
#include "rma/fetch_table.hpp"

namespace nearfetch {

/// What is there of a get, and what is not.
class LookupPlan {
  public:
    /// One run of a get that is in the cache already, and where it goes.
    struct Resident {
        std::byte* origin;
        const std::byte* data;
        std::uint64_t size;
    };

    /// Looks the get up. \param may_wait called with each pending entry: whether the get may wait for it
    /// \param keeps_waiters it may wait although something is missing, too \throws std::bad_alloc
    template <class MayWait>
    void make(RangeCache& cache, const Get& get, bool keeps_waiters, const MayWait& may_wait);

    /// Copies what is resident, once. Making room may evict it: before that, or after the transfer's start.
    void copy_resident() noexcept {
        for (const Resident& r : resident_) {
            copy_bytes(r.origin, r.data, r.size);
            spend_copy(r.size);
        }
        partial_ = is_partial();
        resident_.clear();
    }
    /// Calls take(gap) for each gap; those of which it says so have come from elsewhere.
    template <class Take>
    void take_gaps(const Take& take) {
        std::erase_if(gaps_, [&](const ByteRun& gap) {
            if (!take(gap)) return false;
            gap_bytes_ -= gap.size;
            has_taken_ = true;
            return true;
        });
    }
    bool has_taken_gaps() const noexcept { return has_taken_; }
    /// Some of it is there, or on its way.
    bool is_partial() const noexcept {
        return partial_ || has_taken_ || !resident_.empty() || !waiting_.empty();
    }
    std::span<const Waiter> waiting() const noexcept { return waiting_; }
    std::span<const ByteRun> gaps() const noexcept { return gaps_; }
    std::uint64_t gap_bytes() const noexcept { return gap_bytes_; }

  private:
    void clear() noexcept {
        resident_.clear();
        waiting_.clear();
        gaps_.clear();
        gap_bytes_ = 0;
        has_taken_ = partial_ = false;
    }

    std::vector<LookupPart> parts_;
    std::vector<Resident> resident_;
    std::vector<Waiter> waiting_;
    std::vector<ByteRun> gaps_;
    std::uint64_t gap_bytes_ = 0;
    bool partial_ = false;
    bool has_taken_ = false;
};

template <class MayWait>
void LookupPlan::make(RangeCache& cache, const Get& get, bool keeps_waiters, const MayWait& may_wait) {
    clear();
    for (const ByteRun& run : get.runs) {
        // Of a get in one run, the fast path has asked.
        const std::byte* const data =
            get.runs.size() > 1 ? cache.find(get.target, run.offset, run.size) : nullptr;
        if (data != nullptr) {
            resident_.push_back({run.origin, data, run.size});
            continue;
        }
        cache.plan_lookup(get.target, run.offset, run.size, parts_);
        for (const LookupPart& part : parts_) {
            std::byte* const origin = run.origin + (part.offset - run.offset);
            if (part.kind == LookupPart::Kind::resident) {
                resident_.push_back({origin, part.data, part.size});
            } else if (part.kind == LookupPart::Kind::pending && may_wait(*part.entry)) {
                const Entry* const entry = part.entry;
                waiting_.push_back({entry, entry->source() + (part.offset - entry->offset()), origin,
                                    part.size, get.request});
            } else {
                gaps_.push_back({part.offset, part.size, origin});
            }
        }
    }
    if (!keeps_waiters && !gaps_.empty() && !waiting_.empty()) {
        clear();
        gaps_.assign(get.runs.begin(), get.runs.end());
    }
    for (const ByteRun& gap : gaps_)
        gap_bytes_ += gap.size;
}

}  // namespace nearfetch
