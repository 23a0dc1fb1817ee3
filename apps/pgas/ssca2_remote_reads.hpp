// SPDX-License-Identifier: Apache-2.0
#pragma once

// SSCA2's kernel 4 without calls (ssca2.cpp): one search at a time, with all ranks. A level's vertices are
// distributed evenly over the ranks, independent of their owners, because the vertices of largest degree are
// all at one rank. So a search reads remote adjacency lists, element by element, between atomics by which
// ranks mark vertices and count paths. With sequentially consistent atomics a cache is invalidated at each
// of them; with relaxed ones it is not. The barriers between levels order everything else.

#include <utility>
#include <vector>

#include "pgas/graph.hpp"
#include "pgas/per_vertex.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

class RemoteReads {
  public:
    RemoteReads(const Graph& graph, const PerVertex<double>& centrality, std::memory_order atomics)
        : blocks_(graph.vertices()),
          order_(atomics),
          first_(blocks_),
          count_(blocks_),
          depth_(blocks_),
          paths_(blocks_),
          dependency_(blocks_),
          centrality_(centrality),
          queue_(allocate<std::int64_t>(static_cast<std::size_t>(graph.vertices())).at_rank(0)),
          ends_(allocate<std::int64_t>(static_cast<std::size_t>(graph.vertices()) + 2).at_rank(0)),
          neighbours_(allocate<std::int64_t>(static_cast<std::size_t>(graph.most_edges(blocks_.block())))) {
        std::int64_t place = 0;
        for (std::int64_t v = blocks_.begin(); v < blocks_.end(); ++v) {
            first_[v] = place;
            count_[v] = graph.degree(v);
            for (const std::int64_t w : graph.neighbours(v))
                neighbours_[place++] = w;
        }
    }

    void run(std::int64_t sources) {
        for (std::int64_t source = 0; source < sources; ++source)
            gather(source, search(source));
    }
    /// Each atomic is waited for.
    LeastTraffic least() const {
        return {.get_messages = remote_atomics_,
                .get_bytes = 8 * remote_atomics_,
                .round_trips = remote_atomics_};
    }

  private:
    static constexpr std::int64_t unseen = -1;

    GlobalPtr<std::int64_t> list(std::int64_t v) const {
        return neighbours_.at_rank(blocks_.owner(v)) + static_cast<std::int64_t>(first_[v]);
    }
    /// Adds to a shared number. \return its value before
    std::int64_t add(GlobalPtr<std::int64_t> to, std::int64_t amount) {
        note_atomic(to.rank());
        return atomic_fetch_add(to, amount, order_);
    }
    /// Marks a vertex at that depth if it is new. \return its depth, and whether it is new
    std::pair<std::int64_t, bool> find(std::int64_t v, std::int64_t at_depth) {
        note_atomic(blocks_.owner(v));
        std::int64_t seen = unseen;
        const bool is_new = atomic_compare_exchange(depth_.at(v), seen, at_depth, order_);
        return {is_new ? at_depth : seen, is_new};
    }
    void note_atomic(Rank where) { remote_atomics_ += where != rank() ? 1 : 0; }
    /// Calls visit(v) for the calling rank's share of the queue's [begin, end).
    template <class Visit>
    void for_each_share(std::int64_t begin, std::int64_t end, Visit&& visit) const {
        const std::int64_t size = end - begin;
        for (std::int64_t i = begin + size * rank() / ranks(); i < begin + size * (rank() + 1) / ranks(); ++i)
            visit(static_cast<std::int64_t>(queue_[i]));
    }

    void reset(std::int64_t source) {
        for (std::int64_t v = blocks_.begin(); v < blocks_.end(); ++v) {
            depth_[v] = v == source ? 0 : unseen;
            paths_[v] = v == source ? 1 : 0;
            dependency_[v] = 0;
        }
        if (rank() == 0) {
            queue_[0] = source;
            ends_[0] = 1;
            for (std::int64_t level = 1; level < blocks_.vertices() + 2; ++level)
                ends_[level] = 0;
        }
        barrier();
    }

    /// Searches from a source. \return the ends of its levels in the queue
    std::vector<std::int64_t> search(std::int64_t source) {
        reset(source);
        std::vector<std::int64_t> ends{0, 1};
        for (std::size_t level = 0; ends[level] < ends[level + 1]; ++level) {
            const auto next = static_cast<std::int64_t>(level) + 1;
            for_each_share(ends[level], ends[level + 1], [&](std::int64_t v) {
                const std::int64_t paths = paths_[v];
                const std::int64_t degree = count_[v];
                const auto list = this->list(v);
                for (std::int64_t i = 0; i < degree; ++i) {
                    const std::int64_t w = list[i];
                    const auto [depth, is_new] = find(w, next);
                    if (is_new) queue_[ends[level + 1] + add(ends_ + next, 1)] = w;
                    if (depth == next) {
                        note_atomic(blocks_.owner(w));
                        atomic_add(paths_.at(w), paths, order_);
                    }
                }
            });
            barrier();
            ends.push_back(ends.back() + ends_[next]);
        }
        return ends;
    }

    /// Sums dependencies from the deepest level on.
    void gather(std::int64_t source, const std::vector<std::int64_t>& ends) {
        for (std::size_t level = ends.size() - 2; level-- > 0;) {
            for_each_share(ends[level], ends[level + 1], [&](std::int64_t v) {
                const auto paths = static_cast<double>(static_cast<std::int64_t>(paths_[v]));
                const std::int64_t degree = count_[v];
                const auto list = this->list(v);
                double sum = 0;
                for (std::int64_t i = 0; i < degree; ++i) {
                    const std::int64_t w = list[i];
                    if (depth_[w] != static_cast<std::int64_t>(level) + 1) continue;
                    sum += paths / static_cast<double>(static_cast<std::int64_t>(paths_[w])) *
                           (1 + dependency_[w]);
                }
                dependency_[v] = sum;
                if (v != source) centrality_[v] += sum;
            });
            barrier();
        }
    }

    VertexBlocks blocks_;
    std::memory_order order_;
    std::uint64_t remote_atomics_ = 0;       ///< of the calling rank
    PerVertex<std::int64_t> first_, count_;  ///< a vertex's list among those of its rank
    PerVertex<std::int64_t> depth_, paths_;
    PerVertex<double> dependency_, centrality_;
    GlobalPtr<std::int64_t> queue_;  ///< vertices in the order of discovery
    GlobalPtr<std::int64_t> ends_;   ///< of the levels in the queue
    GlobalPtr<std::int64_t> neighbours_;
};

}  // namespace nearfetch::programs
