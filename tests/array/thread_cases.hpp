// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arrays in several threads of each rank: loops, reads, writes and bulk transfers. The same for ranks that
// are threads and for those that are processes. Each case returns whether all values are right.

#include <atomic>
#include <nearfetch/array.hpp>
#include <numeric>
#include <vector>

namespace nearfetch::thread_cases {

inline long value_at(const Index<2>& i, long round) { return 100000 * round + 300 * i[0] + i[1]; }
inline long value_at(const Index<1>& i, long round) { return 100000 * round + i[0]; }

/// How an array is prefetched: not at all, with automatic, or with manual consistency.
enum class Way { remote, automatic, manual };
constexpr Way ways[] = {Way::remote, Way::automatic, Way::manual};

template <class Array>
void prefetch(Array& a, Way way) {
    if (way != Way::remote) a.prefetch_all_to_all({.consistent = way == Way::automatic});
}

/// Each task reads the transposed array while it writes its share of another.
template <Distribution D>
bool transposes(Way way, int tasks) {
    DistributedArray<long, 2, D> a({15, 15}), b({15, 15});
    prefetch(a, way);
    bool right = true;
    for (long round = 1; round <= 3; ++round) {
        a.for_each([&](const Index<2>& i, long& x) { x = value_at(i, round); }, tasks);
        barrier();
        if (way == Way::manual) a.update_prefetch();
        std::atomic<std::int64_t> visits{0};
        b.for_each(
            [&](const Index<2>& i, long& x) {
                x = a(i[1], i[0]);
                ++visits;
            },
            tasks);
        right = right && visits == b.local().size();
        b.for_each([&](const Index<2>& i, const long& x) {
            right = right && x == value_at(Index<2>{i[1], i[0]}, round);
        });
        barrier();
    }
    return right;
}

/// All tasks read all elements.
template <Distribution D>
bool reads_everything(Way way, int tasks) {
    DistributedArray<long, 1, D> a({210});
    prefetch(a, way);
    bool right = true;
    for (long round = 1; round <= 3; ++round) {
        a.for_each([&](const Index<1>& i, long& x) { x = value_at(i, round); }, tasks);
        barrier();
        if (way == Way::manual) a.update_prefetch();
        std::atomic<int> wrong{0};
        in_tasks(tasks, [&](std::int64_t k) {
            for (std::int64_t i = 0; i < 210; ++i)
                if (const Index<1> at{(i + 100 * k) % 210}; a[at] != value_at(at, round)) ++wrong;
        });
        right = right && wrong == 0;
        barrier();
    }
    return right;
}

/// Tasks write elements of other ranks, side by side in the same pages, and read what they have written.
template <Distribution D>
bool writes_to_others(Way way, int tasks) {
    DistributedArray<long, 1, D> a({192});
    prefetch(a, way);
    bool right = true;
    for (long round = 1; round <= 3; ++round) {
        std::atomic<int> wrong{0};
        in_tasks(tasks, [&](std::int64_t k) {
            // Each element by one task of one rank.
            const std::int64_t step = ranks() * tasks;
            for (std::int64_t i = rank() * tasks + k; i < 192; i += step) {
                a.write({i}, value_at(Index<1>{i}, round));
                if (a.read({i}) != value_at(Index<1>{i}, round)) ++wrong;
            }
        });
        barrier();
        if (way == Way::manual) a.update_prefetch();
        for (std::int64_t i = 0; i < 192; ++i)
            if (a.read({i}) != value_at(Index<1>{i}, round)) ++wrong;
        right = right && wrong == 0;
        barrier();
    }
    return right;
}

/// Tasks put and get boxes.
template <Distribution D>
bool moves_boxes(Way way, int tasks) {
    DistributedArray<long, 2, D> a({24, 20});
    prefetch(a, way);
    bool right = true;
    for (long round = 1; round <= 2; ++round) {
        // Rank r and task k put each so many-th row.
        const std::int64_t step = ranks() * tasks;
        const auto rows_of = [&](std::int64_t k, const auto& visit) {
            for (std::int64_t row = k; row < 24; row += step)
                visit(Box<2>({row, 0}, {row + 1, 20}));
        };
        std::atomic<int> wrong{0};
        in_tasks(tasks, [&](std::int64_t k) {
            rows_of(rank() * tasks + k, [&](const Box<2>& row) {
                std::vector<long> elements;
                for_each_index(row, [&](const Index<2>& i) { elements.push_back(value_at(i, round)); });
                a.put(row, elements);
            });
        });
        barrier();
        if (way == Way::manual) a.update_prefetch();
        in_tasks(tasks, [&](std::int64_t k) {
            rows_of((rank() + 1) % ranks() * tasks + k, [&](const Box<2>& row) {
                std::vector<long> elements(20);
                a.get(row, elements);
                auto element = elements.begin();
                for_each_index(row, [&](const Index<2>& i) {
                    if (*element++ != value_at(i, round)) ++wrong;
                });
            });
        });
        right = right && wrong == 0;
        barrier();
    }
    return right;
}

/// \param failed called with the name of a case that has read a wrong value
template <Distribution D, class Failed>
void run(Way way, int tasks, const Failed& failed) {
    if (!transposes<D>(way, tasks)) failed("transposes");
    if (!reads_everything<D>(way, tasks)) failed("reads_everything");
    if (!writes_to_others<D>(way, tasks)) failed("writes_to_others");
    if (!moves_boxes<D>(way, tasks)) failed("moves_boxes");
}

}  // namespace nearfetch::thread_cases
