// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/range_cache.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "cache/range_cache/newcomer.hpp"

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t least_first_slots = 16, most_first_slots = 1024;

// A quarter of what is left, as the buffer has half.
std::uint32_t first_slots(const RangeCacheConfig& config, std::uint64_t left_bytes) noexcept {
    const std::uint64_t affordable =
        config.adaptive ? std::max(left_bytes / 4 / index_slot_bytes, least_first_slots) : most_first_slots;
    return static_cast<std::uint32_t>(std::min({config.index_entries, most_first_slots, affordable}));
}

std::uint64_t first_buffer_bytes(const RangeCacheConfig& config, std::uint64_t left_bytes) noexcept {
    const std::uint64_t most = std::max(left_bytes / 2, StorageBuffer::line_bytes);
    return config.adaptive ? std::min(config.buffer_bytes, most) : config.buffer_bytes;
}

}  // namespace

// Invalidated entries in flight have a number but no index slot, hence twice the numbers.
RangeCache::RangeCache(const RangeCacheConfig& config, Rank ranks)
    : mru_(&nothing_),
      exact_match_(config.checked().exact_match),
      sync_(ranks + 1),
      memory_(config.memory),
      pool_(2 * config.index_entries_max),
      policy_(make_eviction_policy(config.policy, *this)),
      index_follows_(config.storage != "best_fit"),
      fewest_slots_(first_slots(config, memory_.left())),
      index_limit_(static_cast<std::uint32_t>(index_follows_ && config.adaptive ? config.index_entries_max
                                                                                : config.index_entries)),
      index_(index_follows_ ? fewest_slots_ : index_limit_, config.seed),
      storage_(index_follows_
                   ? make_entry_log(first_buffer_bytes(config, memory_.left()), config, pool_, *this)
                   : make_best_fit(first_buffer_bytes(config, memory_.left()), config, *this)),
      granted_bytes_(storage_->size_bytes()),
      read_ahead_(*this, config.read_ahead_bytes),
      slot_sampler_(config.sample_entries, config.seed),
      config_(config) {
    recent_.fill(&nothing_);
    touch_rule_ = policy_->touch_rule();
    memory_.charge(storage_->size_bytes() + index_.slot_count() * index_slot_bytes);
}

RangeCache::~RangeCache() = default;

const std::byte* RangeCache::find_further(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
    Entry* const entry = exact_match_ ? nullptr : covering(target, offset);
    if (entry != nullptr && entry->served_ != nullptr) {
        const std::uint64_t skip = offset - entry->offset_;
        const bool covers = size <= entry->bytes - skip;
        if (covers && fresh(*entry)) {
            remember_mru(*entry, offset);
            return serve(*entry, skip, size);
        }
        if (covers && is_kept(*entry) && has_asked(*entry, {offset, offset + size}))
            return serve(*entry, skip, size);
    }
    ++gets_;
    requested_bytes_ += size;
    return nullptr;
}

const std::byte* RangeCache::peek(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
    const Entry* const entry = covering(target, offset);
    if (entry == nullptr || entry->served_ == nullptr || !fresh(*entry)) return nullptr;
    const std::uint64_t skip = offset - entry->offset_;
    return size <= entry->bytes - skip ? entry->served_ + skip : nullptr;
}

// The entry that has the byte, fresh or stale. With exact_match the one that begins there.
Entry* RangeCache::covering(Rank target, std::uint64_t offset) noexcept {
    if (exact_match_) {
        const std::uint32_t id = index_.find(target, offset);
        return id == CuckooIndex::none ? nullptr : &pool_[id];
    }
    const auto position = by_range_.floor(target, offset);
    if (!position || position.target() != target || !position.may_reach(offset)) return nullptr;
    Entry& entry = pool_[position.id()];
    return offset - entry.offset_ < entry.bytes ? &entry : nullptr;
}

// The end of a gap that begins at `offset`: the next fresh or pending entry, or `end`. Removes stale ones,
// but for those that are kept: who fetches the gap replaces them.
std::uint64_t RangeCache::gap_end(Rank target, std::uint64_t offset, std::uint64_t end) {
    if (exact_match_) return end;
    for (;;) {
        const auto next = by_range_.above(target, offset);
        if (!next || next.target() != target || next.offset() >= end) return end;
        Entry& entry = pool_[next.id()];
        if (fresh(entry)) return entry.offset_;
        if (is_kept(entry))
            offset = entry.offset_;
        else
            forget(entry);
    }
}

void RangeCache::plan_lookup(Rank target, std::uint64_t offset, std::uint64_t size,
                             std::vector<LookupPart>& out) {
    NF_EXPECT(size > 0 && offset + size > offset);
    out.clear();
    bool is_miss = false;
    const std::uint64_t end = offset + size;
    while (offset < end) {
        Entry* entry = covering(target, offset);
        if (entry != nullptr && !fresh(*entry)) {
            const bool kept = is_kept(*entry);
            if (!kept) forget(*entry);
            if (!kept || !has_asked(*entry, {offset, std::min(end, entry->offset_ + entry->bytes)}))
                entry = nullptr;
        }
        LookupPart part;
        part.offset = offset;
        if (entry == nullptr) {
            is_miss = true;
            policy_->expect(CuckooIndex::mix(target, offset));
            part.size = gap_end(target, offset, end) - offset;
        } else {
            const std::uint64_t skip = offset - entry->offset_;
            part.size = std::min(end - offset, entry->bytes - skip);
            if (entry->served_ != nullptr) {
                part.kind = LookupPart::Kind::resident;
                part.data = entry->served_ + skip;
            } else {
                part.kind = LookupPart::Kind::pending;
                part.entry = entry;
            }
            use(*entry, skip, part.size);
        }
        out.push_back(part);
        offset += part.size;
    }
    if (is_miss) ++interval_.misses;
}

ByteRange RangeCache::read_across(Rank target, std::uint64_t offset, std::uint64_t size, std::byte* to,
                                  std::uint64_t most_joined_bytes) noexcept {
    const ByteRange united = copy_across(target, offset, size, to);
    if (united.empty() || united.size() > most_joined_bytes || expires_within(target, united)) return united;
    try {
        join(target, united);
    } catch (const std::bad_alloc&) {
        // The entries stay as they are.
    }
    return united;
}

ByteRange RangeCache::copy_across(Rank target, std::uint64_t offset, std::uint64_t size,
                                  std::byte* to) noexcept {
    const std::uint64_t end = offset + size;
    if (exact_match_ || end < offset) return {};
    const auto first = by_range_.floor(target, offset);
    ByteRange united{offset, offset};
    for (auto position = first; united.end < end; position = position.next()) {
        if (!position || position.target() != target) return {};
        const Entry& entry = pool_[position.id()];
        const std::uint64_t entry_end = entry.offset_ + entry.bytes;
        if (entry.offset_ > united.end || entry_end <= united.end || entry.served_ == nullptr ||
            !fresh(entry))
            return {};
        united = {std::min(united.begin, entry.offset_), entry_end};
    }
    for (auto position = first; offset < end; position = position.next()) {
        Entry& entry = pool_[position.id()];
        const std::uint64_t skip = offset - entry.offset_;
        const std::uint64_t part = std::min(end - offset, entry.bytes - skip);
        copy_bytes(to, entry.served_ + skip, part);
        use(entry, skip, part);
        to += part;
        offset += part;
    }
    return united;
}

bool RangeCache::expires_within(Rank target, ByteRange range) {
    bool expires = false;
    for_each_overlap(target, range.begin, range.size(),
                     [&](const Entry& entry) { expires = expires || entry.asked_ != nullptr; });
    return expires;
}

// What was asked for of the entries in a region.
void RangeCache::collect_asked(Rank target, ByteRange region, AskedBytes& asked) {
    for_each_overlap(target, region.begin, region.size(), [&](const Entry& entry) {
        const ByteRange common{std::max(region.begin, entry.offset_),
                               std::min(region.end, entry.offset_ + entry.bytes)};
        if (entry.asked_ == nullptr)
            asked.add(common);
        else
            asked.add(*entry.asked_, common);
    });
}

// Makes the entries of a span that copy_across() returned one entry.
void RangeCache::join(Rank target, ByteRange united) {
    if (!storage_->fits(united.size() + 2 * StorageBuffer::line_bytes)) return;
    joining_.resize(united.size());
    copy_across(target, united.begin, united.size(), joining_.data());
    drop(target, united.begin, united.size());
    // The entries were fresh and no acquire came in between, so now() is a valid stamp.
    const Admission admission =
        admit({.target = target, .range = united, .stamp = now(), .store = true, .skew = skew_of(united)});
    if (admission.entry != nullptr) commit(admission.entry, joining_.data());
}

template <class Visitor>
void RangeCache::for_each_overlap(Rank target, std::uint64_t offset, std::uint64_t size, Visitor&& visit) {
    if (size == 0) return;
    const std::uint64_t end = offset + size;
    // Entries are disjoint, so only the last one before can overlap. With exact_match any long enough one
    // can.
    const std::uint64_t first = exact_match_ ? offset - std::min(offset, largest_entry_bytes_) : offset;
    auto next = by_range_.floor(target, first);
    if (!next || next.target() != target) next = by_range_.above(target, first);
    while (next && next.target() == target && next.offset() < end) {
        const std::uint64_t begin = next.offset();
        const std::uint64_t entries_before = by_range_.size();
        if (begin >= offset || next.may_reach(offset))
            if (Entry& entry = pool_[next.id()]; begin + entry.bytes > offset) visit(entry);
        // A visitor may remove its entry, which invalidates positions.
        next = by_range_.size() == entries_before ? next.next() : by_range_.above(target, begin);
    }
}

bool RangeCache::occupied(Rank target, std::uint64_t offset, std::uint64_t size) {
    bool taken = false;
    if (exact_match_) {
        Entry* entry = covering(target, offset);
        if (entry == nullptr) return false;
        if (fresh(*entry)) return true;
        forget(*entry);
        return false;
    }
    for_each_overlap(target, offset, size, [&](Entry& entry) {
        if (fresh(entry))
            taken = true;
        else
            forget(entry);
    });
    return taken;
}

// Removes the entry from all lookup structures.
void RangeCache::unlink(Entry& entry) noexcept {
    if (mru_ == &entry) {
        mru_ = &nothing_;
        mru_target_ = -1;
    }
    const std::uint64_t last = entry.offset_ + (entry.bytes - 1);
    const std::uint64_t blocks = last / recent_region_bytes - entry.offset_ / recent_region_bytes + 1;
    for (std::uint64_t n = 0; n < std::min<std::uint64_t>(blocks, recent_.size()); ++n)
        if (Entry*& kept = recent_slot(entry.offset_ + n * recent_region_bytes); kept == &entry)
            kept = &nothing_;
    index_.erase(entry.target_, entry.offset_);
    by_range_.erase(entry.target_, entry.offset_);
    if (entry.served_ == nullptr) --pending_;
}

void RangeCache::give_back(Entry& entry) noexcept {
    if (entry.storage_ != nullptr) storage_->release(entry);
    if (entry.asked_ != nullptr) read_ahead_.release(entry.asked_);
    pool_.release(&entry);
}

void RangeCache::remove(Entry& entry, bool evicted) noexcept {
    if (!entry.is_pending()) {
        if (entry.read_ahead_) read_ahead_.record_removal(entry, evicted);
        policy_->erase(entry, evicted);
    }
    unlink(entry);
    give_back(entry);
}

void RangeCache::invalidate_in_flight(Entry& entry) noexcept {
    NF_EXPECT(entry.is_pending() && !entry.invalidated_);
    unlink(entry);
    entry.invalidated_ = true;
    ++invalidated_;
}

void RangeCache::forget(Entry& entry) noexcept {
    ++counters_.dropped;
    if (entry.is_pending())
        invalidate_in_flight(entry);
    else
        remove(entry, false);
}

bool RangeCache::commit(Entry* entry, const std::byte* source) {
    NF_EXPECT(entry != nullptr && entry->is_pending());
    if (entry->invalidated_) {
        --invalidated_;
        give_back(*entry);
        return false;
    }
    if (!entry->store_ || !lives(*entry)) {
        if (entry->store_) ++counters_.dropped;
        remove(*entry, false);
        return false;
    }
    if (source != entry->storage_) copy_bytes(entry->storage_, source, entry->bytes);
    entry->served_ = entry->storage_;
    --pending_;
    ++counters_.committed;
    return true;
}

void RangeCache::abandon(Entry* entry) {
    NF_EXPECT(entry != nullptr && entry->is_pending());
    if (entry->invalidated_) {
        --invalidated_;
        give_back(*entry);
    } else {
        remove(*entry, false);
    }
}

void RangeCache::update(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* bytes) {
    for_each_overlap(target, offset, size, [&](Entry& entry) {
        if (entry.is_pending()) {
            forget(entry);
            return;
        }
        const std::uint64_t begin = std::max(offset, entry.offset_);
        const std::uint64_t end = std::min(offset + size, entry.offset_ + entry.bytes);
        copy_bytes(entry.storage_ + (begin - entry.offset_), bytes + (begin - offset), end - begin);
    });
}

void RangeCache::drop(Rank target, std::uint64_t offset, std::uint64_t size) {
    for_each_overlap(target, offset, size, [this](Entry& entry) { forget(entry); });
}

void RangeCache::acquire() noexcept {
    sync_.acquire();
    adapt_if_due();
    unreaped_ = by_range_.size() == 0 ? all_reaped : 0;
}

void RangeCache::acquire(Rank target) noexcept {
    sync_.acquire(target);
    read_ahead_.acquire();
    adapt_if_due();
    unreaped_ = by_range_.size() == 0 ? all_reaped : 0;
}

void RangeCache::invalidate() {
    ++counters_.invalidations;
    for_each_entry([this](Entry& entry) {
        if (entry.is_pending())
            invalidate_in_flight(entry);
        else
            remove(entry, false);
    });
    largest_entry_bytes_ = 0;
}

std::uint64_t RangeCache::slot_count() const { return index_.slot_count(); }

std::uint64_t RangeCache::item_count() const { return by_range_.size(); }

void RangeCache::scale_weights(int octaves) {
    const double scale = std::ldexp(1.0, -octaves);
    for (std::uint32_t id = 0; id < pool_.end(); ++id)
        pool_[id].weight *= scale;
}

std::uint64_t RangeCache::key(const EvictionItem& item) const {
    const auto& entry = static_cast<const Entry&>(item);
    return CuckooIndex::mix(entry.target_, entry.offset_);
}

std::uint64_t RangeCache::gets() const { return gets_; }

double RangeCache::average_get_bytes() const {
    return gets_ == 0 ? 1.0 : static_cast<double>(requested_bytes_) / static_cast<double>(gets_);
}

std::uint64_t RangeCache::adjacent_free_bytes(const EvictionItem& item) const {
    return storage_->adjacent_free_bytes(static_cast<const Entry&>(item));
}

double RangeCache::application_score(const EvictionItem& item) const {
    const auto& entry = static_cast<const Entry&>(item);
    return config_.application_score ? config_.application_score(entry.target_, entry.offset_, entry.bytes)
                                     : 0.0;
}

void RangeCache::check_invariants() const {
    const auto ensure = [](bool holds, const char* what) { require_invariant(holds, "range cache", what); };
    storage_->check_invariants();
    std::uint64_t pending = 0;
    std::uint64_t stored_bytes = 0;
    const Entry* before = nullptr;
    const char* fault = by_range_.fault();
    ensure(fault == nullptr, fault);
    for (auto position = by_range_.begin(); position; position = position.next()) {
        const Entry& entry = pool_[position.id()];
        ensure(entry.target_ == position.target() && entry.offset_ == position.offset(),
               "entry at another's position");
        ensure(index_.find(entry.target_, entry.offset_) == entry.id_, "entry is not in the index");
        ensure(!entry.invalidated_, "invalidated entry");
        if (!exact_match_ && before != nullptr && before->target_ == entry.target_)
            ensure(before->offset_ + before->bytes <= entry.offset_, "entries overlap");
        if (entry.is_pending()) ++pending;
        ensure(
            entry.clock_ == entry.target_ || (entry.clock_ == read_ahead_clock() && entry.asked_ != nullptr),
            "an entry has another's clock");
        ensure(entry.is_pending() || entry.served_ == entry.storage_, "cached entry without its bytes");
        ensure((entry.storage_ != nullptr) == entry.store_, "storage and state disagree");
        if (entry.store_) {
            const std::uint64_t taken = storage_->taken_bytes(entry);
            ensure(taken >= entry.bytes, "an entry's place is another's");
            stored_bytes += taken;
        }
        before = &entry;
    }
    ensure(index_.used() == by_range_.size(), "index has other entries");
    std::uint64_t live = 0;
    for (std::uint32_t id = 0; id < pool_.end(); ++id)
        if (pool_[id].bytes > 0 && !pool_[id].invalidated_) ++live;
    ensure(live == by_range_.size(), "an entry is in no index");
    ensure(pending == pending_, "pending entries are miscounted");
    const std::uint64_t allocated = storage_->size_bytes() - storage_->free_bytes();
    ensure(invalidated_ > 0 ? stored_bytes <= allocated : stored_bytes == allocated, "buffer space leaked");
    for (const Entry* const entry : recent_)
        ensure(entry == &nothing_ || index_.find(entry->target_, entry->offset_) == entry->id_,
               "a recently used entry was removed");
    ensure(nothing_.bytes == 0 && (mru_ == &nothing_ || !mru_->is_pending()), "most recently used entry");
    ensure(!exact_match_ || mru_ == &nothing_, "parts of entries are found");
}

}  // namespace nearfetch
