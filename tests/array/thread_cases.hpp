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

/// Writes, and reads in another way, three times. \param write write(round)
/// \param is_right is_right(round): whether all that was read is what was written
template <class Array, class Write, class IsRight>
bool in_rounds(Array& a, Way way, const Write& write, const IsRight& is_right) {
    prefetch(a, way);
    bool right = true;
    for (long round = 1; round <= 3; ++round) {
        write(round);
        barrier();
        if (way == Way::manual) a.update_prefetch();
        right = is_right(round) && right;
        barrier();
    }
    return right;
}

/// Tasks write all elements.
template <class Array>
auto written_by(Array& a, int tasks) {
    return [&a, tasks](long round) {
        a.for_each([&](const auto& i, long& x) { x = value_at(i, round); }, tasks);
    };
}

/// Each task reads the transposed array while it writes its share of another.
template <Distribution D>
bool transposes(Way way, int tasks) {
    DistributedArray<long, 2, D> a({15, 15}), b({15, 15});
    return in_rounds(a, way, written_by(a, tasks), [&](long round) {
        std::atomic<std::int64_t> visits{0};
        b.for_each(
            [&](const Index<2>& i, long& x) {
                x = a(i[1], i[0]);
                ++visits;
            },
            tasks);
        bool right = visits == b.local().size();
        b.for_each([&](const Index<2>& i, const long& x) {
            right = right && x == value_at(Index<2>{i[1], i[0]}, round);
        });
        return right;
    });
}

/// All tasks read all elements.
template <Distribution D>
bool reads_everything(Way way, int tasks) {
    DistributedArray<long, 1, D> a({210});
    return in_rounds(a, way, written_by(a, tasks), [&](long round) {
        std::atomic<int> wrong{0};
        in_tasks(tasks, [&](std::int64_t k) {
            for (std::int64_t i = 0; i < 210; ++i)
                if (const Index<1> at{(i + 100 * k) % 210}; a[at] != value_at(at, round)) ++wrong;
        });
        return wrong == 0;
    });
}

/// Tasks write elements of other ranks, side by side in the same pages, and read what they have written.
template <Distribution D>
bool writes_to_others(Way way, int tasks) {
    DistributedArray<long, 1, D> a({192});
    std::atomic<int> wrong{0};
    const auto look_at = [&](std::int64_t i, long round) {
        if (a.read({i}) != value_at(Index<1>{i}, round)) ++wrong;
    };
    const auto write = [&](long round) {
        in_tasks(tasks, [&](std::int64_t k) {
            // Each element by one task of one rank.
            const std::int64_t step = ranks() * tasks;
            for (std::int64_t i = rank() * tasks + k; i < 192; i += step) {
                a.write({i}, value_at(Index<1>{i}, round));
                look_at(i, round);
            }
        });
    };
    return in_rounds(a, way, write, [&](long round) {
        for (std::int64_t i = 0; i < 192; ++i)
            look_at(i, round);
        return wrong == 0;
    });
}

/// Tasks put and get boxes.
template <Distribution D>
bool moves_boxes(Way way, int tasks) {
    DistributedArray<long, 2, D> a({24, 20});
    // Rank r and task k put each so many-th row.
    const std::int64_t step = ranks() * tasks;
    const auto rows_of = [&](std::int64_t k, const auto& visit) {
        for (std::int64_t row = k; row < 24; row += step)
            visit(Box<2>({row, 0}, {row + 1, 20}));
    };
    const auto write = [&](long round) {
        in_tasks(tasks, [&](std::int64_t k) {
            rows_of(rank() * tasks + k, [&](const Box<2>& row) {
                std::vector<long> elements;
                for_each_index(row, [&](const Index<2>& i) { elements.push_back(value_at(i, round)); });
                a.put(row, elements);
            });
        });
    };
    return in_rounds(a, way, write, [&](long round) {
        std::atomic<int> wrong{0};
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
        return wrong == 0;
    });
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
