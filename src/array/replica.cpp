// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <nearfetch/detail/array/prefetch.hpp>
#include <utility>

#include "array/entry_lock.hpp"
#include "base/copy.hpp"
#include "base/private_pages.hpp"
#include "cache/prefetch_buffer/prefetch_buffer.hpp"
#include "pgas/runtime.hpp"
#include "policy/strategy_selector.hpp"

namespace nearfetch::detail {

// Pages that no slice uses take no physical memory.
Replica::Replica(std::int64_t lower, std::int64_t elements, std::uint64_t element_bytes)
    : lower_(lower),
      element_bytes_(element_bytes),
      strategy_selector_(std::make_unique<StrategySelector>()),
      pages_(std::make_unique<PrivatePages>(static_cast<std::uint64_t>(elements) * element_bytes)),
      memory_(pages_->data()) {}

Replica::~Replica() = default;

bool Replica::find(const ArrayPrefetch& array, std::uint64_t reader, std::span<const std::int64_t> indices,
                   const Box<1>& own) {
    if (reader_ == reader) return found_;
    struct Run {
        std::int64_t first, end;
        PrefetchedSlice* slice;  ///< nullptr: own elements
        bool wanted;
    };
    std::vector<Run> runs;
    if (!own.empty()) runs.push_back({own.lower[0], own.upper[0], nullptr, false});
    for (Rank owner = 0; owner < ranks(); ++owner) {
        const auto slices = array.of(owner);
        // With several slices an access would have to prefer the consistent one.
        if (slices.size() != 1 || !has(*slices[0])) continue;
        const std::int64_t first = slices[0]->first[3];
        runs.push_back({first, first + slices[0]->slice.extent[3], slices[0], false});
    }
    std::ranges::sort(runs, {}, &Run::first);
    reader_ = 0;
    wanted_.clear();
    found_ = !runs.empty() || indices.empty();
    auto last = runs.begin();
    for (const std::int64_t i : indices) {
        if (found_ && (i < last->first || i >= last->end)) {
            last = std::ranges::upper_bound(runs, i, {}, &Run::first);
            found_ = last != runs.begin() && i < (--last)->end;
        }
        found_ = found_ && (last->slice == nullptr || last->slice->position_of(Index<1>{i}) >= 0);
        if (!found_) break;
        last->wanted = true;
    }
    for (const Run& run : runs)
        if (run.wanted && run.slice != nullptr) wanted_.push_back(run.slice);
    reader_ = reader;
    return found_;
}

ReplicaReading::ReplicaReading(const ArrayPrefetch& array, std::uint64_t reader,
                               std::span<const std::int64_t> indices, const Box<1>& own,
                               const void* own_elements) {
    Replica* const replica = array.replica();
    if (replica == nullptr) return;
    pgas::Context& context = pgas::Context::here();
    while (replica->locked_.exchange(true, std::memory_order_acquire))
        context.transport().yield();
    replica_.reset(replica);
    if (!replica->find(array, reader, indices, own)) return;
    auto copy_own = [&, copied = own.empty()]() mutable {
        if (std::exchange(copied, true)) return;
        const std::uint64_t bytes = static_cast<std::uint64_t>(own.size()) * replica->element_bytes_;
        copy_bytes(replica->at(own.lower[0]), static_cast<const std::byte*>(own_elements), bytes);
        charge_copy(bytes);
    };
    refresh_stale(replica->wanted_, array.packing(), std::ref(copy_own));
    for (PrefetchedSlice* const slice : replica->wanted_) {
        PrefetchEntry& entry = entry_of(*slice);
        EntryLock(entry, context).keep();
        ++locked_;
        // Another thread has put elements and not released them. The entry cannot be fetched now.
        if (entry.consistent && !entry.is_fresh(context.sync().acquired)) return;
    }
    copy_own();
    origin_ = address_of_zero(replica->memory_, replica->lower_, replica->element_bytes_);
    context.runtime().prefetch_buffer().count_replica_read();
    ready_ = true;
}

ReplicaReading::~ReplicaReading() {
    for (std::size_t n = 0; n < locked_; ++n)
        entry_of(*replica_->wanted_[n]).unlock();
}

}  // namespace nearfetch::detail
