// SPDX-License-Identifier: Apache-2.0
//
// How prefetched slices become fresh: fetched around the page cache, which would keep a second copy and
// forget something else for it (LAPPS, section 5.4), published, and stamped.

#include "array/refresh.hpp"

#include <memory>
#include <vector>

#include "array/entry_lock.hpp"
#include "array/pieces.hpp"
#include "array/strategy_timer.hpp"
#include "cache/prefetch_buffer/prefetch_buffer.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

// Slices that are fetched because another one of their array is.
constexpr std::uint64_t most_together_bytes = std::uint64_t{1} << 20;
// Of a slice that arrives beside what is read meanwhile.
constexpr std::uint64_t most_twice_bytes = std::uint64_t{256} << 10;

PrefetchBuffer& buffer() { return Context::here().runtime().prefetch_buffer(); }

/// While it lives nobody reads the entry, if it is consistent, which then is locked.
class Overwriting {
  public:
    explicit Overwriting(PrefetchEntry& entry) : entry_(entry) {
        if (entry_.consistent) entry_.begin_runs();
    }
    ~Overwriting() {
        if (entry_.consistent) entry_.end_runs();
    }
    Overwriting(const Overwriting&) = delete;
    Overwriting& operator=(const Overwriting&) = delete;

  private:
    PrefetchEntry& entry_;
};

/// What is fetched of an entry: what it has, or, where that is spread, all around it, too.
class Arrival {
  public:
    /// \param unread nobody reads a consistent one meanwhile
    Arrival(PrefetchEntry& what, StrategySelector::Strategy strategy, bool unread)
        : entry(&what),
          whole_(what.only == nullptr ||
                 (what.spread != nullptr && strategy == StrategySelector::Strategy::whole)),
          in_place_((unread || !what.consistent) && (whole_ || what.spread == nullptr)) {}

    std::uint64_t bytes() const { return whole_ ? entry->slice.bytes() : entry->bytes(); }
    // Readers wait for one that comes in pieces, which else would be in memory twice.
    bool comes_in_runs() const { return !in_place_ && whole_ && bytes() > most_twice_bytes; }
    SliceMove begin() {
        if (!in_place_) memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes());
        return {entry->slice, in_place_ ? entry->data : memory_.get(), whole_ ? nullptr : entry->only.get()};
    }
    /// Not all of it has come.
    void fail() {
        if (in_place_) entry->lost();
    }
    void publish() {
        if (memory_ == nullptr) return;
        const Overwriting overwriting(*entry);
        if (whole_)
            entry->publish_piece(0, {memory_.get(), bytes()});
        else
            entry->publish_packed(memory_.get());
    }

    PrefetchEntry* entry;

  private:
    bool whole_;
    bool in_place_;  ///< else it arrives in other memory: readers see all of an update or nothing of it
    std::unique_ptr<std::byte[]> memory_;
};

// What an acquire has made stale is wanted again soon if it was read after the last one. So the first access
// to one of an array's slices brings all of these, at the same time, as far as they are small: what is large
// takes its time on the network anyway, and is in memory twice while it comes.
void refresh_together(PrefetchEntry& wanted, Context& context, Code pack) {
    std::vector<PrefetchEntry*> entries{&wanted};
    std::vector<EntryLock> locks;
    std::uint64_t bytes = wanted.bytes();
    buffer().for_each_beside(wanted, [&](PrefetchEntry& other) {
        if (!other.consistent || &other == &wanted || bytes + other.bytes() > most_together_bytes) return;
        if (!other.try_lock()) return;
        locks.emplace_back(other);
        if (!other.used() || other.fresh(context.acquired()) || other.held_by_other(context.release_count()))
            return;
        bytes += other.bytes();
        entries.push_back(&other);
    });
    refresh(entries, context, pack, &wanted);
}

}  // namespace

void refresh(std::span<PrefetchEntry* const> entries, Context& context, Code pack,
             const PrefetchEntry* wanted, const Meanwhile& meanwhile) {
    StrategySelector* choice = nullptr;
    std::uint64_t wanted_bytes = 0;
    for (const PrefetchEntry* const entry : entries) {
        wanted_bytes += entry->bytes();
        if (entry->spread != nullptr) choice = entry->spread;  // an array has one
    }
    const StrategyTimer timer(choice, wanted_bytes, context);
    std::vector<Arrival> arrivals;
    // A thread that begins to read meanwhile waits for the lock: to it they are stale.
    const bool unread = context.runtime().single_threaded();
    for (PrefetchEntry* const entry : entries)
        arrivals.emplace_back(*entry, timer.strategy(), unread);
    const auto came = [&](const Arrival& arrival, Stamp issued) {
        buffer().count_update(arrival.bytes());
        if (wanted == nullptr || wanted == arrival.entry)
            arrival.entry->arrived(issued);
        else
            arrival.entry->arrived_unread(issued);
    };
    for (const Packer packer : {Packer::requester, Packer::owner}) {
        std::vector<Arrival*> together;
        std::vector<SliceMove> moves;
        for (Arrival& arrival : arrivals) {
            if (arrival.entry->packer != packer || arrival.comes_in_runs()) continue;
            together.push_back(&arrival);
            moves.push_back(arrival.begin());
        }
        const Stamp issued = context.runtime().clock().now();
        try {
            get_slices(moves, packer, true, pack, moves.empty() ? Meanwhile{} : meanwhile);
        } catch (...) {
            for (Arrival* const arrival : together)
                arrival->fail();
            throw;
        }
        for (Arrival* const arrival : together) {
            arrival->publish();
            came(*arrival, issued);
        }
    }
    for (const Arrival& arrival : arrivals) {
        if (!arrival.comes_in_runs()) continue;
        PrefetchEntry& entry = *arrival.entry;
        const Stamp issued = context.runtime().clock().now();
        {
            const Overwriting overwriting(entry);
            get_runs(
                entry.slice, entry.packer, pack,
                [&](std::uint64_t at, std::span<const std::byte> piece) { entry.publish_piece(at, piece); });
        }
        came(arrival, issued);
    }
    timer.end();
}

bool read_prefetched(PrefetchedSlice& slice, Code pack, std::int64_t position, void* to, std::int64_t count) {
    Context& context = Context::here();
    PrefetchEntry& entry = entry_of(slice);
    const std::uint64_t size = slice.slice.element_bytes * static_cast<std::uint64_t>(count);
    const std::uint64_t offset = slice.slice.element_bytes * static_cast<std::uint64_t>(position);
    if (entry.read(offset, to, size, context.acquired())) [[likely]]
        return true;
    const EntryLock lock(entry, context);
    if (!entry.reveal(context.acquired())) {
        if (entry.held_by_other(context.release_count())) return false;
        refresh_together(entry, context, pack);
    }
    entry.copy(offset, to, size);
    return true;
}

void freshen_prefetched(std::span<PrefetchedSlice* const> slices, Code pack, const Meanwhile& meanwhile) {
    Context& context = Context::here();
    std::vector<PrefetchEntry*> stale;
    std::vector<EntryLock> locks;
    for (PrefetchedSlice* const slice : slices) {
        PrefetchEntry& entry = entry_of(*slice);
        if (!entry.consistent || entry.fresh(context.acquired())) continue;
        EntryLock lock(entry, context);
        if (entry.reveal(context.acquired()) || entry.held_by_other(context.release_count())) continue;
        locks.push_back(std::move(lock));
        stale.push_back(&entry);
    }
    if (!stale.empty()) refresh(stale, context, pack, nullptr, meanwhile);
}

}  // namespace nearfetch::detail
