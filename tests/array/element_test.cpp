// SPDX-License-Identifier: Apache-2.0
//
// Single elements of arrays with prefetched parts, against brute force: 1 to 4 dimensions, elements of one
// and several words, boxes, dense and sparse sets, random reads and writes; several threads.

#include <algorithm>
#include <set>
#include <thread>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

/// An element of several words.
struct Wide {
    long words[3];
    friend bool operator==(const Wide&, const Wide&) = default;
};

template <class T>
T element_of(long value) {
    if constexpr (std::is_same_v<T, Wide>)
        return {{value, -value, value + 1}};
    else
        return static_cast<T>(value);
}

template <class T, std::size_t N>
class Rounds {
  public:
    Rounds(unsigned seed, bool consistent)
        : same_(seed),
          own_(100 * seed + static_cast<unsigned>(rank())),
          how_{consistent, seed % 2 == 0},
          a_(bounds()) {
        for_each_index(a_.bounds(), [&](const Index<N>& i) { all_.push_back(i); });
    }

    void run() {
        for (round_ = 1; round_ <= 6; ++round_) {
            ask();
            a_.for_each([&](const Index<N>& i, T& x) { x = owners(i); });
            barrier();
            if (is_asked_) a_.update_prefetch();
            barrier();
            write();
            barrier();
            read();
            if (::testing::Test::HasFatalFailure()) return;
            barrier();
        }
    }

  private:
    static Box<N> bounds() {
        Box<N> box;
        for (std::size_t d = 0; d < N; ++d) {
            box.lower[d] = -2 * static_cast<std::int64_t>(d);
            box.upper[d] = box.lower[d] + (N == 1 ? 200 : 9 - static_cast<std::int64_t>(N));
        }
        return box;
    }
    T owners(const Index<N>& i) const { return element_of<T>(value_at(i, round_)); }
    T writers(const Index<N>& i) const { return element_of<T>(-value_at(i, round_)); }

    /// Prefetches a box, several boxes, or what was observed; or evicts.
    void ask() {
        const unsigned kind = round_ == 1 ? 0 : same_() % 4;
        is_asked_ = kind != 3;
        if (kind == 3) {
            a_.evict_prefetch();
            asked_.clear();
        } else if (kind == 2) {
            const unsigned rarely = 1 + own_() % 9;
            std::set<Index<N>> read;
            a_.observe();
            for (const Index<N>& i : all_) {
                if (own_() % rarely != 0) continue;
                (void)a_.read(i);
                if (!a_.is_prefetched(i)) read.insert(i);
            }
            a_.prefetch_observed(how_);
            asked_.merge(observed_indices(a_, read, how_.consistent));
        } else {
            std::vector<std::vector<Box<N>>> table(static_cast<std::size_t>(ranks()));
            for (auto& row : table)
                for (unsigned n = 0; n <= 3 * kind; ++n)
                    row.push_back(random_part(a_.bounds(), same_));
            a_.prefetch_custom(table, how_);
            for (const Box<N>& box : table[static_cast<std::size_t>(rank())])
                for_each_index(box, [&](const Index<N>& i) { asked_.insert(i); });
        }
    }
    /// Writes some elements, each by one rank, which sees it at once and when it has released.
    void write() {
        written_.clear();
        std::set<Index<N>> mine;
        for (const Index<N>& i : all_) {
            const auto writer = static_cast<Rank>(same_() % static_cast<unsigned>(2 * ranks()));
            if (writer < ranks()) written_.insert(i);
            if (writer != rank()) continue;
            mine.insert(i);
            a_[i] = writers(i);
            ASSERT_EQ(a_.read(i), writers(i));
            if (own_() % 20 == 0) release();
        }
        for (const Index<N>& i : mine)
            ASSERT_EQ(a_.read(i), writers(i));
        mine_ = std::move(mine);
    }
    void read() {
        std::vector<Index<N>> in_any_order = all_;
        std::shuffle(in_any_order.begin(), in_any_order.end(), own_);
        for (const Index<N>& i : in_any_order) {
            ASSERT_EQ(a_.is_prefetched(i), asked_.contains(i) && a_.own(i) == nullptr);
            // With manual consistency an update fetches others' writes.
            const bool is_new = mine_.contains(i) || how_.consistent || !a_.is_prefetched(i);
            ASSERT_EQ(a_.read(i), is_new && written_.contains(i) ? writers(i) : owners(i));
        }
    }

    std::mt19937 same_, own_;
    Prefetch how_;
    BlockArray<T, N> a_;
    std::vector<Index<N>> all_;
    std::set<Index<N>> asked_, written_, mine_;
    bool is_asked_ = false;
    long round_ = 0;
};

template <class T>
class ElementsOf : public ::testing::Test {};
using Types = ::testing::Types<char, short, int, double, Wide>;
TYPED_TEST_SUITE(ElementsOf, Types);

TYPED_TEST(ElementsOf, AreWhatMayBeReadWhereverTheyAre) {
    for (unsigned seed = 1; seed <= 12; ++seed)
        launch(array_options(2 + static_cast<Rank>(seed % 5), seed % 3 != 0), [seed] {
            SCOPED_TRACE("seed " + std::to_string(seed));
            for (const bool consistent : {true, false}) {
                Rounds<TypeParam, 1>(seed, consistent).run();
                Rounds<TypeParam, 2>(seed, consistent).run();
                Rounds<TypeParam, 3>(seed, consistent).run();
                Rounds<TypeParam, 4>(seed, consistent).run();
            }
        });
}

TEST(Elements, TakeNoMessageWherePrefetchedAndOneWhereNot) {
    launch(array_options(3, false), [] {
        BlockArray<long, 1> a({30});
        a.for_each([](const Index<1>& i, long& x) { x = value_at(i); });
        a.prefetch_custom({{{{12}, {15}}, {{25}, {27}}}, {}, {}}, {.consistent = false});
        const auto messages = [&](const std::function<void()>& access) {
            const std::uint64_t before = statistics()["get_messages"] + statistics()["put_messages"];
            access();
            return statistics()["get_messages"] + statistics()["put_messages"] - before;
        };
        if (rank() == 0) {
            for (int n = 0; n < 2; ++n)
                for (const long i : {12, 26, 13, 25, 14})
                    EXPECT_EQ(messages([&] { EXPECT_EQ(a(i), value_at(Index<1>{i})); }), 0u) << i;
            // Next to them, between them, and beyond.
            for (const long i : {11, 15, 20, 24, 27, 29})
                EXPECT_EQ(messages([&] { EXPECT_EQ(a(i), value_at(Index<1>{i})); }), 1u) << i;
            for (const long i : {12, 20, 26})
                EXPECT_EQ(messages([&] { a(i) = -i; }), 1u) << i;
            EXPECT_EQ(messages([&] { EXPECT_EQ(a(12) + a(26), -38); }), 0u);
        }
        barrier();
        EXPECT_EQ(a(12) + a(20) + a(26), -58);
        barrier();
    });
}

TEST(Elements, StayFreshForAThreadWhileAnotherAcquires) {
    with_prefetched_zeros(20, [](BlockArray<long, 1>& a) {
        Stages stages;
        Task reader = spawn([&] {
            EXPECT_EQ(a(15), 0);
            const std::uint64_t updates = prefetch_statistics().updates;
            stages.reach(1);
            stages.wait_for(2);
            EXPECT_EQ(a(15), 0);
            EXPECT_EQ(prefetch_statistics().updates, updates) << "not this thread's acquire";
            acquire();
            EXPECT_EQ(a(15), 0);
            EXPECT_EQ(prefetch_statistics().updates, updates + 1);
        });
        stages.wait_for(1);
        acquire();
        stages.reach(2);
        reader.join();
    });
}

// The second write of an epoch takes no lock.
TEST(Elements, OfOneEpochAreKeptTogether) {
    with_prefetched_zeros(
        8,
        [](BlockArray<long, 1>& a) {
            EXPECT_EQ(a(7), 0);
            const auto others_sum = [&] {
                long sum = 0;
                spawn([&] { sum = a(5) + a(6) + a(7); }).join();
                return sum;
            };
            for (long round = 1; round <= 3; ++round) {
                a(5) = 10 * round;
                PrefetchTransfer update = a.update_prefetch_async();
                a(6) = 20 * round;
                update.wait();
                a(7) = 30 * round;
                EXPECT_EQ(a(5) + a(6) + a(7), 60 * round);
                release();
                EXPECT_EQ(others_sum(), 60 * round);
            }
        },
        [](BlockArray<long, 1>& a) { EXPECT_EQ(a(5) + a(6) + a(7), 180); });
}

}  // namespace
}  // namespace nearfetch
