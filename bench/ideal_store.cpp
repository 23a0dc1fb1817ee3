// SPDX-License-Identifier: Apache-2.0
#include "ideal_store.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "cache/eviction/eviction_policy.hpp"
#include "cache/range_cache/cuckoo_index.hpp"
#include "common/random.hpp"
#include "replay/replay.hpp"

namespace nearfetch::bench {

namespace {

struct SameGet {
    std::size_t operator()(const TraceGet& get) const noexcept {
        return CuckooIndex::mix(get.target, get.offset) ^ get.size;
    }
    bool operator()(const TraceGet& a, const TraceGet& b) const noexcept {
        return a.offset == b.offset && a.size == b.size && a.target == b.target;
    }
};

/// The number of each get's range, by first occurrence; equal gets have equal numbers.
std::vector<std::uint32_t> numbers_of(const Trace& trace, std::uint32_t& distinct) {
    std::unordered_map<TraceGet, std::uint32_t, SameGet, SameGet> seen;
    std::vector<std::uint32_t> numbers;
    numbers.reserve(trace.gets.size());
    for (const TraceGet& get : trace.gets)
        numbers.push_back(seen.try_emplace(get, static_cast<std::uint32_t>(seen.size())).first->second);
    distinct = static_cast<std::uint32_t>(seen.size());
    return numbers;
}

class IdealStore final : EvictionView {
  public:
    IdealStore(const Trace& trace, const NetworkModel& network, std::uint64_t capacity_bytes,
               const std::string& policy)
        : trace_(trace),
          network_(network),
          benefit_(benefit_of(network)),
          capacity_(capacity_bytes),
          policy_(make_eviction_policy(policy, *this)) {
        std::uint32_t distinct = 0;
        numbers_ = numbers_of(trace, distinct);
        items_.resize(distinct);
    }

    StoreOutcome run() {
        for (; next_ < trace_.gets.size(); ++next_) {
            Item& item = items_[numbers_[next_]];
            if (item.place != nowhere) {
                ++outcome_.hits;
                item.last = next_ + 1;
                ++item.frequency;
                item.weight = item.weight * policy_->touch_rule().keep + policy_->touch_rule().add;
            } else {
                outcome_.network_ns += network_.get_ns(trace_.gets[next_].size);
                admit(item);
            }
        }
        return outcome_;
    }

  private:
    static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    struct Item : EvictionItem {
        std::size_t place = nowhere;  ///< in cached_
        std::uint64_t admission = 0;
    };
    /// Scores mostly rise. So a score that was right once is corrected when it is the lowest.
    struct Ranked {
        double score;
        Item* item;
        std::uint64_t admission;
        bool operator<(const Ranked& other) const noexcept { return score > other.score; }
    };

    void admit(Item& item) {
        const TraceGet& get = trace_.gets[next_];
        if (get.size > capacity_) return;
        item.last = next_ + 1;
        item.frequency = 1;
        item.bytes = get.size;
        item.benefit = benefit_ ? static_cast<float>(benefit_(get.target, get.size)) : 1.0F;
        policy_->arrive(item);
        if (!make_room(item)) {
            policy_->rejected(item);
            return;
        }
        item.place = cached_.size();
        item.admission = next_;
        cached_.push_back(&item);
        ranked_.push({policy_->score(item), &item, next_});
        used_ += item.bytes;
    }

    bool make_room(const Item& item) {
        std::vector<Item*> victims;
        double lost = 0;  // by bytes
        std::uint64_t freed = 0;
        while (used_ - freed + item.bytes > capacity_) {
            Item& victim = lowest();
            remove(victim);
            victims.push_back(&victim);
            lost += policy_->score(victim) * static_cast<double>(victim.bytes);
            freed += victim.bytes;
        }
        const bool worth = victims.empty() || !policy_->weighs_newcomers() ||
                           policy_->score(item) * static_cast<double>(freed) > lost;
        for (Item* victim : victims) {
            if (worth) {
                used_ -= victim->bytes;
                policy_->erase(*victim, true);
                continue;
            }
            victim->place = cached_.size();
            cached_.push_back(victim);
            ranked_.push({policy_->score(*victim), victim, victim->admission});
        }
        return worth;
    }

    // The lowest of the order, or of some at random: scores fall with time, too.
    Item& lowest() {
        Item* found = nullptr;
        double score = 0;
        while (found == nullptr) {
            const Ranked top = ranked_.top();
            if (top.item->place == nowhere || top.item->admission != top.admission) {
                ranked_.pop();
            } else if (score = policy_->score(*top.item); score > top.score) {
                ranked_.pop();
                ranked_.push({score, top.item, top.admission});
            } else {
                found = top.item;
            }
        }
        for (std::size_t n = 0; n < drawn; ++n) {
            Item* const other = cached_[random_.next() % cached_.size()];
            if (const double its = policy_->score(*other); its < score) {
                found = other;
                score = its;
            }
        }
        return *found;
    }

    void remove(Item& item) {
        cached_[item.place] = cached_.back();
        cached_[item.place]->place = item.place;
        cached_.pop_back();
        item.place = nowhere;
    }

    // EvictionView.
    std::uint64_t item_count() const override { return cached_.size(); }
    std::uint64_t slot_count() const override { return items_.size(); }
    void scale_weights(int octaves) override {
        for (Item& item : items_)
            item.weight = std::ldexp(item.weight, -octaves);
    }
    std::uint64_t key(const EvictionItem& item) const override {
        return CuckooIndex::mix(0,
                                static_cast<std::uint64_t>(static_cast<const Item*>(&item) - items_.data()));
    }
    std::uint64_t gets() const override { return next_ + 1; }
    double average_get_bytes() const override { return 1; }
    std::uint64_t adjacent_free_bytes(const EvictionItem&) const override { return 0; }
    double application_score(const EvictionItem&) const override { return 0; }

    static constexpr std::size_t drawn = 8;

    const Trace& trace_;
    const NetworkModel& network_;
    BenefitFunction benefit_;
    std::uint64_t capacity_;
    std::vector<std::uint32_t> numbers_;
    std::vector<Item> items_;
    std::vector<Item*> cached_;
    std::priority_queue<Ranked> ranked_;
    apps::Random random_{1};
    std::unique_ptr<EvictionPolicy> policy_;
    std::uint64_t used_ = 0;
    std::size_t next_ = 0;
    StoreOutcome outcome_;
};

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t compared = 64;

/// For each get the place of the next equal one.
std::vector<std::uint64_t> next_uses(const std::vector<std::uint32_t>& numbers, std::uint32_t distinct) {
    std::vector<std::uint64_t> later(distinct, never), next(numbers.size());
    for (std::size_t at = numbers.size(); at-- > 0;) {
        next[at] = later[numbers[at]];
        later[numbers[at]] = at;
    }
    return next;
}

}  // namespace

StoreOutcome ideal_store(const Trace& trace, const NetworkModel& network, std::uint64_t capacity_bytes,
                         const std::string& policy) {
    return IdealStore(trace, network, capacity_bytes, policy).run();
}

StoreOutcome belady_size(const Trace& trace, const NetworkModel& network, std::uint64_t capacity_bytes) {
    std::uint32_t distinct = 0;
    const std::vector<std::uint32_t> numbers = numbers_of(trace, distinct);
    const std::vector<std::uint64_t> next = next_uses(numbers, distinct);
    struct Cached {
        std::uint64_t next;
        std::uint32_t number;
        std::uint32_t bytes;
        std::uint64_t saved_ns;
    };
    constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> position(distinct, nowhere);
    std::vector<Cached> cached;
    apps::Random random(1);
    std::uint64_t used = 0;
    StoreOutcome outcome;
    const auto evict = [&](std::size_t at) {
        used -= cached[at].bytes;
        position[cached[at].number] = nowhere;
        if (at + 1 != cached.size()) {
            cached[at] = cached.back();
            position[cached[at].number] = at;
        }
        cached.pop_back();
    };
    for (std::size_t now = 0; now < numbers.size(); ++now) {
        const TraceGet& get = trace.gets[now];
        // The cost of keeping it: bytes times the gets until it saves something.
        const auto cost = [now](const Cached& item) {
            return item.next == never ? std::numeric_limits<double>::infinity()
                                      : static_cast<double>(item.next - now) * item.bytes /
                                            static_cast<double>(std::max<std::uint64_t>(item.saved_ns, 1));
        };
        if (const std::size_t at = position[numbers[now]]; at != nowhere) {
            ++outcome.hits;
            cached[at].next = next[now];
            if (next[now] == never) evict(at);
            continue;
        }
        const Cached item{next[now], numbers[now], get.size, network.get_ns(get.size)};
        outcome.network_ns += item.saved_ns;
        if (item.next == never || item.bytes > capacity_bytes) continue;
        bool admitted = true;
        while (admitted && used + item.bytes > capacity_bytes) {
            std::size_t worst = 0;
            for (std::size_t n = 0; n < std::min(compared, cached.size()); ++n) {
                const std::size_t at = cached.size() <= compared ? n : random.next() % cached.size();
                if (n == 0 || cost(cached[at]) > cost(cached[worst])) worst = at;
            }
            admitted = cost(cached[worst]) > cost(item);
            if (admitted) evict(worst);
        }
        if (!admitted) continue;
        position[item.number] = cached.size();
        cached.push_back(item);
        used += item.bytes;
    }
    return outcome;
}

}  // namespace nearfetch::bench
