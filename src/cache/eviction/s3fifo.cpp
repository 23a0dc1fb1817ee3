// SPDX-License-Identifier: Apache-2.0
//
// S3-FIFO (Yang et al., SOSP 2023). Newcomers enter a small queue (a tenth of the bytes). Items that are used
// there move to the main queue. Keys that leave the small queue are remembered as ghosts; if they return they
// enter the main queue. Queues are bounded in bytes, as in the authors' byte-sized variant.

#include <algorithm>
#include <vector>

#include "base/assert.hpp"
#include "cache/eviction/ghost_memory.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

class S3FifoPolicy final : public EvictionPolicy {
  public:
    explicit S3FifoPolicy(const EvictionView& view) : EvictionPolicy(view) {
        nodes_.resize(2);
        for (std::uint32_t queue : {small, main})
            nodes_[queue].newer = nodes_[queue].older = queue;
    }

    void arrive(EvictionItem& item) override {
        ghosts_.set_capacity(view_.slot_count());
        // A ghost lives for as many departures as the main queue has items.
        const std::optional<double> left = ghosts_.recall(view_.key(item));
        item.weight = left && departures_ - *left <= std::max(1.0, static_cast<double>(count_[main])) ? 1 : 0;
        touch_rule_ = {1.0, 0.0};
    }

    void insert(EvictionItem& item) override {
        if (spare_.empty()) {
            nodes_.emplace_back();
            spare_.reserve(nodes_.capacity());  // so that erase() needs no memory
            spare_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
        }
        item.position = spare_.back();
        spare_.pop_back();
        nodes_[item.position].item = &item;
        nodes_[item.position].seen = item.frequency;
        push_newest(item.weight > 0 ? main : small, item.position);
    }

    void erase(EvictionItem& item, bool evicted) noexcept override {
        if (evicted && nodes_[item.position].queue == small) ghosts_.remember(view_.key(item), ++departures_);
        take(item.position);
        spare_.push_back(item.position);
        item.position = EvictionItem::nowhere;
    }

    double score(const EvictionItem& item) const override {
        const Node& node = nodes_[item.position];
        return (node.queue == main ? most_uses + 1 : 0) + uses(node);
    }

    void candidates(std::size_t count, EvictionCandidates& out) override {
        // Allocated first: removed items have to be reinserted.
        const std::uint64_t most = std::min<std::uint64_t>(count, count_[small] + count_[main]);
        std::vector<std::uint32_t> taken;
        taken.reserve(most);
        out.items.reserve(out.items.size() + most);
        while (taken.size() < count && count_[small] + count_[main] > 0) {
            ++out.visited;
            ++out.nonempty;
            const bool from_small = count_[main] == 0 || bytes_[small] * 10 >= view_.capacity_bytes();
            const std::uint32_t queue = from_small && count_[small] > 0 ? small : main;
            const std::uint32_t oldest = nodes_[queue].newer;
            Node& node = nodes_[oldest];
            const std::uint32_t used = uses(node);
            take(oldest);
            if (queue == small && used > 1) {
                node.seen = node.item->frequency;
                push_newest(main, oldest);
            } else if (queue == main && used > 0) {
                node.seen = node.item->frequency - (used - 1);
                push_newest(main, oldest);
            } else {
                node.queue = queue;
                taken.push_back(oldest);
                out.items.push_back(node.item);
            }
        }
        for (auto node = taken.rbegin(); node != taken.rend(); ++node)
            push_oldest(nodes_[*node].queue, *node);
    }

  private:
    static constexpr std::uint32_t small = 0, main = 1;
    static constexpr std::uint32_t most_uses = 3;

    /// nodes_[small] and nodes_[main] are sentinels: `newer` of a sentinel is the oldest item.
    struct Node {
        EvictionItem* item = nullptr;
        std::uint32_t seen = 0;  ///< item->frequency up to which uses were counted
        std::uint32_t queue = small;
        std::uint32_t newer = 0;
        std::uint32_t older = 0;
    };

    std::uint32_t uses(const Node& node) const noexcept {
        return std::min(node.item->frequency - node.seen, most_uses);
    }
    void link(std::uint32_t queue, std::uint32_t at, std::uint32_t older, std::uint32_t newer) noexcept {
        Node& node = nodes_[at];
        node.queue = queue;
        node.older = older;
        node.newer = newer;
        nodes_[older].newer = at;
        nodes_[newer].older = at;
        ++count_[queue];
        bytes_[queue] += node.item->footprint_bytes();
    }
    void push_newest(std::uint32_t queue, std::uint32_t at) noexcept {
        link(queue, at, nodes_[queue].older, queue);
    }
    void push_oldest(std::uint32_t queue, std::uint32_t at) noexcept {
        link(queue, at, queue, nodes_[queue].newer);
    }
    void take(std::uint32_t at) noexcept {
        Node& node = nodes_[at];
        nodes_[node.older].newer = node.newer;
        nodes_[node.newer].older = node.older;
        --count_[node.queue];
        bytes_[node.queue] -= node.item->footprint_bytes();
    }

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> spare_;
    std::uint64_t count_[2] = {0, 0};
    std::uint64_t bytes_[2] = {0, 0};
    GhostMemory ghosts_;
    double departures_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_s3fifo_policy(const EvictionView& view, const EvictionOptions&) {
    return std::make_unique<S3FifoPolicy>(view);
}

}  // namespace nearfetch
