// SPDX-License-Identifier: Apache-2.0
#pragma once

// The range cache: remote memory in entries of any size (001, CLaMPI).
//
// A get asks find(); that is all a hit costs. After a miss, plan_lookup() says which parts of the range are
// resident, which are already in flight and which are gaps; the engine starts the network's gets for the gaps
// and then calls admit() for each, which decides whether the data will be kept and makes room while the
// network is busy. When the transfer has really completed the engine calls commit(), or abandon() when it
// failed. So an entry goes MISSING -> PENDING -> CACHED as in the paper's Fig. 5, and core itself moves no
// bytes over a network.
//
// Built as in section III: cuckoo index (cuckoo_index.hpp), best-fit buffer (storage_buffer.hpp), eviction by
// score (core/eviction), adaptive sizes (adaptation in resize.cpp). The paper's behaviour is what
// exact_match, weak_admission, keep_on_resize = false and policy "clampi" give. What differs by default, and
// why:
//  - Entries do not overlap and stand in an ordered index (range_index.hpp), too, so any sub-range of an
//    entry hits, a range across neighbours hits, and a partial hit fetches the gaps only. It is asked after
//    the cuckoo index, on what would be a miss.
//  - Nothing is evicted before it is certain that the newcomer is admitted: index slot and space are planned
//    first. Several victims may go, but only a run of neighbours whose space is contiguous, and the cheapest
//    such run.
//  - Resizing keeps the entries: the index is rehashed, the buffer grows and shrinks in place.
//  - Fresh or stale is a matter of stamps (sync_clock.hpp); forgetting costs nothing, stale entries go first.
//
// Pointers into the cache (find, LookupPart::data) are valid until the next call that is not find or survey.
// Entries that admit() returned stay where they are until they are committed or abandoned. Not thread safe.

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/types.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "cache/eviction/eviction_policy.hpp"
#include "cache/range_cache/config.hpp"
#include "cache/range_cache/cuckoo_index.hpp"
#include "cache/range_cache/entry.hpp"
#include "cache/range_cache/range_index.hpp"
#include "cache/range_cache/read_ahead_sizer.hpp"
#include "cache/range_cache/storage_buffer.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

/// A part of a looked_up range.
struct LookupPart {
    enum class Kind : std::uint8_t { resident, pending, gap };
    Kind kind = Kind::gap;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    const std::byte* data = nullptr;  ///< resident: its bytes
    Entry* entry = nullptr;           ///< pending: the entry in flight, of which this is a part
};

/// What became of a gap. `entry` is pending, or nullptr when it will not be cached.
struct Admission {
    AccessType type = AccessType::failing;
    Entry* entry = nullptr;
};

class RangeCache final : private EvictionView {
  public:
    /// \param ranks of the window's group
    /// \throws Error when a value makes no sense, the policy is unknown, or the memory is not to be had
    RangeCache(const RangeCacheConfig& config, std::uint32_t ranks);
    ~RangeCache();
    RangeCache(const RangeCache&) = delete;
    RangeCache& operator=(const RangeCache&) = delete;

    /// The bytes of the range when one fresh entry has them all, else nullptr. Counts as one get. \pre size >
    /// 0
    const std::byte* find(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        if (const std::byte* const data = find_mru(target, offset, size)) return data;
        const std::byte* const data = find_recent(target, offset, size);
        return data != nullptr ? data : find_further(target, offset, size);
    }
    /// The parts of find(), one after the other, for callers that want only the first ones inline: the entry
    /// that was used last; the large one that was used last near there, or one that begins there; any other.
    const std::byte* find_mru(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    const std::byte* find_recent(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    const std::byte* find_further(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    /// The same bytes; but this is no get, and no use of them.
    const std::byte* peek(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;

    /// After find() said nullptr: the range cut into parts, in order, without holes; resident neighbours
    /// are separate parts. Uses what it names (recency, frequency) and forgets stale entries that it
    /// meets. `out` is overwritten.
    void plan_lookup(Rank target, std::uint64_t offset, std::uint64_t size, std::vector<LookupPart>& out);

    /// All that is missing around a gap, within `bounds`, and between it what is small and was asked for
    /// once: fetching it again costs less than a gap on its other side. Forgets stale entries that it meets.
    /// Not with exact_match.
    ByteRange gap_around(Rank target, ByteRange gap, ByteRange bounds);

    /// How large the blocks are that are read ahead (read_ahead_sizer.hpp).
    std::uint64_t region_bytes() const noexcept { return ahead_.bytes(); }
    /// Whether an entry of this size is worth reading ahead: those that went were used. Now and then true all
    /// the same, to find out. \param lasts it will not go stale: then it is as long as there is room
    bool read_ahead_pays(std::uint64_t size, bool lasts) noexcept;

    /// Decides what becomes of a gap whose transfer was started at `stamp` (now() just before). Evicts when
    /// needed, adapts the sizes when it is time. store = false: known while in flight, never kept. Fails when
    /// the range overlaps an entry (unless exact_match), or when it is not worth the space.
    Admission admit(Rank target, std::uint64_t offset, std::uint64_t size, Stamp stamp, bool store);

    /// The same for what gap_around() said, to be stored and issued now(). Takes the place of what is
    /// between.
    Admission admit_read_ahead(Rank target, ByteRange range);

    /// The transfer completed: `source` has the bytes (entry->data() itself, or elsewhere).
    /// \return whether they are cached now; otherwise the entry is gone
    bool commit(Entry* entry, const std::byte* source);
    /// The transfer failed: the entry is gone.
    void abandon(Entry* entry);

    /// A put by this process: cached bytes follow, entries in flight are invalidated.
    void update(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* bytes);
    /// Something else wrote there: forgets what overlaps.
    void drop(Rank target, std::uint64_t offset, std::uint64_t size);

    /// After find() said nullptr: copies the range if several neighbouring entries have all of it.
    /// \return what these entries span; empty if something is missing
    ByteRange read_across(Rank target, std::uint64_t offset, std::uint64_t size, std::byte* to) noexcept;
    /// Makes one entry of those that read_across() said span this range, so that the next such get is one
    /// lookup. Does nothing where that would need an eviction.
    void join(Rank target, ByteRange united);

    Stamp now() const noexcept { return sync_.now(); }
    /// Nothing that was issued before may be served any more. O(1).
    void acquire() noexcept;
    void acquire(Rank target) noexcept;
    /// Forgets everything and frees its space; what is in flight is invalidated. O(entries).
    void invalidate();

    /// Sets |S_w| and |I_w|, keeping what still fits (or, with keep_on_resize = false, nothing).
    /// \return false when entries in flight or the bounds do not allow it, or memory is not to be had
    bool resize(std::uint64_t buffer_bytes, std::uint64_t index_entries);

    /// The cache counts evictions, invalidations, resizes, visited slots, committed and dropped; the rest is
    /// the engine's.
    RangeCacheCounters& counters() noexcept { return counters_; }
    const RangeCacheCounters& counters() const noexcept { return counters_; }

    const RangeCacheConfig& config() const noexcept { return config_; }
    /// Entries, cached (perhaps stale) and pending; invalidated ones not.
    std::uint64_t entries() const noexcept { return by_range_.size(); }
    std::uint64_t pending() const noexcept { return pending_; }
    std::uint64_t index_entries() const noexcept { return index_.slot_count(); }
    std::uint64_t buffer_bytes() const noexcept { return buffer_.size_bytes(); }
    std::uint64_t free_bytes() const noexcept { return buffer_.free_bytes(); }
    std::uint64_t largest_free_bytes() const noexcept { return buffer_.largest_free_bytes(); }
    /// Walks everything; aborts with a message when something is not as it should be.
    void check_invariants() const;

  private:
    using AgeList = boost::intrusive::list<
        Entry, boost::intrusive::member_hook<Entry, boost::intrusive::list_member_hook<>, &Entry::by_age_>>;

    // Hot path.
    bool fresh(const Entry& entry) const noexcept { return sync_.fresh(entry.stamp_, entry.target_); }
    void touch(Entry& entry) noexcept {
        entry.last = gets_;
        ++entry.frequency;
        entry.weight = entry.weight * touch_rule_.keep + touch_rule_.add;
    }
    const std::byte* serve(Entry& entry, std::uint64_t skip, std::uint64_t size) noexcept {
        ++gets_;
        requested_bytes_ += size;
        touch(entry);
        return entry.served_ + skip;
    }
    bool serves(const Entry& entry) const noexcept { return entry.served_ != nullptr && fresh(entry); }
    /// Whether an entry that begins so far before has all of so many bytes. One comparison each for "begins
    /// inside" and "ends inside": unsigned arithmetic wraps.
    static bool has_all(const Entry& entry, std::uint64_t skip, std::uint64_t size) noexcept {
        return skip < entry.bytes && size <= entry.bytes - skip;
    }

    /// The large entry that was used last of those in this block and in some far away: a program that reads
    /// here and there finds those that it reads from.
    Entry*& near(std::uint64_t offset) noexcept { return recent_[offset / near_block % recent_.size()]; }
    /// Notes an entry that has been found, for gets of other parts of it: with exact_match there are none.
    void remember_mru(Entry& entry, std::uint64_t offset) noexcept {
        if (exact_match_) return;
        mru_ = &entry;
        mru_target_ = entry.target_;
        if (entry.bytes >= near_block / 2) near(offset) = &entry;
    }

    // Lookup off the hot path (range_cache.cpp).
    Entry* covering(Rank target, std::uint64_t offset) noexcept;
    std::uint64_t gap_end(Rank target, std::uint64_t offset, std::uint64_t end);
    static bool gives_way(const Entry& entry, ByteRange block) noexcept;
    template <class Visitor>
    void for_each_overlap(Rank target, std::uint64_t offset, std::uint64_t size, Visitor&& visit);

    // Entries' lives (range_cache.cpp).
    const Entry* any_ahead() noexcept;
    void remove(Entry& entry, bool evicted) noexcept;
    void invalidate_in_flight(Entry& entry) noexcept;
    void forget(Entry& entry) noexcept;
    void unlink(Entry& entry) noexcept;
    void give_back(Entry& entry) noexcept;

    // Admission (admission.cpp).
    struct Newcomer;
    struct Plan;
    struct Window;
    bool occupied(Rank target, std::uint64_t offset, std::uint64_t size);
    Admission admit(const Newcomer& newcomer);
    void arrive(Entry& entry, bool will_be_used);
    void describe(Entry& entry, const Newcomer& newcomer) const;
    AccessType admit_planned(Entry& entry, Plan& plan);
    AccessType admit_weakly(Entry& entry, Plan& plan);
    bool plan_space(const Entry& entry, Plan& plan);
    bool plan_slot(const Entry& entry, Plan& plan);
    bool worth_it(const Entry& entry, const Plan& plan) const;
    bool cheapest_run(const Entry& entry, std::uint64_t needed, Plan& plan);
    bool first_run(std::uint64_t needed, Plan& plan);
    template <class Passable, class Cost>
    void best_window(StorageBuffer::Region* center, std::uint64_t needed, std::size_t most_neighbours,
                     Window& best, Passable&& passable, Cost&& cost) const;
    void settle(Entry& entry, StorageBuffer::Region* region) noexcept;
    void evict(Entry& entry) noexcept;
    void reap_stale(std::uint32_t most, std::uint64_t payload_bytes) noexcept;
    Entry* cached_at(std::uint32_t slot) noexcept;

    CuckooIndex new_index(const RangeCacheConfig& config, std::uint64_t entries) const;

    // Adaptation (resize.cpp).
    void adapt();
    bool resize_index(std::uint64_t entries);
    bool resize_buffer(std::uint64_t bytes);
    bool clear_tail(std::uint64_t bytes);
    void take_back(std::uint64_t payload_bytes);

    // EvictionView.
    std::uint64_t slot_count() const override;
    Slot slot(std::uint64_t position) const override;
    std::uint64_t key(const EvictionItem& item) const override;
    std::uint64_t gets() const override;
    double average_get_bytes() const override;
    std::uint64_t adjacent_free_bytes(const EvictionItem& item) const override;
    double application_score(const EvictionItem& item) const override;
    std::uint64_t capacity_bytes() const override;

    // What a hit reads stands first.
    Entry* mru_;
    Rank mru_target_ = -1;
    static constexpr std::uint64_t near_block = 4096;
    std::array<Entry*, 64> recent_;
    bool exact_match_;
    // Not side by side: a compiler would count neighbours by vectors, which takes longer.
    std::uint64_t gets_ = 0;
    TouchRule touch_rule_;
    std::uint64_t requested_bytes_ = 0;
    SyncClock sync_;
    EntryPool pool_;
    std::unique_ptr<EvictionPolicy> policy_;
    CuckooIndex index_;
    RangeIndex by_range_;
    StorageBuffer buffer_;

    AgeList by_age_;             ///< in the order of admission, which is that of the stamps
    Entry* unreaped_ = nullptr;  ///< where to look for stale entries next; nullptr: nowhere
    std::uint64_t pending_ = 0;
    std::uint64_t invalidated_ = 0;
    std::uint64_t largest_entry_bytes_ = 0;
    std::uint64_t granted_bytes_;  ///< |S_w| as it was set; adaptation may have made it smaller or larger
    std::vector<std::byte> joining_;
    ReadAheadSizer ahead_;
    std::uint64_t looked_ = 0;  ///< by any_ahead()
    EvictionCandidates candidates_;
    std::unique_ptr<Plan> plan_;  ///< kept for its memory

    /// Since the last look of adapt().
    struct Interval {
        std::uint64_t gets_at_start = 0;
        std::uint64_t lookups = 0;
        std::uint64_t conflicting = 0;
        std::uint64_t capacity = 0;
        std::uint64_t failing = 0;
        std::uint64_t visited = 0;
        std::uint64_t nonempty = 0;
    } interval_;
    RangeCacheConfig config_;
    RangeCacheCounters counters_;
    Entry nothing_;  ///< what mru_ points to when there is no entry: of size 0
};

[[gnu::always_inline]] inline const std::byte* RangeCache::find_mru(Rank target, std::uint64_t offset,
                                                                    std::uint64_t size) noexcept {
    NF_EXPECT(size > 0 && target >= 0 && static_cast<std::uint32_t>(target) < sync_.ranks());
    Entry& entry = *mru_;
    const std::uint64_t skip = offset - entry.offset_;
    // It is never pending.
    const bool found = target == mru_target_ && has_all(entry, skip, size) && fresh(entry);
    return found ? serve(entry, skip, size) : nullptr;
}

inline const std::byte* RangeCache::find_recent(Rank target, std::uint64_t offset,
                                                std::uint64_t size) noexcept {
    Entry* entry = near(offset);
    std::uint64_t skip = offset - entry->offset_;
    if (target != entry->target_ || !has_all(*entry, skip, size)) {
        const std::uint32_t id = index_.find(target, offset);
        if (id == CuckooIndex::none) return nullptr;
        entry = &pool_[id];
        skip = 0;
        if (size > entry->bytes) return nullptr;
    }
    if (!serves(*entry)) return nullptr;
    remember_mru(*entry, offset);
    return serve(*entry, skip, size);
}

}  // namespace nearfetch
