// SPDX-License-Identifier: Apache-2.0
#include "lcc/clustering.hpp"

#include "common/ideal_cache.hpp"
#include "common/progress.hpp"
#include "common/stopwatch.hpp"

namespace nearfetch::lcc {

namespace {

using graph::Vertex;

/// Reads remote adjacency lists, and measures it.
class RemoteLists {
  public:
    RemoteLists(const DistributedGraph& graph, bool lock_each)
        : graph_(graph),
          lock_each_(lock_each),
          buffer_(graph.largest_degree()),
          seen_(graph.vertices(), false) {
        if (!lock_each_) MPI_Win_lock_all(0, graph_.window());
    }
    ~RemoteLists() {
        if (!lock_each_) MPI_Win_unlock_all(graph_.window());
    }
    RemoteLists(const RemoteLists&) = delete;
    RemoteLists& operator=(const RemoteLists&) = delete;

    std::span<const Vertex> read(Vertex v, LocalResult& account) {
        const std::uint64_t degree = graph_.degree(v);
        const int owner = graph_.owner(v);
        const auto count = static_cast<int>(degree);
        const double before = watch_.seconds();
        watch_.start();
        if (lock_each_) MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, graph_.window());
        MPI_Get(buffer_.data(), count, MPI_UINT32_T, owner, graph_.displacement(v), count, MPI_UINT32_T,
                graph_.window());
        lock_each_ ? MPI_Win_unlock(owner, graph_.window()) : MPI_Win_flush(owner, graph_.window());
        watch_.stop();
        ++account.remote_gets;
        account.remote_bytes += degree * sizeof(Vertex);
        if (!seen_[v]) {
            seen_[v] = true;
            ++account.remote_vertices;
            account.first_get_bytes += degree * sizeof(Vertex);
            account.first_get_seconds += watch_.seconds() - before;
        } else {
            ideal_.add_repeated(v, degree * sizeof(Vertex), watch_.seconds() - before);
        }
        return {buffer_.data(), static_cast<std::size_t>(degree)};
    }

    double seconds() const { return watch_.seconds(); }
    double ideal_cache_seconds() const { return seconds() - ideal_.saved_seconds(); }

  private:
    const DistributedGraph& graph_;
    bool lock_each_;
    std::vector<Vertex> buffer_;
    std::vector<bool> seen_;
    apps::IdealCache ideal_;
    apps::Stopwatch watch_;
};

}  // namespace

LocalResult count_closed_pairs(const DistributedGraph& graph, std::uint64_t count, bool lock_each,
                               bool progress) {
    LocalResult result;
    result.closed_pairs.reserve(count);
    RemoteLists remote(graph, lock_each);
    apps::ProgressBar bar(progress, "vertices of rank 0", count);
    for (std::uint64_t v = graph.first_local(); v < graph.first_local() + count; ++v) {
        const auto own = graph.local_neighbours(v);
        std::uint64_t closed = 0;
        for (const Vertex u : own) {
            closed += graph::count_common(
                own, graph.is_local(u) ? graph.local_neighbours(u) : remote.read(u, result));
        }
        result.closed_pairs.push_back(closed);
        bar.advance();
    }
    result.communication_seconds = remote.seconds();
    result.ideal_cache_seconds = remote.ideal_cache_seconds();
    return result;
}

}  // namespace nearfetch::lcc
