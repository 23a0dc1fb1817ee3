// SPDX-License-Identifier: Apache-2.0
//
// Replicas: with a large observed part of a vector, each element is stored at its index. Elements arrive
// packed, or as whole ranges. All operations behave as without a replica.

#include "node_rig.hpp"

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
    LearnedVector(const Prefetch& how, std::int64_t each) : each_(each), how_(how), a_({each * ranks()}) {}

    /// \return most bytes in memory of the node after a fetch
    std::uint64_t observe() {
        set_all_to(0);
        a_.observe();
        for_each_acquiring(0, size(), [&](std::int64_t i) { ASSERT_EQ(a_(i), T::of(i)); });
        std::uint64_t first = bytes_of([&] { a_.prefetch_observed(how_); });
        if (how_.consistent) first = bytes_of([&] { a_.update_prefetch(); });
        std::uint64_t shared = prefetch_statistics().shared_bytes;
        const std::uint64_t second = bytes_of([&] { a_.update_prefetch(); });
        shared = std::max(shared, prefetch_statistics().shared_bytes);
        // With automatic consistency gaps of up to 16 bytes are filled.
        if (ranks() == 1 || (how_.consistent && 3 * sizeof(T) <= 16))
            EXPECT_EQ(first, second);
        else
            EXPECT_LT(first, second) << "all of the parts is tried, too";
        EXPECT_EQ(prefetch_statistics().entries, static_cast<std::uint64_t>(ranks() - 1));
        return shared;
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
        for (std::int64_t i = next(); i < next() + each_; ++i)
            if (a_.is_prefetched({i})) a_.contribute({i}, T::of(i));
        a_.accumulate_ghosts();
        for_each_acquiring(rank() * each_, (rank() + 1) * each_, [&](std::int64_t i) {
            T sum = value(i, round);
            if (ranks() > 1) sum += T::of(i);
            ASSERT_EQ(a_(i), sum);
        });
        barrier();
    }

  private:
    static T value(std::int64_t i, std::int64_t round) { return T::of(1000 * round + i); }
    std::int64_t size() const { return each_ * ranks(); }
    std::int64_t next() const { return (rank() + 1) % ranks() * each_; }
    template <class Visit>
    void for_each_acquiring(std::int64_t begin, std::int64_t end, const Visit& visit) const {
        for (std::int64_t i = begin; i < end; ++i)
            if (i % each_ % 7 == 2 || i % each_ % 7 == 6) visit(i);
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

    std::int64_t each_;
    Prefetch how_;
    BlockArray<T, 1> a_;
};

/// \param each elements of a rank
template <class T>
void check(const Prefetch& how, std::int64_t each = 300) {
    LearnedVector<T> vector(how, each);
    const std::uint64_t shared = vector.observe();
    // One of the first two fetches is of all of the parts.
    const bool on_nodes = each * sizeof(T) >= VersionStore::least_bytes;
    EXPECT_EQ(shared > 0, on_nodes) << shared;
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

constexpr pgas::NodeSharing::Sizes node_sizes{1 << 20, 1 << 24};
/// Parts of more than 64 KiB that begin inside of pages.
constexpr std::int64_t many = 6'007;

TEST(Replica, WhatRanksOfANodeShareIsAsElsewhere) {
    for (const bool consistent : {false, true})
        for (const bool static_domain : {false, true})
            launch_on_nodes(array_options(4), node_sizes, [&] {
                const Prefetch how{.consistent = consistent, .static_domain = static_domain};
                check<Several<3>>(how, many);
                check<Several<4>>(how, many);
            });
}

/// Patterns, updates, evictions and writes of a vector. All ranks draw the same numbers, so each knows all
/// values after a barrier.
class RandomVector {
  public:
    RandomVector(unsigned seed, bool consistent)
        : dice_(seed),
          consistent_(consistent),
          a_({many * ranks()}),
          values_(static_cast<std::size_t>(many * ranks())) {}

    void run() {
        for (int round = 1; round <= 12; ++round) {
            if (round == 1 || dice_() % 3 == 0) change_patterns();
            write(round);
            read();
            if (::testing::Test::HasFatalFailure()) return;
            most_shared_ = std::max(most_shared_, prefetch_statistics().shared_bytes);
            barrier();
        }
    }
    std::uint64_t most_shared_bytes() const { return most_shared_; }

  private:
    using Element = Several<3>;

    void change_patterns() {
        const Prefetch how{consistent_, dice_() % 2 == 0};
        switch (dice_() % 4) {
            case 0:
                a_.prefetch_all_to_all(how);
                break;
            case 1:
                a_.prefetch_stencil(1 + static_cast<std::int64_t>(dice_() % many), true, how);
                break;
            case 2: {
                const std::int64_t step = 2 + dice_() % 6;
                a_.observe();
                for (std::int64_t i = dice_() % step; i < a_.bounds().size(); i += step)
                    (void)a_.read({i});
                a_.prefetch_observed(how);
                break;
            }
            default:
                a_.evict_prefetch();
        }
        barrier();
    }
    void write(int round) {
        // Owners set all, and others put some; each element is written once.
        const std::int64_t begin = rank() * many;
        const std::int64_t puts = dice_() % 50;
        const std::int64_t first = dice_() % many;
        for (std::int64_t i = 0; i < a_.bounds().size(); ++i) {
            const bool is_put = first <= i % many && i % many < first + puts;
            const Element value = Element::of(1000 * round + i + (is_put ? 7 : 0));
            values_[static_cast<std::size_t>(i)] = value;
            const std::int64_t writer = is_put ? (i / many + 1 + round) % ranks() : i / many;
            if (writer != rank()) continue;
            a_(i) = value;
            // Where a read fetches, it fetches neighbours that their owner is writing.
            if ((i < begin || i >= begin + many) && !consistent_ && a_.is_prefetched({i})) {
                ASSERT_EQ(a_.read({i}), value) << "what this rank has put";
            }
        }
        barrier();
    }
    void read() {
        if (!consistent_ && prefetch_statistics().entries > 0) a_.update_prefetch();
        for (std::int64_t i = 0; i < a_.bounds().size(); ++i)
            ASSERT_EQ(a_.read({i}), values_[static_cast<std::size_t>(i)]) << i;
    }

    std::mt19937 dice_;
    bool consistent_;
    BlockArray<Element, 1> a_;
    std::vector<Element> values_;
    std::uint64_t most_shared_ = 0;
};

TEST(Replica, RandomProgramsOnNodesReadWhatWasWritten) {
    for (const bool consistent : {false, true}) {
        std::atomic<std::uint64_t> most_shared = 0;
        for (unsigned seed = 1; seed <= 8; ++seed)
            launch_on_nodes(array_options(4), node_sizes, [&] {
                RandomVector program(seed, consistent);
                program.run();
                most_shared = std::max(most_shared.load(), program.most_shared_bytes());
            });
        EXPECT_GE(most_shared, 2 * sizeof(Several<3>) * many) << "parts of two ranks of the other node";
    }
}

}  // namespace
}  // namespace nearfetch
