// SPDX-License-Identifier: Apache-2.0
//
// Entries in a log (log_storage.hpp), which makes room of any size from entries anywhere.
//
// The oldest entries are evicted if they are among the least valuable of all, and kept if not. How valuable
// these are is known from a sample. A newcomer that is worth less than they are is not admitted. The work of
// a miss is bounded: who would need more is admitted another time.

#include <algorithm>
#include <utility>

#include "base/xorshift.hpp"
#include "cache/eviction/score_sample.hpp"
#include "cache/range_cache/entry_storage.hpp"
#include "cache/range_cache/log_storage.hpp"

namespace nearfetch {

namespace {

// Limits of the work for a newcomer: entries that are evicted or kept, and bytes moved for one of its bytes.
constexpr std::uint32_t most_passed = 8;
constexpr std::uint64_t most_moved_per_byte = 2, most_moved_bytes = 8 * 1024;
// Of the buffer. If more is scattered, it has only to be collected.
constexpr std::uint64_t scattered_divisor = 4;
// Entries are drawn so often that a sample is new long before all entries are.
constexpr std::uint64_t draws_per_generation = 1024, most_between_draws = 4 * draws_per_generation;

class EntryLog final : public EntryStorage, private LogStorage::Owners {
  public:
    EntryLog(std::uint64_t bytes, const RangeCacheConfig& config, EntryPool& pool, EntryOwner& owner)
        : pool_(pool), owner_(owner), log_(bytes, config.buffer_bytes_max, *this), random_(config.seed) {}

    bool fits(std::uint64_t bytes) const noexcept override { return log_.fits({bytes, 0}); }
    bool place(Entry& entry) noexcept override {
        const LogStorage::Place place = log_.append(EntryPlace::id(entry), EntryPlace::payload(entry));
        if (place.data == nullptr) return false;
        moved(EntryPlace::id(entry), place);
        return true;
    }
    void release(Entry& entry) noexcept override { log_.release(EntryPlace::record(entry)); }

    // Now and then draws an entry, and scores it when it is in the processor's cache: at the next time.
    void begin_admission() override {
        const std::uint64_t entries = log_.payloads();
        if (++unsampled_ * draws_per_generation < std::min(entries, most_between_draws)) return;
        unsampled_ = 0;
        const std::uint32_t id = std::exchange(drawn_, log_.at_random(random_));
        if (drawn_ != LogStorage::none) __builtin_prefetch(&pool_[drawn_]);
        if (id == LogStorage::none || pool_[id].bytes == 0 || pool_[id].is_pending()) return;
        scores_.add(owner_.score_now(pool_[id]), pool_[id].bytes, entries / 4);
    }

    // The sample's limit. Where it is not known, or none of those that are next is so low, it is the lowest
    // score of these, if the newcomer is worth as much.
    double eviction_limit(const Entry& newcomer) const override {
        if (log_.scattered_bytes() > log_.size_bytes() / scattered_divisor) return lowest_of_all;
        const double limit = scores_.is_filled() ? scores_.limit() : lowest_of_all;
        const double most = owner_.score_now(newcomer);
        if (most <= limit) return limit;
        double lowest = -lowest_of_all;
        log_.for_oldest(most_passed, [&](std::uint32_t id) {
            if (!pool_[id].is_pending()) lowest = std::min(lowest, owner_.score_now(pool_[id]));
        });
        return lowest <= most ? std::max(limit, lowest) : limit;
    }
    bool make_room(Entry& newcomer, double limit) override {
        return widen_gap(newcomer, limit) && place(newcomer);
    }
    void make_room_ahead(std::uint64_t bytes) override {
        Entry none;  // worth less than any
        none.bytes = bytes;
        if (bytes <= log_.size_bytes() && !fits(bytes)) (void)widen_gap(none, eviction_limit(none));
    }

    bool resize(std::uint64_t bytes, const std::function<void(Entry&)>& evict) override {
        return log_.resize(bytes, [&](std::uint32_t id) { evict(pool_[id]); });
    }
    bool has_grown() const noexcept override { return log_.has_grown(); }
    std::uint64_t size_bytes() const noexcept override { return log_.size_bytes(); }
    std::uint64_t free_bytes() const noexcept override { return log_.free_bytes(); }
    std::uint64_t taken_bytes(const Entry& entry) const noexcept override {
        return log_.taken_bytes(EntryPlace::record(entry), EntryPlace::id(entry));
    }
    void check_invariants() const override { log_.check_invariants(); }

  private:
    // Evicts or keeps the oldest entries until the newcomer fits, within limits. \return whether it does
    bool widen_gap(const Entry& newcomer, double limit) {
        const LogStorage::Payload payload = EntryPlace::payload(newcomer);
        const std::uint64_t most_moved = most_moved_bytes + most_moved_per_byte * payload.bytes;
        std::uint64_t moved = 0;
        for (std::uint32_t passed = 0; passed < most_passed && moved < most_moved; ++passed) {
            const std::uint32_t id = log_.oldest();
            if (id == LogStorage::none) break;
            if (id != LogStorage::ring_end) {
                Entry& oldest = pool_[id];
                if (!oldest.is_pending() && owner_.score_now(oldest) <= limit) {
                    owner_.evict(oldest);
                } else {
                    moved += oldest.bytes;
                    if (!log_.keep_oldest()) return false;
                }
            }
            if (log_.fits(payload)) return true;
        }
        return log_.fits(payload);
    }

    LogStorage::Payload payload_of(std::uint32_t id) const noexcept override {
        return EntryPlace::payload(pool_[id]);
    }
    bool is_pinned(std::uint32_t id) const noexcept override { return pool_[id].is_pending(); }
    void moved(std::uint32_t id, LogStorage::Place place) noexcept override {
        EntryPlace::record(pool_[id]) = place.number;
        EntryPlace::set(pool_[id], place.data);
    }

    EntryPool& pool_;
    EntryOwner& owner_;
    LogStorage log_;
    ScoreSample scores_;
    std::uint64_t unsampled_ = 0;             ///< admissions since an entry was drawn
    std::uint32_t drawn_ = LogStorage::none;  ///< the next entry of the sample
    Xorshift random_;
};

}  // namespace

std::unique_ptr<EntryStorage> make_entry_log(std::uint64_t bytes, const RangeCacheConfig& config,
                                             EntryPool& pool, EntryOwner& owner) {
    return std::make_unique<EntryLog>(bytes, config, pool, owner);
}

}  // namespace nearfetch
