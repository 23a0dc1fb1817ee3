// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eviction policies: who is evicted when there is no room.
//
// A policy sees items, neither ranges nor pages. It is called on the miss path only. At a hit the cache
// applies the policy's TouchRule inline. That suffices for recency (`last`), frequency, GDSF's clock and
// decaying frequencies.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nearfetch {

/// What a policy knows of a cached item. The cache derives its entries from it and writes all but `position`.
struct EvictionItem {
    static constexpr std::uint32_t nowhere = 0xffffffff;

    std::uint64_t last = 0;            ///< number of the last get that used it (x.last of 001)
    double weight = 0;                 ///< by the TouchRule
    std::uint32_t frequency = 0;       ///< gets that used it since its admission, including that one
    std::uint32_t position = nowhere;  ///< where the policy keeps the item
    std::uint64_t bytes = 0;           ///< payload
    double benefit = 1;                ///< what a use of it saves, relative to other items

    /// Its least size in the buffer: whole CPU cache lines.
    std::uint64_t footprint_bytes() const noexcept { return (bytes + 63) & ~std::uint64_t{63}; }
};

/// The effect of a use on an item's weight: weight = weight * keep + add.
struct TouchRule {
    double keep = 0;
    double add = 0;
};

/// A policy's view of its cache.
class EvictionView {
  public:
    /// A slot of the index as a circular array, for policies that sample it.
    struct Slot {
        bool occupied = false;
        EvictionItem* item = nullptr;  ///< nullptr if it holds nothing evictable
    };

    virtual std::uint64_t slot_count() const = 0;
    virtual Slot slot(std::uint64_t position) const = 0;
    /// The item's hashed identity, which is valid beyond its eviction.
    virtual std::uint64_t key(const EvictionItem& item) const = 0;
    /// Gets so far, including the present one (i of 001).
    virtual std::uint64_t gets() const = 0;
    /// Average size of the gets so far (C_w.ags of 001).
    virtual double average_get_bytes() const = 0;
    /// Free bytes of the buffer adjacent to the item (d_c of 001).
    virtual std::uint64_t adjacent_free_bytes(const EvictionItem& item) const = 0;
    /// The application's score of the item.
    virtual double application_score(const EvictionItem& item) const = 0;
    /// Bytes of the whole buffer.
    virtual std::uint64_t capacity_bytes() const = 0;

  protected:
    ~EvictionView() = default;
};

/// Candidates for eviction, the first to go first, and the cost of the search.
struct EvictionCandidates {
    std::vector<EvictionItem*> items;
    std::uint64_t visited = 0;
    std::uint64_t nonempty = 0;

    void clear() noexcept {
        items.clear();
        visited = nonempty = 0;
    }
};

class EvictionPolicy {
  public:
    virtual ~EvictionPolicy() = default;

    /// A miss asks to admit `item`: sets its weight from the ghost memory.
    virtual void arrive(EvictionItem& item) = 0;
    /// The item was not admitted.
    virtual void rejected(const EvictionItem&) noexcept {}
    /// The item is cached and may be evicted.
    virtual void insert(EvictionItem& item) = 0;
    /// The item is removed: evicted to make room, or invalidated.
    virtual void erase(EvictionItem& item, bool evicted) noexcept = 0;

    /// The item's score; the lowest is evicted first. Scores compare only at the same moment.
    virtual double score(const EvictionItem& item) const = 0;
    /// Appends up to `count` distinct items in eviction order.
    virtual void candidates(std::size_t count, EvictionCandidates& out) = 0;

    /// Whether it samples the slots of the index, and counts empty ones.
    virtual bool visits_slots() const noexcept { return false; }
    /// Whether scores add up, and a newcomer must be worth more than its victims.
    virtual bool weighs_newcomers() const noexcept { return false; }
    /// Score of a free byte (only if weighs_newcomers()).
    virtual double score_per_byte() const { return 0; }
    /// Reports the victims' score, and the bytes that their eviction gave.
    virtual void displaced(double /*score*/, std::uint64_t /*bytes*/) {}

    const TouchRule& touch_rule() const noexcept { return touch_rule_; }

  protected:
    explicit EvictionPolicy(const EvictionView& view) : view_(view) {}

    const EvictionView& view_;
    TouchRule touch_rule_;
};

struct EvictionOptions {
    std::uint32_t sample_entries = 16;  ///< M of 001
    std::uint64_t seed = 1;
};

/// Makes the policy of that name (see eviction_policy_names()).
/// \throws Error for an unknown name, with the allowed ones
std::unique_ptr<EvictionPolicy> make_eviction_policy(std::string_view name, const EvictionView& view,
                                                     const EvictionOptions& options);

/// The names of all policies, the default first.
std::vector<std::string_view> eviction_policy_names();

}  // namespace nearfetch
