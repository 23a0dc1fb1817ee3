// SPDX-License-Identifier: Apache-2.0
#pragma once

// SSCA2's kernel 4 with the communication of the program that the paper measures (Chapel's
// SSCA2_kernels.chpl, approximate_betweenness_centrality):
//
// - Each rank has its own level sets, which hold vertices that it owns. So adjacency lists are read locally.
// - An edge from u to v is visited at v's owner, by a call (Chapel's `on`). There the vertex is marked and
//   its paths are counted; the paths of u are read, and v is added to u's children, both remotely.
// - Dependencies are summed over the children, from the deepest level on. Paths and dependencies of children
//   are read remotely.
// - Several sources are searched at once.
//
// All atomics are sequentially consistent by default, so each one flushes the cache. Three things differ.
// Searches at once go on level by level together, because their tasks meet in barriers of the ranks. A task
// visits its vertices and edges one after another; the searches are what a rank does in parallel. And sums
// are made in the order of vertices and sources, so that they are the same bit for bit.

#include <algorithm>
#include <span>
#include <vector>

#include "pgas/graph.hpp"
#include "pgas/per_vertex.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

/// The shared data of a search. A plain value, for closures.
class SearchData {
  public:
    static constexpr std::int64_t unseen = -1;

    /// Collective. \param most_edges that leave a rank's vertices
    SearchData(const VertexBlocks& blocks, std::int64_t most_edges)
        : blocks_(blocks),
          words_(allocate<std::int64_t>(static_cast<std::size_t>(words(blocks.block(), most_edges)))) {}
    /// Memory of each rank, in words.
    static std::int64_t words(std::int64_t block, std::int64_t most_edges) {
        return 5 * block + 1 + most_edges;
    }

    GlobalPtr<std::int64_t> depth(std::int64_t v) const { return of_vertex(0, v); }
    GlobalPtr<std::int64_t> paths(std::int64_t v) const { return of_vertex(1, v); }
    GlobalPtr<double> dependency(std::int64_t v) const { return of_vertex(2, v).as<double>(); }
    GlobalPtr<std::int64_t> children_count(std::int64_t v) const { return of_vertex(3, v); }
    /// The level sets of a rank, one after another.
    GlobalPtr<std::int64_t> members(Rank rank) const { return words_.at_rank(rank) + 4 * blocks_.block(); }
    /// In all level sets of a rank.
    GlobalPtr<std::int64_t> members_count(Rank rank) const {
        return words_.at_rank(rank) + 5 * blocks_.block();
    }
    /// \param first place of the vertex's edges among those of its rank
    GlobalPtr<std::int64_t> children(std::int64_t v, std::int64_t first) const {
        return words_.at_rank(blocks_.owner(v)) + (5 * blocks_.block() + 1 + first);
    }
    Rank owner(std::int64_t v) const { return blocks_.owner(v); }

    /// Begins a search: the calling rank's part. \param source a vertex, or -1 for none
    void reset(std::int64_t source) const {
        const auto fill = [&](GlobalPtr<std::int64_t> part, std::int64_t value) {
            std::fill_n(part.local(), blocks_.block(), value);
        };
        const GlobalPtr<std::int64_t> own = words_.at_rank(rank());
        fill(own, unseen);
        for (int i = 1; i < 4; ++i)
            fill(own + i * blocks_.block(), 0);
        *members_count(rank()).local() = 0;
        if (source < 0 || owner(source) != rank()) return;
        *depth(source).local() = 0;
        *paths(source).local() = 1;
        *members(rank()).local() = source;
        *members_count(rank()).local() = 1;
    }

  private:
    GlobalPtr<std::int64_t> of_vertex(std::int64_t array, std::int64_t v) const {
        return words_.at_rank(owner(v)) + (array * blocks_.block() + blocks_.place(v));
    }

    VertexBlocks blocks_;
    GlobalPtr<std::int64_t> words_;
};

class Original {
  public:
    /// \param at_once searches
    Original(const Graph& graph, const PerVertex<double>& centrality, std::memory_order atomics, int at_once)
        : graph_(graph),
          blocks_(graph.vertices()),
          order_(atomics),
          centrality_(centrality),
          alive_(allocate<std::int64_t>(static_cast<std::size_t>(graph.vertices()) + 2).at_rank(0)) {
        for (int i = 0; i < at_once; ++i)
            searches_.emplace_back(SearchData(blocks_, graph.most_edges(blocks_.block())));
        std::int64_t place = 0;
        for (std::int64_t v = blocks_.begin(); v < blocks_.end(); ++v) {
            first_.push_back(place);
            place += graph.degree(v);
        }
    }

    void run(std::int64_t sources) {
        for (std::int64_t source = 0; source < sources;) {
            for (Own& own : searches_)
                begin(own, source < sources ? source++ : -1);
            if (rank() == 0) std::fill_n(alive_.local(), graph_.vertices() + 2, 0);
            barrier();
            const std::int64_t levels = search();
            for (std::int64_t level = levels - 1; level > 0; --level) {
                for_each_search(level, [this](Own& own, std::int64_t u) { gather(own.data, u); });
                barrier();
            }
            for (const Own& own : searches_)
                add_to_centrality(own);
            barrier();
        }
    }
    /// A search waits for each call, and a call takes longer than a GET.
    LeastTraffic least() const {
        LeastTraffic least;
        for (const Own& own : searches_) {
            least.put_messages += own.calls;
            least.put_bytes += 8 * own.calls;
            least.round_trips = std::max(least.round_trips, own.calls);
        }
        return least;
    }

  private:
    /// What the calling rank has of a search.
    struct Own {
        explicit Own(const SearchData& its_data) : data(its_data) {}

        SearchData data;
        std::int64_t source = -1;
        std::vector<std::int64_t> ends;  ///< of the level sets
        std::uint64_t calls = 0;         ///< of other ranks
    };

    static void begin(Own& own, std::int64_t source) {
        own.source = source;
        own.data.reset(source);
        own.ends = {0, *own.data.members_count(rank()).local()};
    }

    /// Calls visit(own, u) for the rank's vertices of a level, in a task for each search.
    template <class Visit>
    void for_each_search(std::int64_t level, const Visit& visit) {
        std::vector<Task> tasks;
        for (Own& own : searches_) {
            const std::int64_t begin = own.ends[static_cast<std::size_t>(level)];
            const std::int64_t end = own.ends[static_cast<std::size_t>(level) + 1];
            if (begin == end) continue;
            tasks.push_back(spawn([&visit, &own, begin, end] {
                const std::int64_t* const members = own.data.members(rank()).local();
                for (std::int64_t i = begin; i < end; ++i)
                    visit(own, members[i]);
            }));
        }
        for (Task& task : tasks)
            task.join();
    }

    /// Searches from all sources. \return the number of levels
    std::int64_t search() {
        for (std::int64_t level = 0;; ++level) {
            for_each_search(level, [&](Own& own, std::int64_t u) { expand(own, u, level + 1); });
            barrier();
            bool any = false;
            for (Own& own : searches_) {
                own.ends.push_back(get(own.data.members_count(rank())));
                any = any || own.ends.back() != own.ends[own.ends.size() - 2];
            }
            if (any) atomic_store(alive_ + level, 1);
            barrier();
            if (atomic_load(alive_ + level) == 0) return level + 1;
        }
    }

    void expand(Own& own, std::int64_t u, std::int64_t depth) {
        const auto children = own.data.children(u, first_[static_cast<std::size_t>(u - blocks_.begin())]);
        for (const std::int64_t v : graph_.neighbours(u)) {
            own.calls += own.data.owner(v) != rank() ? 1 : 0;
            on(own.data.owner(v), [data = own.data, children, u, v, depth, order = order_] {
                visit_edge(data, children, u, v, depth, order);
            });
        }
    }

    /// At v's owner.
    static void visit_edge(const SearchData& data, GlobalPtr<std::int64_t> children, std::int64_t u,
                           std::int64_t v, std::int64_t depth, std::memory_order order) {
        std::int64_t seen = SearchData::unseen;
        if (atomic_compare_exchange(data.depth(v), seen, depth, order)) {
            const std::int64_t place = atomic_fetch_add(data.members_count(rank()), 1, order);
            put(data.members(rank()) + place, v);
        }
        if (atomic_load(data.depth(v), order) != depth) return;
        atomic_add(data.paths(v), atomic_load(data.paths(u), order), order);
        put(children + atomic_fetch_add(data.children_count(u), 1, order), v);
    }

    void gather(const SearchData& data, std::int64_t u) const {
        const std::int64_t count = atomic_load(data.children_count(u), order_);
        if (count == 0) return;
        const std::int64_t first = first_[static_cast<std::size_t>(u - blocks_.begin())];
        const std::span children(data.children(u, first).local(), static_cast<std::size_t>(count));
        std::sort(children.begin(), children.end());
        double sum = 0;
        for (const std::int64_t v : children) {
            const auto paths_of_u = static_cast<double>(atomic_load(data.paths(u), order_));
            const auto paths_of_v = static_cast<double>(atomic_load(data.paths(v), order_));
            sum += paths_of_u / paths_of_v * (1 + get(data.dependency(v)));
        }
        put(data.dependency(u), sum);
    }

    void add_to_centrality(const Own& own) const {
        if (own.source < 0) return;
        for (std::int64_t v = blocks_.begin(); v < blocks_.end(); ++v)
            if (v != own.source) *centrality_.at(v).local() += *own.data.dependency(v).local();
    }

    const Graph& graph_;
    VertexBlocks blocks_;
    std::memory_order order_;
    PerVertex<double> centrality_;
    std::vector<std::int64_t> first_;  ///< of an own vertex: the place of its edges
    std::vector<Own> searches_;
    GlobalPtr<std::int64_t> alive_;  ///< whether any search goes on after a level
};

}  // namespace nearfetch::programs
