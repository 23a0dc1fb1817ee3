// SPDX-License-Identifier: Apache-2.0
#pragma once

// The range cache: remote memory in entries of any size (001, CLaMPI).
//
// A hit is find() alone. After a miss, plan_lookup() says which parts of the range are resident, which are in
// flight, and which are gaps. The caller starts gets for the gaps, then calls admit() for each, which makes
// room while the network is busy. When a transfer completes it calls commit(), or abandon() on failure. So an
// entry goes MISSING -> PENDING -> CACHED as in Fig. 5, and the cache moves no bytes over a network.
//
// The parts follow section III: cuckoo index (cuckoo_index.hpp), storage (entry_storage.hpp), eviction by
// score (cache/eviction), adaptive sizes (resize.cpp). exact_match, storage "best_fit", keep_on_resize =
// false and policy "clampi" give the paper's behaviour. Differences, and why:
// - Entries do not overlap and are also in an ordered index (range_index.hpp). So sub-ranges hit, ranges
// across neighbours hit, and a partial hit fetches only the gaps.
// - Entries lie in a log (log_storage.hpp), so that room of any size comes from entries anywhere. The work
// for an admission is bounded (entry_log.cpp).
// - A resize keeps entries: the index is rehashed, the buffer grows and shrinks in place.
// - Freshness is a comparison of stamps (sync_clock.hpp). Stale entries are evicted first.
// - Read-ahead fetches the region around a miss (read_ahead.cpp). Where others may write what nobody has
// asked for, that expires at the next acquire of read-ahead, and what was asked for stays (asked_bytes.hpp).
//
// Pointers into the cache (find, LookupPart::data) are valid until the next call other than find and
// plan_lookup: an admission moves entries. Pending entries do not move. Not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/types.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "cache/eviction/eviction_policy.hpp"
#include "cache/eviction/slot_sampler.hpp"
#include "cache/range_cache/config.hpp"
#include "cache/range_cache/cuckoo_index.hpp"
#include "cache/range_cache/entry.hpp"
#include "cache/range_cache/entry_storage.hpp"
#include "cache/range_cache/range_index.hpp"
#include "cache/range_cache/read_ahead_sizer.hpp"
#include "cache/range_cache/storage_buffer.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

/// A part of a range that was looked up.
struct LookupPart {
    enum class Kind : std::uint8_t { resident, pending, gap };
    Kind kind = Kind::gap;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    const std::byte* data = nullptr;  ///< resident: its bytes
    Entry* entry = nullptr;           ///< pending: the entry in flight that covers this part
};

/// The admission of a gap. `entry` is pending, or nullptr if it is not cached.
struct Admission {
    AccessType type = AccessType::failing;
    Entry* entry = nullptr;
};

/// How large and how full the cache is.
struct Occupancy {
    std::uint64_t entries = 0;        ///< cached (perhaps stale) and pending, without invalidated ones
    std::uint64_t pending = 0;        ///< those of them that are in flight
    std::uint64_t index_entries = 0;  ///< |I_w|
    std::uint64_t buffer_bytes = 0;   ///< |S_w|
    std::uint64_t free_bytes = 0;     ///< of the buffer
};

class RangeCache final : private EvictionView, private EntryOwner {
  public:
    /// \param ranks of the window's group
    /// \throws Error for an invalid value or unknown policy, or when memory is exhausted
    RangeCache(const RangeCacheConfig& config, Rank ranks);
    ~RangeCache();
    RangeCache(const RangeCache&) = delete;
    RangeCache& operator=(const RangeCache&) = delete;

    /// Regions around misses: how large they are, whether they pay, and their admission.
    class ReadAhead {
      public:
        /// \param most_bytes largest region; 0: no read-ahead
        ReadAhead(RangeCache& cache, std::uint64_t most_bytes) noexcept : cache_(cache), sizer_(most_bytes) {}

        /// Regions begin at multiples of this size.
        std::uint64_t region_bytes() const noexcept { return sizer_.bytes(); }
        /// Whether an entry of this size pays: removed ones were used. Sometimes true anyway, as a probe.
        /// \param lasts it cannot go stale, so it pays while there is room
        bool pays(std::uint64_t size, bool lasts) noexcept;
        /// Extends a gap within `bounds` by what is missing around it. It covers small entries that were used
        /// once, because fetching them again is cheaper than another gap. Removes stale entries. Not with
        /// exact_match.
        ByteRange gap_around(Rank target, ByteRange gap, ByteRange bounds);
        /// Decides on a result of gap_around(), stored and issued now(). Replaces the entries that it covers.
        /// \param expires at the next acquire of read-ahead, but for what was asked for
        /// \param asked what the program asks for of it now
        /// \throws std::bad_alloc
        Admission admit(Rank target, ByteRange range, bool expires = false, ByteRange asked = {});
        /// Makes room for the next region, while the transfer of this one is outstanding.
        void make_room_ahead();
        /// The cache reports the removal of a cached entry.
        void record_removal(const Entry& entry, bool evicted) noexcept;
        /// What expires has expired, but for what was asked for.
        void acquire() noexcept;
        /// An entry that expires was removed.
        void release(AskedBytes* asked) noexcept { spare_.push_back(asked); }

      private:
        const Entry* sample() noexcept;
        AskedBytes* take_asked(Rank target, ByteRange region);

        RangeCache& cache_;
        ReadAheadSizer sizer_;
        std::uint64_t sampled_ = 0;
        std::deque<AskedBytes> asked_;  ///< all that there are
        std::vector<AskedBytes*> spare_;
    };

    /// The range's bytes if one fresh entry covers it, else nullptr. Counts a get. \pre size > 0
    const std::byte* find(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        const std::byte* const data = find_recent(target, offset, size);
        return data != nullptr ? data : find_further(target, offset, size);
    }
    /// The steps of find(), for callers that inline only the first one: recently used entries, and one that
    /// begins there; any other.
    const std::byte* find_recent(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    const std::byte* find_further(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    /// The same, but it counts neither a get nor a use.
    const std::byte* peek(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;

    /// After find() returned nullptr: cuts the range into parts, in order, without holes. Resident neighbours
    /// are separate parts. Counts a use of each entry, and removes stale ones. Overwrites `out`.
    void plan_lookup(Rank target, std::uint64_t offset, std::uint64_t size, std::vector<LookupPart>& out);

    /// After find() returned nullptr: copies the range if adjacent entries cover it. Joins them if they have
    /// at most `most_joined_bytes` and this needs no eviction, so that the next such get is one lookup.
    /// \return the span of these entries; empty if something is missing
    ByteRange read_across(Rank target, std::uint64_t offset, std::uint64_t size, std::byte* to,
                          std::uint64_t most_joined_bytes) noexcept;

    /// Decides on a gap whose transfer was started at `stamp` (now() just before). Evicts if needed, and
    /// adapts sizes when due. store = false: known while in flight, never stored. Fails if the range overlaps
    /// an entry (unless exact_match), or is not worth its space.
    Admission admit(Rank target, std::uint64_t offset, std::uint64_t size, Stamp stamp, bool store);

    ReadAhead& read_ahead() noexcept { return read_ahead_; }

    /// The transfer is complete; `source` has the bytes (entry->data() or other memory).
    /// \return whether they are cached; otherwise the entry is removed
    bool commit(Entry* entry, const std::byte* source);
    /// The transfer failed: removes the entry.
    void abandon(Entry* entry);

    /// A put of this process: updates cached bytes, and invalidates entries in flight.
    void update(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* bytes);
    /// Another write: removes entries that overlap.
    void drop(Rank target, std::uint64_t offset, std::uint64_t size);

    Stamp now() const noexcept { return sync_.now(); }
    /// Nothing issued before may be served any more. O(1), but where sizes are due to adapt.
    void acquire() noexcept;
    void acquire(Rank target) noexcept;
    /// Removes all entries and frees their space; entries in flight are invalidated. O(entries).
    void invalidate();

    /// Sets |S_w|, keeping what fits (nothing with keep_on_resize = false).
    /// \return false if entries in flight, the bounds or memory do not allow it
    bool resize(std::uint64_t buffer_bytes);

    /// Evictions, invalidations, resizes, visited slots, committed and dropped. The caller counts the others.
    const RangeCacheCounters& counters() const noexcept { return counters_; }
    Occupancy occupancy() const noexcept {
        return {by_range_.size(), pending_, index_.slot_count(), storage_->size_bytes(),
                storage_->free_bytes()};
    }
    /// Checks everything. Aborts with a message on a fault.
    void check_invariants() const;

  private:
    // Hot path.
    /// The steps of find_recent(): the most recently used entry; the recently used large entry there, or one
    /// that begins there.
    const std::byte* find_mru(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    const std::byte* find_indexed(Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    /// Whether all of its bytes may be served.
    bool fresh(const Entry& entry) const noexcept { return sync_.fresh(entry.stamp_, entry.clock_); }
    /// Whether those may be that were asked for: true of fresh entries, too.
    bool lives(const Entry& entry) const noexcept { return sync_.fresh(entry.stamp_, entry.target_); }
    /// Whether these of its bytes may be. \pre it lives
    bool has_asked(const Entry& entry, ByteRange range) const noexcept {
        return entry.asked_ != nullptr && entry.asked_->has_all(range);
    }
    /// Whether it has expired, and something in it may still be served.
    bool is_kept(const Entry& entry) const noexcept {
        return !fresh(entry) && entry.served_ != nullptr && entry.asked_ != nullptr && lives(entry);
    }
    /// The clock of read-ahead that expires.
    Rank read_ahead_clock() const noexcept { return sync_.ranks() - 1; }
    bool is_target(Rank target) const noexcept { return target >= 0 && target < read_ahead_clock(); }
    void touch(Entry& entry) noexcept {
        entry.last = gets_;
        ++entry.frequency;
        entry.weight = entry.weight * touch_rule_.keep + touch_rule_.add;
    }
    /// Counts a use of these of its bytes.
    void use(Entry& entry, std::uint64_t skip, std::uint64_t size) noexcept {
        touch(entry);
        if (entry.clock_ != entry.target_) [[unlikely]]
            note_asked(entry, skip, size);
    }
    [[gnu::noinline]] static void note_asked(Entry& entry, std::uint64_t skip, std::uint64_t size) noexcept {
        entry.asked_->add({entry.offset_ + skip, entry.offset_ + skip + size});
    }
    const std::byte* serve(Entry& entry, std::uint64_t skip, std::uint64_t size) noexcept {
        ++gets_;
        requested_bytes_ += size;
        use(entry, skip, size);
        return entry.served_ + skip;
    }
    bool serves(const Entry& entry) const noexcept { return entry.served_ != nullptr && fresh(entry); }
    /// Whether an entry that begins `skip` bytes before covers `size` bytes. Unsigned arithmetic wraps, so
    /// each condition is one comparison.
    static bool has_all(const Entry& entry, std::uint64_t skip, std::uint64_t size) noexcept {
        return skip < entry.bytes && size <= entry.bytes - skip;
    }

    /// The large entry used last in this region of the target's memory. Regions share slots, so this is a
    /// hint.
    Entry*& recent_slot(std::uint64_t offset) noexcept {
        return recent_[offset / recent_region_bytes % recent_.size()];
    }
    /// Remembers an entry for gets of its other parts. Not with exact_match.
    void remember_mru(Entry& entry, std::uint64_t offset) noexcept {
        if (exact_match_) return;
        mru_ = &entry;
        mru_target_ = entry.target_;
        if (entry.bytes >= recent_region_bytes / 2) recent_slot(offset) = &entry;
    }

    // Lookup on the slow path (range_cache.cpp).
    Entry* covering(Rank target, std::uint64_t offset) noexcept;
    std::uint64_t gap_end(Rank target, std::uint64_t offset, std::uint64_t end);
    ByteRange copy_across(Rank target, std::uint64_t offset, std::uint64_t size, std::byte* to) noexcept;
    bool expires_within(Rank target, ByteRange range);
    void collect_asked(Rank target, ByteRange region, AskedBytes& asked);
    void join(Rank target, ByteRange united);
    template <class Visitor>
    void for_each_overlap(Rank target, std::uint64_t offset, std::uint64_t size, Visitor&& visit);

    // Insertion and removal of entries (range_cache.cpp).
    void remove(Entry& entry, bool evicted) noexcept;
    void invalidate_in_flight(Entry& entry) noexcept;
    void forget(Entry& entry) noexcept;
    void unlink(Entry& entry) noexcept;
    void give_back(Entry& entry) noexcept;

    // Admission (admission.cpp).
    struct Newcomer;
    bool occupied(Rank target, std::uint64_t offset, std::uint64_t size);
    Admission admit(const Newcomer& newcomer);
    void arrive(Entry& entry, bool will_be_used);
    void describe(Entry& entry, const Newcomer& newcomer) const;
    AccessType try_admission(Entry& entry);
    Entry* choose_slot(const Entry& entry, std::uint32_t& slot);
    void insert_pending(Entry& entry, std::uint32_t slot) noexcept;
    bool may_be_stale() const noexcept { return unreaped_ != all_reaped; }
    /// Calls visit(entry) for each entry that is cached or in flight; it may remove that entry.
    template <class Visitor>
    void for_each_entry(Visitor&& visit) {
        for (std::uint32_t id = 0; id < pool_.end(); ++id)
            if (Entry& entry = pool_[id]; entry.bytes > 0 && !entry.invalidated_) visit(entry);
    }

    // Adaptation (resize.cpp).
    void adapt_if_due();
    void adapt();
    std::uint32_t adapted_index(double conflicting) const;
    void follow_entries();
    bool resize_index(std::uint32_t slots);
    bool resize_buffer(std::uint64_t bytes);
    std::uint64_t affordable(std::uint64_t more_bytes) const noexcept;
    void regrow_buffer(std::uint64_t newcomer_bytes);

    // EntryOwner.
    double score_now(const Entry& entry) const override {
        return lives(entry) ? policy_->score(entry) : lowest_of_all;
    }
    void evict(Entry& entry) noexcept override;
    void reap_stale(std::uint32_t most, std::uint64_t wanted_bytes) noexcept override;
    Entry* sample_slots() noexcept override;

    // EvictionView.
    std::uint64_t item_count() const override;
    std::uint64_t slot_count() const override;
    void scale_weights(int octaves) override;
    std::uint64_t key(const EvictionItem& item) const override;
    std::uint64_t gets() const override;
    double average_get_bytes() const override;
    std::uint64_t adjacent_free_bytes(const EvictionItem& item) const override;
    double application_score(const EvictionItem& item) const override;

    // First: what a hit reads.
    Entry* mru_;
    Rank mru_target_ = -1;
    static constexpr std::uint64_t recent_region_bytes = 4096;
    std::array<Entry*, 64> recent_;
    bool exact_match_;
    // Not adjacent to other counters: the compiler would vectorise their updates, which is slower.
    std::uint64_t gets_ = 0;
    TouchRule touch_rule_;
    std::uint64_t requested_bytes_ = 0;
    SyncClock sync_;
    MemoryShare memory_;  ///< of the buffer and the index's slots
    EntryPool pool_;
    std::unique_ptr<EvictionPolicy> policy_;
    bool index_follows_;          ///< the index has as many slots as its entries need
    std::uint32_t fewest_slots_;  ///< that it has then
    std::uint32_t index_limit_;   ///< |I_w|: its slots, or the most that it may have
    CuckooIndex index_;
    RangeIndex by_range_;
    std::unique_ptr<EntryStorage> storage_;

    static constexpr std::uint32_t all_reaped = 0xffffffff;
    std::uint32_t unreaped_ = all_reaped;  ///< number where the search for stale entries continues
    std::uint64_t pending_ = 0;
    std::uint64_t invalidated_ = 0;
    std::uint64_t largest_entry_bytes_ = 0;
    std::uint64_t granted_bytes_;  ///< |S_w| as it was set; adaptation may have changed it
    std::vector<std::byte> joining_;
    ReadAhead read_ahead_;
    SlotSampler slot_sampler_;

    /// Since the last adaptation.
    struct Interval {
        std::uint64_t gets_at_start = 0;
        std::uint64_t misses = 0;
        std::uint64_t conflicting = 0;
        std::uint64_t capacity = 0;
        std::uint64_t failing = 0;
        std::uint64_t visited = 0;
        std::uint64_t nonempty = 0;
    } interval_;
    RangeCacheConfig config_;
    RangeCacheCounters counters_;
    Entry nothing_;  ///< target of mru_ when there is no entry: of size 0
};

[[gnu::always_inline]] inline const std::byte* RangeCache::find_mru(Rank target, std::uint64_t offset,
                                                                    std::uint64_t size) noexcept {
    NF_EXPECT(size > 0 && is_target(target));
    Entry& entry = *mru_;
    const std::uint64_t skip = offset - entry.offset_;
    // The most recently used entry is never pending.
    const bool found = target == mru_target_ && has_all(entry, skip, size) && fresh(entry);
    return found ? serve(entry, skip, size) : nullptr;
}

inline const std::byte* RangeCache::find_indexed(Rank target, std::uint64_t offset,
                                                 std::uint64_t size) noexcept {
    Entry* entry = recent_slot(offset);
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

[[gnu::always_inline]] inline const std::byte* RangeCache::find_recent(Rank target, std::uint64_t offset,
                                                                       std::uint64_t size) noexcept {
    const std::byte* data = find_mru(target, offset, size);
    if (data == nullptr) [[unlikely]]
        data = find_indexed(target, offset, size);
    return data;
}

}  // namespace nearfetch
