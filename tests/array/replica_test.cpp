// SPDX-License-Identifier: Apache-2.0
//
// Replicas: with a large observed part of a vector, each element is stored at its index. Elements arrive
// packed, or as whole ranges. All operations behave as without a replica.

#include "array_rig.hpp"

namespace nearfetch {
namespace {

/// Of so many words of 4 bytes.
template <std::size_t Words>
struct Several {
    std::array<std::int32_t, Words> words{};
    static Several of(std::int64_t number) {
        Several all;
        all.words.fill(static_cast<std::int32_t>(number));
        return all;
    }
    Several& operator+=(const Several& other) {
        for (std::size_t w = 0; w < Words; ++w)
            words[w] += other.words[w];
        return *this;
    }
    friend bool operator==(const Several&, const Several&) = default;
};

/// Two of each seven elements are observed.
template <class T>
class LearnedVector {
  public:
    explicit LearnedVector(const Prefetch& how) : how_(how), a_({each * ranks()}) {}

    void observe() {
        set_all_to(0);
        a_.observe();
        for_each_acquiring(0, size(), [&](std::int64_t i) { ASSERT_EQ(a_(i), T::of(i)); });
        std::uint64_t first = bytes_of([&] { a_.prefetch_observed(how_); });
        if (how_.consistent) first = bytes_of([&] { a_.update_prefetch(); });
        const std::uint64_t second = bytes_of([&] { a_.update_prefetch(); });
        // With automatic consistency gaps of up to 16 bytes are filled.
        if (ranks() == 1 || (how_.consistent && 3 * sizeof(T) <= 16))
            EXPECT_EQ(first, second);
        else
            EXPECT_LT(first, second) << "all of the parts is tried, too";
        EXPECT_EQ(prefetch_statistics().entries, static_cast<std::uint64_t>(ranks() - 1));
    }
    /// \param later whether the data arrives while the rank computes
    void check_reads(std::int64_t round, bool later) {
        set_all_to(round);
        if (later)
            a_.update_prefetch_async().wait();
        else
            a_.update_prefetch();
        for (std::int64_t i = size(); i-- > 0;)
            ASSERT_EQ(a_(i), value(i, round)) << i << " in round " << round;
        std::vector<T> all(static_cast<std::size_t>(size()));
        a_.get(a_.bounds(), all);
        for (std::int64_t i = 0; i < size(); ++i)
            ASSERT_EQ(all[static_cast<std::size_t>(i)], value(i, round));
        barrier();
    }
    /// To the next rank's elements, one by one and in bulk.
    void check_own_writes() {
        for (std::int64_t i = next(); i < next() + 50; ++i)
            a_(i) = T::of(-i);
        a_.put(Box<1>({next() + 50}, {next() + 100}), std::vector<T>(50, T::of(-7)));
        for (std::int64_t i = next(); i < next() + 100; ++i)
            ASSERT_EQ(a_(i), T::of(i < next() + 50 ? -i : -7));
    }
    void check_contributions(std::int64_t round) {
        set_all_to(round);
        a_.update_prefetch();
        for (std::int64_t i = next(); i < next() + each; ++i)
            if (a_.is_prefetched({i})) a_.contribute({i}, T::of(i));
        a_.accumulate_ghosts();
        for_each_acquiring(rank() * each, (rank() + 1) * each, [&](std::int64_t i) {
            T sum = value(i, round);
            if (ranks() > 1) sum += T::of(i);
            ASSERT_EQ(a_(i), sum);
        });
        barrier();
    }

  private:
    static constexpr std::int64_t each = 300;
    static T value(std::int64_t i, std::int64_t round) { return T::of(1000 * round + i); }
    static std::int64_t size() { return each * ranks(); }
    static std::int64_t next() { return (rank() + 1) % ranks() * each; }
    template <class Visit>
    static void for_each_acquiring(std::int64_t begin, std::int64_t end, const Visit& visit) {
        for (std::int64_t i = begin; i < end; ++i)
            if (i % each % 7 == 2 || i % each % 7 == 6) visit(i);
    }
    template <class Update>
    static std::uint64_t bytes_of(const Update& update) {
        const std::uint64_t before = prefetch_statistics().updated_bytes;
        update();
        return prefetch_statistics().updated_bytes - before;
    }
    void set_all_to(std::int64_t round) {
        barrier();
        a_.for_each([&](const Index<1>& i, T& element) { element = value(i[0], round); });
        barrier();
    }

    Prefetch how_;
    BlockArray<T, 1> a_;
};

template <class T>
void check(const Prefetch& how) {
    LearnedVector<T> vector(how);
    vector.observe();
    for (std::int64_t round = 1; round <= 6; ++round) {
        vector.check_reads(round, round == 5);
        vector.check_own_writes();
        vector.check_contributions(round);
    }
}

TEST(Replica, WhatStandsInItIsAsElsewhere) {
    for (const bool consistent : {false, true})
        for (const bool static_domain : {false, true})
            for (const Rank count : {1, 2, 4})
                launch(array_options(count), [&] {
                    const Prefetch how{.consistent = consistent, .static_domain = static_domain};
                    check<Several<1>>(how);
                    check<Several<3>>(how);
                    check<Several<4>>(how);
                });
}

}  // namespace
}  // namespace nearfetch
