// SPDX-License-Identifier: Apache-2.0
//
// Observed patterns: exactly the elements that were read one by one are prefetched, in one message or a few
// from each owner, for every shape, distribution and consistency; with bounded memory and several threads.

#include <map>
#include <set>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

constexpr Prefetch ways[] = {{true, false}, {true, true}, {false, false}, {false, true}};

template <class D>
using Array = DistributedArray<long, 2, D>;

template <class D>
void set_all(Array<D>& a, long round) {
    barrier();
    a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
    barrier();
}

/// Cost of one refresh of observed elements.
struct Expected {
    std::set<Index<2>> elements;
    std::uint64_t messages = 0, bytes = 0;
};

/// By brute force. An owner's share is one GET: the arrays are small, so gaps are covered.
template <class D>
Expected expected_of(const Array<D>& a, const std::set<Index<2>>& read, bool consistent) {
    Expected all{.elements = observed_indices(a, read, consistent)};
    std::set<Rank> owners;
    for (const Index<2>& i : all.elements)
        owners.insert(a.owner(i));
    all.messages = owners.size();
    all.bytes = sizeof(long) * all.elements.size();
    return all;
}

template <class D>
void check_one_way(Array<D>& a, const Prefetch& how, const std::set<Index<2>>& read) {
    const Expected expected = expected_of(a, read, how.consistent);
    const auto sum_of_read = [&](long round) {
        for (const Index<2>& i : read)
            ASSERT_EQ(a[i], value_at(i, round));
    };
    set_all(a, 1);
    a.observe();
    sum_of_read(1);
    sum_of_read(1);
    std::uint64_t foreign = 0;
    for (const Index<2>& i : read)
        foreign += a.own(i) == nullptr;
    EXPECT_EQ(a.observed().elements, foreign);
    const Observation seen = a.prefetch_observed(how);
    EXPECT_EQ(seen.elements, foreign);
    EXPECT_EQ(seen.left_out, 0u);
    EXPECT_EQ(a.observed().elements, 0u) << "it has ended";
    EXPECT_EQ(prefetch_statistics().entries, expected.messages);
    EXPECT_EQ(prefetch_statistics().bytes, expected.bytes);
    for_each_index(a.bounds(),
                   [&](const Index<2>& i) { ASSERT_EQ(a.is_prefetched(i), expected.elements.contains(i)); });
    set_all(a, 2);
    for_each_index(a.bounds(), [&](const Index<2>& i) {
        const long round = a.is_prefetched(i) && !how.consistent ? 1 : 2;
        ASSERT_EQ(a[i], value_at(i, round));
    });
    set_all(a, 3);
    const PrefetchStatistics before = prefetch_statistics();
    const std::uint64_t gets = statistics()["get_messages"];
    a.update_prefetch();
    sum_of_read(3);
    EXPECT_EQ(statistics()["get_messages"] - gets, expected.messages);
    EXPECT_EQ(prefetch_statistics().updates - before.updates, expected.messages) << "once each";
    EXPECT_EQ(prefetch_statistics().updated_bytes - before.updated_bytes, expected.bytes);
    a.evict_prefetch();
    EXPECT_EQ(prefetch_statistics().bytes, 0u);
    sum_of_read(3);
}

template <class D>
class Observed : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Observed, Distributions);

TYPED_TEST(Observed, IsWhatWasRead) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count, count % 4 != 3), [&] {
            std::mt19937 dice(static_cast<unsigned>(100 * count + rank()));
            for (const Box<2>& bounds : odd_boxes()) {
                Array<TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                for (const Prefetch& how : ways) {
                    std::set<Index<2>> read;
                    const unsigned rarely = dice() % 4;  // 0: every element
                    for_each_index(bounds, [&](const Index<2>& i) {
                        if (rarely == 0 || dice() % (2 * rarely) == 0) read.insert(i);
                    });
                    if (dice() % 5 == 0) read.clear();
                    check_one_way(a, how, read);
                }
            }
        });
}

TEST(Observing, OneByOne) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({90});
        a.for_each([](const Index<1>& i, long& element) { element = value_at(i); });
        barrier();
        const long next = (a.own_box().upper[0]) % 90;
        a.observe();
        const std::vector<long> indices{next + 20, next + 3, next + 20, next + 7, next + 11, next + 15};
        for (const long i : indices)
            EXPECT_EQ(a(i), value_at(Index<1>{i}));
        a(next + 29) = 5;  // a write is no read
        std::vector<long> bulk(30);
        a.get(Box<1>({next}, {next + 30}), bulk);  // bulk reads are not observed
        EXPECT_EQ(a.observed().elements, 5u);
        EXPECT_EQ(a.prefetch_observed({.consistent = false}).elements, 5u);
        EXPECT_EQ(prefetch_statistics().entries, 1u);
        EXPECT_EQ(prefetch_statistics().updated_bytes, 5 * sizeof(long));

        a.observe();
        for (const long i : indices)
            EXPECT_EQ(a(i), value_at(Index<1>{i}));
        EXPECT_EQ(a.observed().elements, 0u) << "prefetched";
        EXPECT_EQ(a(next + 4), value_at(Index<1>{next + 4}));
        EXPECT_EQ(a.prefetch_observed({.consistent = false}).elements, 1u);
        EXPECT_TRUE(a.is_prefetched({next + 3}) && a.is_prefetched({next + 4}));
        EXPECT_FALSE(a.is_prefetched({next + 5}));

        a(next + 7) = -7;
        a.put(Box<1>({next + 10}, {next + 21}), std::vector<long>(11, -1));
        EXPECT_EQ(a(next + 7), -7);
        EXPECT_EQ(a(next + 11), -1);
        EXPECT_EQ(a(next + 20), -1);
        EXPECT_EQ(a(next + 3), value_at(Index<1>{next + 3}));
        barrier();
    });
}

TEST(Observing, OneMessageFromEachOwner) {
    for (const bool passive : {false, true})
        launch(array_options(4), [=] {
            constexpr long each = 2048;
            BlockArray<long, 1> a({4 * each});
            a.observe();
            for (long i = 0; i < 4 * each; i += 16)
                EXPECT_EQ(a(i), 0);
            EXPECT_EQ(a.prefetch_observed({.consistent = false, .static_domain = passive}).elements,
                      3u * each / 16);
            barrier();
            a.for_each([](const Index<1>& i, long& element) { element = value_at(i); });
            barrier();
            const auto counter = [](const char* name) { return statistics()[name]; };
            const PrefetchStatistics before = prefetch_statistics();
            const std::uint64_t gets = counter("get_messages"), bytes = counter("get_message_bytes");
            a.update_prefetch();
            EXPECT_EQ(prefetch_statistics().updates - before.updates, 3u);
            EXPECT_EQ(prefetch_statistics().updated_bytes - before.updated_bytes,
                      3 * each / 16 * sizeof(long));
            // A message that is no GET if the owner packs; else a GET that covers the gaps.
            EXPECT_EQ(counter("get_messages") - gets, passive ? 3u : 0u);
            EXPECT_EQ(counter("get_message_bytes") - bytes, passive ? 3 * (each - 15) * sizeof(long) : 0);
            for (long i = 0; i < 4 * each; i += 16)
                EXPECT_EQ(a(i), value_at(Index<1>{i}));
            EXPECT_EQ(counter("get_messages") - gets, passive ? 3u : 0u);
            barrier();
        });
}

// Every third of 2048: with automatic consistency gaps of up to 16 bytes are filled.
TEST(Observing, WhatIsNearlyAllIsABox) {
    for (const bool consistent : {false, true})
        launch(array_options(2, false), [=] {
            constexpr long each = 2048, last = 2046;
            BlockArray<long, 1> a({2 * each});
            const long other = (1 - rank()) * each;
            a.observe();
            for (long i = 0; i < each; i += 3)
                EXPECT_EQ(a(other + i), 0);
            const auto gets = [] { return statistics()["get_messages"]; };
            std::uint64_t before = gets(), bytes = prefetch_statistics().updated_bytes;
            a.prefetch_observed({.consistent = consistent});
            const std::uint64_t first_gets = gets() - before;
            const std::uint64_t first_bytes = prefetch_statistics().updated_bytes - bytes;
            barrier();
            a.for_each([](const Index<1>& i, long& element) { element = value_at(i); });
            barrier();
            before = gets();
            bytes = prefetch_statistics().updated_bytes;
            a.update_prefetch();
            for (long i = 0; i < each; i += 3)
                EXPECT_EQ(a(other + i), value_at(Index<1>{other + i}));
            EXPECT_EQ(first_bytes, consistent ? 0 : (each / 3 + 1) * sizeof(long));
            EXPECT_EQ(first_gets, 0u) << "the owner packs what is no box";
            EXPECT_EQ(prefetch_statistics().updated_bytes - bytes,
                      (consistent ? last + 1 : each) * sizeof(long));
            EXPECT_EQ(gets() - before, 1u) << "the second time all of the part is tried";
            EXPECT_EQ(a.is_prefetched({other + 1}), consistent);
            EXPECT_FALSE(a.is_prefetched({other + last + 1}));
            // With manual consistency elements that were not observed are read from their owner.
            barrier();
            a.for_each([](const Index<1>& i, long& element) { element = -value_at(i); });
            barrier();
            EXPECT_EQ(a(other + 1), -value_at(Index<1>{other + 1}));
            EXPECT_EQ(a(other + 3), (consistent ? -1 : 1) * value_at(Index<1>{other + 3}));
            barrier();
        });
}

TEST(Observing, NothingIsRead) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({10});
        a.observe();
        const Observation seen = a.prefetch_observed();
        EXPECT_EQ(seen.elements + seen.left_out, 0u);
        EXPECT_EQ(prefetch_statistics().entries, 0u);
        a.update_prefetch();
        for (long i = 0; i < 10; ++i)
            EXPECT_EQ(a(i), 0);
    });
}

TEST(Observing, WhatDoesNotFitIsLeftOutAndCounted) {
    launch(array_options(3), [] {
        constexpr long words = 100;
        BlockArray<long, 1> a({3 * 64 * words});
        a.for_each([](const Index<1>& i, long& element) { element = i[0]; });
        barrier();
        const auto read_all = [&] {
            for (long i = 0; i < 3 * 64 * words; i += 64)
                ASSERT_EQ(a(i), i);
        };
        // Sets of 16 words of 24 bytes, each of which has one element read, grow when three quarters are
        // used.
        for (const auto& [bytes, elements] :
             std::map<std::uint64_t, std::uint64_t>{{0, 0}, {383, 0}, {384, 12}, {800, 24}, {1 << 20, 200}}) {
            a.observe(bytes);
            read_all();
            const Observation seen = a.prefetch_observed();
            EXPECT_EQ(seen.elements, elements) << bytes;
            EXPECT_EQ(seen.left_out, 200 - elements);
            EXPECT_EQ(prefetch_statistics().bytes, elements * sizeof(long));
            read_all();
            a.evict_prefetch();
            barrier();
        }
    });
}

TEST(Observing, AfterAcquiresNothingIsStale) {
    for (unsigned seed = 1; seed <= 12; ++seed)
        launch(array_options(1 + static_cast<Rank>(seed % 5), seed % 3 != 0), [seed] {
            std::mt19937 same(seed), own(100 * seed + static_cast<unsigned>(rank()));
            const std::int64_t size = 40 + 7 * static_cast<std::int64_t>(seed);
            CyclicArray<long, 1> dealt({size});
            BlockArray<long, 1> a({size});
            std::vector<long> model(static_cast<std::size_t>(size));
            std::vector<std::int64_t> index(60);
            for (std::int64_t& i : index)
                i = static_cast<std::int64_t>(own() % static_cast<unsigned>(size));
            a.observe();
            dealt.observe(seed % 4 == 0 ? 0 : 1 << 16);
            for (long round = 1; round <= 20; ++round) {
                for (std::int64_t i = 0; i < size; ++i) {
                    if (same() % 3 != 0) continue;
                    model[static_cast<std::size_t>(i)] = value_at(Index<1>{i}, round);
                    if (static_cast<Rank>(same() % static_cast<unsigned>(ranks())) != rank()) continue;
                    a(i) = model[static_cast<std::size_t>(i)];
                    dealt(i) = model[static_cast<std::size_t>(i)];
                    ASSERT_EQ(a(i), model[static_cast<std::size_t>(i)]) << "one's own write";
                }
                barrier();
                for (const std::int64_t i : index) {
                    ASSERT_EQ(a(i), model[static_cast<std::size_t>(i)]) << "seed " << seed;
                    ASSERT_EQ(dealt(i), model[static_cast<std::size_t>(i)]) << "seed " << seed;
                }
                if (round == 3) {
                    a.prefetch_observed({.static_domain = same() % 2 == 0});
                    dealt.prefetch_observed({.static_domain = same() % 2 == 0});
                }
                barrier();
            }
        });
}

TEST(Observing, ThreadsReadTogether) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({800});
        for (long round = 1; round <= 10; ++round) {
            a.for_each([&](const Index<1>& i, long& element) { element = value_at(i, round); });
            barrier();
            if (round == 1) a.observe();
            read_by_threads(a, 5, round);
            if (round == 1) {
                EXPECT_EQ(a.prefetch_observed().elements, 3u * 80);
            }
            barrier();
        }
        EXPECT_EQ(prefetch_statistics().entries, 1u);
    });
}

TEST(Observing, UpdatesWhileTheRankComputes) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({300});
        a.observe();
        for (long i = 0; i < 300; i += 7)
            EXPECT_EQ(a(i), 0);
        a.prefetch_observed({.static_domain = true});
        barrier();
        a.for_each([](const Index<1>& i, long& element) { element = value_at(i); });
        barrier();
        const std::uint64_t gets = statistics()["get_messages"];
        PrefetchTransfer done = a.update_prefetch_async();
        EXPECT_EQ(statistics()["get_messages"] - gets, 2u) << "one from each owner";
        done.wait();
        for (long i = 0; i < 300; i += 7)
            EXPECT_EQ(a(i), value_at(Index<1>{i}));
        EXPECT_EQ(statistics()["get_messages"] - gets, 2u);
        barrier();
    });
}

TEST(Observing, WrongUseIsNamed) {
    EXPECT_EQ(failure([](auto& a) { a.prefetch_observed(); }),
              "prefetch_observed: nothing was observed (it prefetches what was read since observe()): call "
              "observe() before the reads that are to be observed");
    EXPECT_EQ(failure([](auto& a) {
                  a.observe();
                  a.prefetch_observed();
                  a.prefetch_observed();
              }).substr(0, 40),
              "prefetch_observed: nothing was observed ");
    for (const auto& differ : std::vector<std::function<void(BlockArray<long, 1>&)>>{
             [](auto& a) {
                 if (rank() != 1) a.observe();
                 a.prefetch_observed();
             },
             [](auto& a) {
                 a.observe();
                 a.prefetch_observed({.consistent = rank() == 1});
             },
             [](auto& a) {
                 a.observe();
                 if (rank() == 0)
                     barrier();
                 else
                     a.prefetch_observed();
             }})
        EXPECT_NE(failure(differ).find(" in prefetch_observed at "), std::string::npos) << failure(differ);
}

}  // namespace
}  // namespace nearfetch
