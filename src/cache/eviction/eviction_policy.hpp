// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eviction policies: who leaves when there is no room.
//
// A policy sees items, not entries: this header knows neither ranges nor pages, so that a cache of fixed
// pages can use the same policies. It is asked on the miss path only. A hit does not call it; the cache
// itself does what the policy's TouchRule says, which is enough for recency (`last`), frequency, GDSF's clock
// and a decaying frequency.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nearfetch {

/// What a policy knows of a cached item; the cache derives its entries from it. Cache writes all but
/// `position`.
struct EvictionItem {
    static constexpr std::uint32_t nowhere = 0xffffffff;

    std::uint64_t last = 0;       ///< index of the last get that used it (x.last of 001)
    double weight = 0;            ///< as the TouchRule says
    std::uint32_t frequency = 0;  ///< gets that used it since it was admitted, the admitting one included
    std::uint32_t position = nowhere;  ///< the policy's own: where it keeps the item
    std::uint64_t bytes = 0;           ///< payload
    double worth = 1;                  ///< what a use of it saves, against other items

    /// The least that it occupies in the buffer: whole CPU cache lines.
    std::uint64_t footprint_bytes() const noexcept { return (bytes + 63) & ~std::uint64_t{63}; }
};

/// What each use of an item does to its weight: weight = weight * keep + add.
struct TouchRule {
    double keep = 0;
    double add = 0;
};

/// What a policy may ask of the cache it serves.
class EvictionView {
  public:
    /// One slot of the index seen as a circular array, for policies that sample it.
    struct Slot {
        bool occupied = false;
        EvictionItem* item = nullptr;  ///< nullptr when nothing there may be evicted
    };

    virtual std::uint64_t slot_count() const = 0;
    virtual Slot slot(std::uint64_t position) const = 0;
    /// The item's identity, which outlives its eviction (mixed bits).
    virtual std::uint64_t key(const EvictionItem& item) const = 0;
    /// Gets so far, the running one included (i of 001).
    virtual std::uint64_t gets() const = 0;
    /// Average size of the gets so far (C_w.ags of 001).
    virtual double average_get_bytes() const = 0;
    /// Free bytes of the buffer adjacent to the item (d_c of 001).
    virtual std::uint64_t adjacent_free_bytes(const EvictionItem& item) const = 0;
    /// What the application says the item is worth.
    virtual double application_score(const EvictionItem& item) const = 0;
    /// Bytes of the whole buffer.
    virtual std::uint64_t capacity_bytes() const = 0;

  protected:
    ~EvictionView() = default;
};

/// Candidates for eviction, those to leave first in front, and what finding them cost.
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

    /// A miss asks to admit `item`: set its weight from what is remembered of it.
    virtual void arrive(EvictionItem& item) = 0;
    /// The item was not admitted after all; it goes away.
    virtual void rejected(const EvictionItem&) noexcept {}
    /// The item is cached: it may be evicted from now on.
    virtual void insert(EvictionItem& item) = 0;
    /// An inserted item goes away: evicted to make room, or forgotten (stale, overwritten).
    virtual void erase(EvictionItem& item, bool evicted) noexcept = 0;

    /// What the item is worth; the least goes first. Only comparable within one moment.
    virtual double score(const EvictionItem& item) const = 0;
    /// Appends up to `count` distinct inserted items in the order in which they should leave.
    virtual void candidates(std::size_t count, EvictionCandidates& out) = 0;

    /// Whether it looks for candidates in the slots of the index, and counts the empty ones.
    virtual bool visits_slots() const noexcept { return false; }
    /// True when scores add up and a newcomer has to be worth more than what it displaces.
    virtual bool weighs_newcomers() const noexcept { return false; }
    /// What a free byte is worth, in units of score (only asked when weighs_newcomers()).
    virtual double score_per_byte() const { return 0; }
    /// What would be lost (and won) is known: what was evicted for a newcomer, and how many bytes that gave.
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

/// The policy of that name (see eviction_policy_names()).
/// \throws Error naming the allowed ones when there is none of that name
std::unique_ptr<EvictionPolicy> make_eviction_policy(std::string_view name, const EvictionView& view,
                                                     const EvictionOptions& options);

/// The names of all policies, the default first.
std::vector<std::string_view> eviction_policy_names();

}  // namespace nearfetch
