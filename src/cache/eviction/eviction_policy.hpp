// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eviction policies: what cached items are worth.
//
// A policy sees items, neither ranges nor memory. It is called on the miss path only. At a hit the cache
// applies the policy's TouchRule inline. That suffices for recency (`last`), frequency, GDSF's clock and
// decaying frequencies. Who has the lowest score is found by samples: of
// an index (slot_sampler.hpp), or of all items (score_sample.hpp).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nearfetch {

/// What a policy knows of a cached item. The cache derives its entries from it.
struct EvictionItem {
    std::uint64_t last = 0;       ///< number of the last get that used it (x.last of 001)
    double weight = 0;            ///< by the TouchRule
    std::uint64_t bytes = 0;      ///< payload
    std::uint32_t frequency = 0;  ///< gets that used it since its admission, including that one
    float benefit = 1;            ///< what a use of it saves, relative to other items
};

/// The effect of a use on an item's weight: weight = weight * keep + add.
struct TouchRule {
    double keep = 0;
    double add = 0;
};

/// A policy's view of its cache.
class EvictionView {
  public:
    /// Items that are cached or in flight.
    virtual std::uint64_t item_count() const = 0;
    /// Slots of the index.
    virtual std::uint64_t slot_count() const = 0;
    /// Divides the weights of all items by 2^octaves. O(items).
    virtual void scale_weights(int octaves) = 0;
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

  protected:
    ~EvictionView() = default;
};

class EvictionPolicy {
  public:
    virtual ~EvictionPolicy() = default;

    /// An item of that key will soon arrive(): what that will read is fetched into the processor's cache.
    virtual void expect(std::uint64_t /*key*/) noexcept {}
    /// A miss asks to admit `item`: sets its weight.
    virtual void arrive(EvictionItem& item) = 0;
    /// The item was not admitted.
    virtual void rejected(const EvictionItem&) noexcept {}
    /// The item is removed: evicted to make room, or invalidated.
    virtual void erase(const EvictionItem& /*item*/, bool /*evicted*/) noexcept {}

    /// The item's score; the lowest is evicted first.
    virtual double score(const EvictionItem& item) const = 0;
    /// The same where slots of the index are what is short, and not bytes.
    virtual double slot_score(const EvictionItem& item) const { return score(item); }
    /// Whether a newcomer must be worth more than what would be evicted for it.
    virtual bool weighs_newcomers() const noexcept { return false; }

    const TouchRule& touch_rule() const noexcept { return touch_rule_; }

  protected:
    explicit EvictionPolicy(EvictionView& view) : view_(view) {}

    EvictionView& view_;
    TouchRule touch_rule_;
};

/// Makes the policy of that name (see eviction_policy_names()).
/// \throws Error for an unknown name, with the allowed ones
std::unique_ptr<EvictionPolicy> make_eviction_policy(std::string_view name, EvictionView& view);

/// Whether the policy scores the free space beside an item, which only a best-fit buffer has.
bool scores_free_space(std::string_view name);

/// The names of all policies, the default first.
std::vector<std::string_view> eviction_policy_names();

}  // namespace nearfetch
