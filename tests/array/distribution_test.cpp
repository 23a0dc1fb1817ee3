// SPDX-License-Identifier: Apache-2.0
//
// Distributions of a program's own (nearfetch/distribution.hpp): with all that arrays do, patterns that are
// functions, and packings.

#include <cstring>

#include "array_rig.hpp"

namespace nearfetch {

/// One range for each part, the first twice as long as the others.
class FirstHasTwo {
  public:
    static constexpr bool contiguous = true;

    FirstHasTwo() = default;
    FirstHasTwo(std::int64_t size, Rank parts, std::int64_t /*block*/)
        : size_(size), share_((size + parts) / (parts + 1)) {}
    Rank part(std::int64_t i) const { return static_cast<Rank>(std::max<std::int64_t>(0, i / share_ - 1)); }
    std::int64_t local(std::int64_t i) const { return i - begin(part(i)); }
    std::int64_t global(Rank part, std::int64_t local) const { return begin(part) + local; }
    std::int64_t below(Rank part, std::int64_t i) const {
        const std::int64_t end = std::min(size_, (part + 2) * share_);
        return std::clamp<std::int64_t>(i, begin(part), std::max(begin(part), end)) - begin(part);
    }
    std::int64_t size() const { return size_; }
    friend bool operator==(const FirstHasTwo&, const FirstHasTwo&) = default;

  private:
    std::int64_t begin(Rank part) const { return std::min(size_, part == 0 ? 0 : (part + 1) * share_); }
    std::int64_t size_ = 0;
    std::int64_t share_ = 1;
};

/// Every part-th number, as Cyclic; of a class of its own, for a packing.
class Dealt : public Cyclic {
  public:
    using Cyclic::Cyclic;
    friend bool operator==(const Dealt&, const Dealt&) = default;
};

namespace {

std::atomic<std::uint64_t> packed_boxes{0};
std::atomic<std::uint64_t> packed_bytes{0};

/// Elements are below 2^16 here: a long travels in two bytes. \return what packs a box of N dimensions
template <std::size_t N, class D>
struct Narrow {
    using Half = std::uint16_t;
    static std::uint64_t bytes(const PackedBox<N, D>& box) {
        return sizeof(Half) * static_cast<std::uint64_t>(Box<N>({}, box.shape()).size());
    }
    static void pack(const PackedBox<N, D>& box, const View<const long, N>& elements, std::byte* to) {
        ++packed_boxes;
        packed_bytes += bytes(box);
        for_each_index(Box<N>({}, box.shape()), [&](const Index<N>& at) {
            // The box says which element it is: what travels is what it differs by.
            const auto half = static_cast<Half>(elements[at] - box.index(at)[0]);
            std::memcpy(to, &half, sizeof half);
            to += sizeof half;
        });
    }
    static void unpack(const PackedBox<N, D>& box, const std::byte* from, const View<long, N>& elements) {
        for_each_index(Box<N>({}, box.shape()), [&](const Index<N>& at) {
            Half half;
            std::memcpy(&half, from, sizeof half);
            from += sizeof half;
            elements[at] = half + box.index(at)[0];
        });
    }
};

}  // namespace

template <>
struct Packing<long, 2, FirstHasTwo> : Narrow<2, FirstHasTwo> {};
template <>
struct Packing<long, 1, Dealt> : Narrow<1, Dealt> {};
template <>
struct Packing<long, 2, Dealt> : Narrow<2, Dealt> {};

namespace {

/// A value that a Narrow packing keeps.
template <std::size_t N>
long narrow_value(const Index<N>& i, long round = 0) {
    long value = 7 * round;
    for (const std::int64_t part : i)
        value = 13 * value + part + 50;
    return i[0] + value % 30000;
}

template <std::size_t N, Distribution D>
void fill(DistributedArray<long, N, D>& a, long round) {
    a.for_each([&](const Index<N>& i, long& element) { element = narrow_value(i, round); });
    barrier();
}

template <std::size_t N, Distribution D>
void expect_all(const DistributedArray<long, N, D>& a, long round) {
    for_each_index(a.bounds(), [&](const Index<N>& i) { ASSERT_EQ(a[i], narrow_value(i, round)); });
}

/// Everything that an array does, on these bounds.
template <Distribution D, std::size_t N>
void use_an_array(const Box<N>& bounds, const Prefetch& how) {
    DistributedArray<long, N, D> a(bounds), b(bounds);
    DistributedArray<long, N> blocks(bounds);
    a.prefetch_stencil(1, true, how);
    a.prefetch_row_wise(how);
    a.prefetch_all_to_all(how);
    for (long round = 1; round <= 2; ++round) {
        fill(a, round);
        if (!how.consistent) a.update_prefetch();
        expect_all(a, round);
        a.update_prefetch_async().wait();
        expect_all(a, round);
        barrier();
    }
    b.assign(a);
    blocks.assign(b);
    expect_all(b, 2);
    expect_all(blocks, 2);
    std::vector<long> all(static_cast<std::size_t>(bounds.size()));
    b.get(bounds, all);
    b.put(bounds, all);
    barrier();
    expect_all(b, 2);
    if (!how.static_domain) {
        Box<N> larger = bounds;
        larger.upper[0] += 5;
        a.resize(larger);
        fill(a, 3);
        if (!how.consistent) a.update_prefetch();
        expect_all(a, 3);
    }
    barrier();
}

/// Not in order: the first part has its numbers backwards.
class Backwards : public Cyclic {
  public:
    using Cyclic::Cyclic;
    std::int64_t local(std::int64_t i) const {
        return part(i) == 0 ? below(0, size()) - 1 - Cyclic::local(i) : Cyclic::local(i);
    }
    friend bool operator==(const Backwards&, const Backwards&) = default;
};

TEST(OwnDistributions, AreRightOrNot) {
    for (const std::int64_t size : {0, 1, 2, 7, 40})
        for (const Rank parts : {1, 2, 3, 8}) {
            EXPECT_TRUE(is_right(FirstHasTwo(size, parts, 1), parts)) << size << " in " << parts;
            EXPECT_TRUE(is_right(Dealt(size, parts, 1), parts));
            EXPECT_TRUE(is_right(Block(size, parts), parts));
            EXPECT_TRUE(is_right(Cyclic(size, parts), parts));
            EXPECT_TRUE(is_right(BlockCyclic(size, parts, 3), parts));
            EXPECT_EQ(is_right(Backwards(size, parts, 1), parts), size <= parts);
            EXPECT_EQ(is_right(Cyclic(size, parts + 1), parts), size <= parts);
        }
}

TEST(OwnDistributions, DoWhatTheBuiltInOnesDo) {
    for (const Prefetch& how : {Prefetch{}, Prefetch{.consistent = false}, Prefetch{.static_domain = true}})
        for (const Rank count : {1, 2, 3, 4})
            for (const bool cached : {true, false})
                launch(array_options(count, cached), [&] {
                    use_an_array<FirstHasTwo>(Box<1>({-3}, {40}), how);
                    use_an_array<Dealt>(Box<1>({-3}, {40}), how);
                    for (const Box<2>& bounds : odd_boxes()) {
                        use_an_array<FirstHasTwo>(bounds, how);
                        use_an_array<Dealt>(bounds, how);
                    }
                });
}

TEST(OwnDistributions, ThreadsReadWhatAPackingBrings) {
    for (const Rank count : {1, 2, 3})
        launch(array_options(count), [] {
            DistributedArray<long, 1, Dealt> a({500});
            a.prefetch_all_to_all();
            for (long round = 1; round <= 3; ++round) {
                fill(a, round);
                std::vector<Task> tasks;
                for (int t = 0; t < 3; ++t)
                    tasks.push_back(spawn([&] { expect_all(a, round); }));
                for (Task& task : tasks)
                    task.join();
                barrier();
            }
        });
}

TEST(OwnPackings, SayWhatTravels) {
    launch(array_options(2), [] {
        DistributedArray<long, 1, Dealt> a({400});
        fill(a, 1);
        if (rank() == 0) packed_boxes = packed_bytes = 0;
        a.prefetch_all_to_all();
        if (rank() == 0) expect_all(a, 1);
        barrier();
        if (rank() == 0) {
            // 200 elements of the other rank, in two bytes each. They lie side by side: without a packing
            // they came by a GET.
            EXPECT_EQ(packed_boxes, 1u);
            EXPECT_EQ(packed_bytes, 400u);
            EXPECT_EQ(statistics()["get_messages"], 0u);
            EXPECT_EQ(prefetch_statistics().updated_bytes, 200 * sizeof(long));
        }
        barrier();
    });
}

TEST(OwnPackings, CutLargeBoxes) {
    LaunchOptions options = array_options(2);
    for (const bool consistent : {true, false})
        launch(options, [&] {
            DistributedArray<long, 2, Dealt> a({300, 1000});
            a.prefetch_all_to_all({.consistent = consistent});
            if (rank() == 0) packed_boxes = 0;
            fill(a, 1);
            if (!consistent) a.update_prefetch();
            // Another thread may read, so that a consistent slice comes in fragments.
            spawn([] {}).join();
            expect_all(a, 1);
            barrier();
            EXPECT_GT(packed_boxes, 10u);
            barrier();
        });
}

template <std::size_t N, Distribution D>
void expect_found(const DistributedArray<long, N, D>& a, const Index<N>& i) {
    const auto element = a.prefetched(i);
    ASSERT_EQ(static_cast<bool>(element), a.owner(i) != rank());
    if (!element) return;
    for (const long expected : {narrow_value(i, 1), narrow_value(i, 2)}) {
        EXPECT_EQ(element.read(), expected);
        barrier();
        const_cast<DistributedArray<long, N, D>&>(a).for_each(
            [](const Index<N>& own, long& x) { x = narrow_value(own, 2); });
        barrier();
    }
}

TEST(PrefetchedElements, AreReadWithoutASearch) {
    launch(array_options(2), [] {
        DistributedArray<long, 2, FirstHasTwo> blocks({9, 5});
        DistributedArray<long, 1, Dealt> dealt({9});
        EXPECT_FALSE(blocks.prefetched({0, 0}));
        EXPECT_THROW((void)blocks.prefetched({9, 0}), Error);
        blocks.prefetch_all_to_all();
        dealt.prefetch_all_to_all();
        fill(blocks, 1);
        fill(dealt, 1);
        // The ranks ask for elements of each other.
        const Rank other = 1 - rank();
        expect_found(blocks, blocks.layout().global(other, {1, 1}));
        expect_found(dealt, dealt.layout().global(other, {2}));
        EXPECT_FALSE(dealt.prefetched(dealt.layout().global(rank(), {0})));
        barrier();
    });
}

/// The own part, and one row on both sides.
std::vector<Box<2>> around(const Layout<2, FirstHasTwo>& layout, Rank rank) {
    const Index<2> shape = layout.local_shape(rank);
    if (shape[0] == 0 || shape[1] == 0) return {};
    const Index<2> first = layout.global(rank, {});
    return {Box<2>({first[0] - 1, first[1]}, {first[0] + shape[0] + 1, first[1] + shape[1]})};
}

TEST(CustomPatterns, AreFunctionsOfTheLayout) {
    for (const Rank count : {1, 2, 4})
        launch(array_options(count), [] {
            DistributedArray<long, 2, FirstHasTwo> a({20, 11});
            for (int times = 0; times < 3; ++times)
                a.prefetch_custom(around);
            const auto check = [&](long round) {
                fill(a, round);
                const Box<2> mine = a.own_box();
                for_each_index(a.bounds(), [&](const Index<2>& i) {
                    const bool own = mine.contains(i);
                    const bool wanted = !own && !mine.empty() && i[1] >= mine.lower[1] &&
                                        i[1] < mine.upper[1] && i[0] >= mine.lower[0] - 1 &&
                                        i[0] <= mine.upper[0];
                    ASSERT_EQ(a.is_prefetched(i), wanted);
                    ASSERT_EQ(a[i], narrow_value(i, round));
                });
                barrier();
            };
            check(1);
            a.resize({35, 9});
            check(2);
            const std::int64_t column = 3;
            a.prefetch_custom([column](const auto& layout, Rank) {
                return std::vector{Box<2>({0, column}, {layout.bounds().upper[0], column + 1})};
            });
            EXPECT_TRUE(a.own_box().contains({0, column}) || a.is_prefetched({0, column}));
            barrier();
        });
}

}  // namespace
}  // namespace nearfetch
