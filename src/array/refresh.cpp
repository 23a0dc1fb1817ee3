// SPDX-License-Identifier: Apache-2.0
//
// Fetches prefetched slices: bypasses the page cache, publishes and stamps. Through the page cache a second
// copy would evict other data (LAPPS, section 5.4).

#include "array/refresh.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "array/entry_lock.hpp"
#include "array/fragments.hpp"
#include "array/node_slices.hpp"
#include "array/strategy_timer.hpp"
#include "cache/prefetch_buffer/prefetch_buffer.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

// Limit for slices that are fetched along with a wanted one.
constexpr std::uint64_t most_together_bytes = std::uint64_t{1} << 20;
// Limit for a staging buffer; larger slices are fetched in fragments.
constexpr std::uint64_t most_staged_bytes = std::uint64_t{256} << 10;

PrefetchBuffer& buffer() { return Context::here().runtime().prefetch_buffer(); }

/// While it lives, the sequence number of a consistent entry is odd and readers retry. \pre such an entry is
/// locked
class Overwriting {
  public:
    explicit Overwriting(PrefetchEntry& entry) : entry_(entry) {
        if (entry_.consistent) entry_.begin_update();
    }
    ~Overwriting() {
        if (entry_.consistent) entry_.end_update();
    }
    Overwriting(const Overwriting&) = delete;
    Overwriting& operator=(const Overwriting&) = delete;

  private:
    PrefetchEntry& entry_;
};

/// A fetch of an entry: of its packed elements, or of the whole range around them.
class Arrival {
  public:
    /// \param unread whether nobody reads a consistent entry meanwhile
    Arrival(PrefetchEntry& what, StrategySelector::Strategy strategy, bool unread)
        : entry(&what),
          whole_(what.only == nullptr ||
                 (what.strategy_selector != nullptr && strategy == StrategySelector::Strategy::whole)),
          as_stored_(whole_ || what.strategy_selector == nullptr),
          in_place_((unread || !what.consistent) && as_stored_) {}

    std::uint64_t bytes() const { return whole_ ? entry->slice.bytes() : entry->bytes(); }
    // Readers wait while fragments arrive. A staging buffer for all of it would take too much memory.
    bool is_too_large_to_stage() const { return !in_place_ && whole_ && bytes() > most_staged_bytes; }
    /// \pre the arrival is not moved afterwards
    WantedSlice begin() {
        WantedSlice wanted{entry->slice, whole_ ? nullptr : entry->only.get()};
        if (as_stored_) wanted.offset_in_page = offset_in_page(entry->data);
        if (!is_too_large_to_stage())
            wanted.own_memory = [this] {
                if (in_place_) return entry->data;
                memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes());
                return memory_.get();
            };
        return wanted;
    }
    /// The fetch failed, perhaps in part.
    void fail() {
        if (in_place_) entry->mark_lost();
    }
    void publish(WantedSlice& what) {
        const Overwriting overwriting(*entry);
        const std::byte* const elements = what.version ? what.version.data() : memory_.get();
        ByteRange shown;
        if (elements != nullptr && !as_stored_) {
            entry->publish_packed(elements);
        } else if (elements != nullptr) {
            if (what.version) shown = entry->memory.show(what.version, what.place);
            entry->publish_fragment(0, {elements, shown.begin});
            entry->publish_fragment(shown.end, {elements + shown.end, bytes() - shown.end});
        }
        if (elements != nullptr) charge_copy(bytes() - shown.size());
        if (shown.empty()) entry->memory.own(std::move(what.version));
    }
    void publish_in_fragments(const SlicePacking& packing) {
        const Overwriting overwriting(*entry);
        get_fragments(entry->slice, entry->packer, packing,
                      [&](const SliceMove&, std::uint64_t at, std::span<const std::byte> elements) {
                          entry->publish_fragment(at, elements);
                          charge_copy(elements.size());
                      });
        entry->memory.own();
    }

    PrefetchEntry* entry;

  private:
    bool whole_;
    bool as_stored_;  ///< it arrives in the layout of the entry's data
    bool in_place_;   ///< else it is staged, so that readers see all of an update or none
    std::unique_ptr<std::byte[]> memory_;
};

// A slice that was read since the last acquire is likely to be read after the next one. So the first access
// to a stale slice also fetches its array's other stale slices that were used. Large slices are left out:
// their transfer time dominates, and staging them takes memory.
void refresh_together(PrefetchEntry& wanted, Context& context, const SlicePacking& packing) {
    std::vector<PrefetchEntry*> entries{&wanted};
    std::vector<EntryLock> locks;
    std::uint64_t bytes = wanted.bytes();
    buffer().for_each_of_same_array(wanted, [&](PrefetchEntry& other) {
        if (!other.consistent || &other == &wanted || bytes + other.bytes() > most_together_bytes) return;
        if (!other.try_lock()) return;
        locks.emplace_back(other);
        if (!other.was_used() || other.is_fresh(context.sync().acquired) ||
            other.is_held_by_other(context.sync().release_count))
            return;
        bytes += other.bytes();
        entries.push_back(&other);
    });
    refresh(entries, context, packing, &wanted);
}

}  // namespace

void refresh(std::span<PrefetchEntry* const> entries, Context& context, const SlicePacking& packing,
             const PrefetchEntry* wanted, const OverlapWork& overlap_work) {
    StrategySelector* selector = nullptr;
    std::uint64_t wanted_bytes = 0;
    for (const PrefetchEntry* const entry : entries) {
        wanted_bytes += entry->bytes();
        if (entry->strategy_selector != nullptr) selector = entry->strategy_selector;  // one per array
    }
    const StrategyTimer timer(selector, wanted_bytes, context);
    std::vector<Arrival> arrivals;
    // A thread that starts to read finds the entry stale and waits for its lock.
    const bool unread = context.runtime().single_threaded();
    for (PrefetchEntry* const entry : entries)
        arrivals.emplace_back(*entry, timer.strategy(), unread);
    const auto came = [&](const Arrival& arrival, Stamp issued) {
        buffer().count_update(arrival.bytes());
        if (wanted == nullptr || wanted == arrival.entry)
            arrival.entry->mark_fetched(issued);
        else
            arrival.entry->mark_fetched_unread(issued);
    };
    std::vector<Arrival*> in_fragments;
    for (const Packer packer : {Packer::requester, Packer::owner}) {
        std::vector<Arrival*> together;
        std::vector<WantedSlice> slices;
        for (Arrival& arrival : arrivals) {
            if (arrival.entry->packer != packer) continue;
            together.push_back(&arrival);
            slices.push_back(arrival.begin());
        }
        const Stamp issued = context.runtime().clock().issue();
        try {
            buffer().count_from_node(
                get_node_slices(slices, packer, packing, slices.empty() ? OverlapWork{} : overlap_work));
        } catch (...) {
            for (Arrival* const arrival : together)
                arrival->fail();
            throw;
        }
        for (std::size_t n = 0; n < together.size(); ++n) {
            if (together[n]->is_too_large_to_stage() && !slices[n].version) {
                in_fragments.push_back(together[n]);
                continue;
            }
            together[n]->publish(slices[n]);
            came(*together[n], issued);
        }
    }
    for (Arrival* const arrival : in_fragments) {
        const Stamp issued = context.runtime().clock().issue();
        arrival->publish_in_fragments(packing);
        came(*arrival, issued);
    }
    timer.end();
}

bool read_prefetched(PrefetchedSlice& slice, const SlicePacking& packing, std::int64_t position, void* to,
                     std::int64_t count) {
    Context& context = Context::here();
    PrefetchEntry& entry = entry_of(slice);
    const std::uint64_t size = slice.slice.element_bytes * static_cast<std::uint64_t>(count);
    const std::uint64_t offset = slice.slice.element_bytes * static_cast<std::uint64_t>(position);
    if (entry.read(offset, to, size, context.sync().acquired)) [[likely]]
        return true;
    const EntryLock lock(entry, context);
    if (!entry.publish_unread(context.sync().acquired)) {
        if (entry.is_held_by_other(context.sync().release_count)) return false;
        refresh_together(entry, context, packing);
    }
    entry.copy(offset, to, size);
    return true;
}

void refresh_stale(std::span<PrefetchedSlice* const> slices, const SlicePacking& packing,
                   const OverlapWork& overlap_work) {
    Context& context = Context::here();
    std::vector<PrefetchEntry*> stale;
    std::vector<EntryLock> locks;
    for (PrefetchedSlice* const slice : slices) {
        PrefetchEntry& entry = entry_of(*slice);
        if (!entry.consistent || entry.is_fresh(context.sync().acquired)) continue;
        EntryLock lock(entry, context);
        if (entry.publish_unread(context.sync().acquired) ||
            entry.is_held_by_other(context.sync().release_count))
            continue;
        locks.push_back(std::move(lock));
        stale.push_back(&entry);
    }
    if (!stale.empty()) refresh(stale, context, packing, nullptr, overlap_work);
}

}  // namespace nearfetch::detail
