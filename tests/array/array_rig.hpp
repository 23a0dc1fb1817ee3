// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of the array tests: uneven shapes, and distinct values for elements.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <nearfetch/array.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nearfetch {

inline LaunchOptions array_options(Rank ranks, bool cached = true) {
    LaunchOptions options;
    options.ranks = ranks;
    options.cached = cached;
    options.cache.capacity_bytes = 1 << 16;
    return options;
}

template <std::size_t N>
long value_at(const Index<N>& i, long round = 0) {
    long value = round;
    for (const std::int64_t part : i)
        value = 100 * value + part + 50;
    return value;
}

/// One row, one column, fewer rows than ranks, uneven and empty blocks; bounds that do not begin at 0.
inline std::vector<Box<2>> odd_boxes() {
    return {{{0, 0}, {1, 13}}, {{-3, 2}, {10, 3}}, {{1, 1}, {3, 8}}, {{-7, -9}, {4, 2}}, {{5, 5}, {5, 9}}};
}

/// Some part of a box, maybe empty.
template <std::size_t N>
Box<N> random_part(const Box<N>& of, std::mt19937& dice) {
    Box<N> part;
    for (std::size_t d = 0; d < N; ++d) {
        std::uniform_int_distribution<std::int64_t> any(of.lower[d], of.upper[d]);
        part.lower[d] = any(dice);
        part.upper[d] = any(dice);
        if (part.upper[d] < part.lower[d]) std::swap(part.lower[d], part.upper[d]);
    }
    return part;
}

/// What is prefetched of the remote elements that were read: with automatic consistency also gaps of up to 16
/// bytes. By brute force.
template <class T, std::size_t N, class D>
std::set<Index<N>> observed_indices(const DistributedArray<T, N, D>& a, const std::set<Index<N>>& read,
                                    bool consistent) {
    constexpr auto element_bytes = static_cast<std::int64_t>(sizeof(T));
    using AtOwner = std::pair<Rank, std::int64_t>;
    std::map<AtOwner, Index<N>> others;
    for_each_index(a.bounds(), [&](const Index<N>& i) {
        const Location<N> location = a.layout().locate(i);
        if (location.rank != rank()) others.emplace(AtOwner(location.rank, location.position), i);
    });
    std::set<Index<N>> all;
    AtOwner before{-1, 0};
    for (const auto& [at, i] : others) {
        if (!read.contains(i)) continue;
        all.insert(i);
        const auto& [owner, position] = at;
        if (consistent && before.first == owner && (position - before.second - 1) * element_bytes <= 16)
            for (std::int64_t between = before.second + 1; between < position; ++between)
                all.insert(others.at({owner, between}));
        before = at;
    }
    return all;
}

/// The error of a program on three ranks with an array of ten elements; or "none".
inline std::string failure(const std::function<void(BlockArray<long, 1>&)>& wrong) {
    try {
        launch(array_options(3), [&] {
            BlockArray<long, 1> a({10});
            wrong(a);
        });
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

/// Two ranks have an array of zeros, all of it prefetched. Rank 0 runs `first`, then both run `then`.
inline void with_prefetched_zeros(
    std::int64_t size, const std::function<void(BlockArray<long, 1>&)>& first,
    const std::function<void(BlockArray<long, 1>&)>& then = [](auto&) {}) {
    launch(array_options(2), [&] {
        BlockArray<long, 1> a({size});
        a.prefetch_all_to_all();
        if (rank() == 0) first(a);
        barrier();
        then(a);
        barrier();
    });
}

/// Stages that several threads of a rank pass one after the other.
class Stages {
  public:
    void reach(int stage) { reached_ = stage; }
    void wait_for(int stage) const {
        while (reached_ != stage)
            std::this_thread::yield();
    }

  private:
    std::atomic<int> reached_{0};
};

/// Three threads read each `step`th element from different starts, acquiring sometimes. They have to find the
/// round's values.
inline void read_by_threads(const BlockArray<long, 1>& a, long step, long round) {
    std::vector<Task> tasks;
    for (long t = 0; t < 3; ++t)
        tasks.push_back(spawn([&a, t, step, round] {
            for (long i = t; i < a.bounds().upper[0]; i += step) {
                ASSERT_EQ(a(i), value_at(Index<1>{i}, round));
                if (i % 50 == 0) acquire();
            }
        }));
    for (Task& task : tasks)
        task.join();
}

}  // namespace nearfetch
