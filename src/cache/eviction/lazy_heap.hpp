// SPDX-License-Identifier: Apache-2.0
#pragma once

// A priority queue whose ranks may rise without notice.
//
// A hit raises an item's rank but may not reorder a queue. So the queue keeps the rank of the last insertion,
// a lower bound. It corrects the rank when the item comes to the front. The front item with a correct rank is
// the minimum. An item knows its position (EvictionItem::position), so any item can be removed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "cache/eviction/eviction_policy.hpp"

namespace nearfetch {

class LazyHeap {
  public:
    void insert(EvictionItem& item, double rank) {
        nodes_.push_back({rank, &item});
        item.position = static_cast<std::uint32_t>(nodes_.size() - 1);
        rise(nodes_.size() - 1);
    }

    void erase(EvictionItem& item) noexcept {
        NF_EXPECT(item.position < nodes_.size() && nodes_[item.position].item == &item);
        const std::size_t at = item.position;
        item.position = EvictionItem::nowhere;
        const Node moved = nodes_.back();
        nodes_.pop_back();
        if (at == nodes_.size()) return;
        put(at, moved);
        rise(at);
        sink(moved.item->position);
    }

    /// The item with the lowest current rank, or nullptr. `rank(item)` is at least what insert() was given.
    template <class Rank>
    EvictionItem* front(Rank&& rank) {
        if (nodes_.empty()) return nullptr;
        for (;;) {
            Node& top = nodes_.front();
            const double now = rank(*top.item);
            if (now <= top.rank) return top.item;
            top.rank = now;
            sink(0);
        }
    }

    /// Appends the `count` lowest items in order.
    template <class Rank>
    void least(std::size_t count, std::vector<EvictionItem*>& out, Rank&& rank) {
        const std::size_t begin = out.size();
        taken_.clear();
        out.reserve(begin + std::min(count, nodes_.size()));
        taken_.reserve(std::min(count, nodes_.size()));
        while (out.size() - begin < count) {
            EvictionItem* item = front(rank);
            if (item == nullptr) break;
            taken_.push_back(nodes_.front().rank);
            erase(*item);
            out.push_back(item);
        }
        for (std::size_t i = 0; i < taken_.size(); ++i)
            insert(*out[begin + i], taken_[i]);
    }

    /// Appends the lowest item and others that are low by their recorded ranks. Much cheaper.
    template <class Rank>
    void nearly_least(std::size_t count, std::vector<EvictionItem*>& out, Rank&& rank) {
        if (count == 0 || front(rank) == nullptr) return;
        for (std::size_t at = 0; at < count && at < nodes_.size(); ++at)
            out.push_back(nodes_[at].item);
    }

    /// Applies an increasing function to all ranks.
    template <class Function>
    void transform(Function&& function) {
        for (Node& node : nodes_)
            node.rank = function(*node.item, node.rank);
    }

    std::size_t size() const noexcept { return nodes_.size(); }
    /// The item at a heap position, in no particular order.
    EvictionItem* at(std::size_t position) const noexcept { return nodes_[position].item; }

  private:
    struct Node {
        double rank;
        EvictionItem* item;
    };

    void put(std::size_t at, const Node& node) noexcept {
        nodes_[at] = node;
        node.item->position = static_cast<std::uint32_t>(at);
    }
    void rise(std::size_t at) noexcept {
        const Node node = nodes_[at];
        while (at > 0 && node.rank < nodes_[(at - 1) / 4].rank) {
            put(at, nodes_[(at - 1) / 4]);
            at = (at - 1) / 4;
        }
        put(at, node);
    }
    void sink(std::size_t at) noexcept {
        const Node node = nodes_[at];
        for (;;) {
            const std::size_t first = at * 4 + 1;
            if (first >= nodes_.size()) break;
            std::size_t least_child = first;
            for (std::size_t child = first + 1; child < first + 4 && child < nodes_.size(); ++child)
                if (nodes_[child].rank < nodes_[least_child].rank) least_child = child;
            if (nodes_[least_child].rank >= node.rank) break;
            put(at, nodes_[least_child]);
            at = least_child;
        }
        put(at, node);
    }

    std::vector<Node> nodes_;
    std::vector<double> taken_;
};

}  // namespace nearfetch
