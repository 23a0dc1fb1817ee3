// SPDX-License-Identifier: Apache-2.0
//
// Random programs against a model of the values that each read may return: patterns, updates, evictions,
// writes, contributions, resizing; barriers, flags and fences between them.

#include <map>

#include "node_rig.hpp"

namespace nearfetch {
namespace {

constexpr long rounds = 30;

/// A value of an element, and its first round.
struct Version {
    long round;
    long value;
};

/// An element of 4 KiB, so that small boxes are large slices.
struct Wide {
    std::array<long, 512> words{};

    Wide() = default;
    Wide(long value) { words.fill(value); }
    operator long() const {
        for (const long word : words)
            EXPECT_EQ(word, words[0]) << "all of an element or nothing";
        return words[0];
    }
    Wide& operator+=(const Wide& other) { return *this = Wide(words[0] + other.words[0]); }
};

template <class D, class T = long>
class RandomProgram {
  public:
    /// \param room of the array, which then has all ranks in its first dimension
    RandomProgram(unsigned seed, bool consistent, HaloRoom room = {})
        : same_(seed),
          own_(100 * seed + static_cast<unsigned>(rank())),
          consistent_(consistent),
          room_(room),
          flag_(allocate<long>(1).at_rank(0)),
          a_(Box<2>({-2, 0}, {9, 1 + static_cast<std::int64_t>(seed % 9)}),
             room.rows > 0 ? std::array<Rank, 2>{ranks(), 1} : balanced_grid<2>(ranks()), {2, 1}, room) {
        set_bounds({});
    }

    void run() {
        for (round_ = 1; round_ <= rounds; ++round_) {
            prefetch_something();
            if (same_() % 5 == 0) resize();
            if (same_() % 3 == 0) contribute();
            write_something();
            if (own_() % 3 == 0 && is_prefetched_) update();
            read_something();
            read_halo();
            if (::testing::Test::HasFatalFailure()) return;
            most_shared_ = std::max(most_shared_, prefetch_statistics().shared_bytes);
            barrier();
        }
    }
    /// In a round.
    std::uint64_t most_shared_bytes() const { return most_shared_; }

  private:
    using Array = DistributedArray<T, 2, D>;

    void set_bounds(const Box<2>& before) {
        std::map<Index<2>, std::vector<Version>> kept;
        for_each_index(a_.bounds(), [&](const Index<2>& i) {
            kept[i] = before.contains(i) ? model_[i] : std::vector<Version>{{round_, 0}};
        });
        model_ = std::move(kept);
        fetched_ = round_ - 1;  // what was prefetched was fetched again
    }
    long now(const Index<2>& i) const { return model_.at(i).back().value; }
    void set(const Index<2>& i, long value) { model_.at(i).push_back({round_, value}); }

    void prefetch_something() {
        const Prefetch how{consistent_, same_() % 3 == 0};
        const bool corners = same_() % 2 == 0;
        const std::int64_t depth = 1 + same_() % 3;
        const unsigned kind = same_() % 10;
        switch (kind) {
            case 0:
            case 1:
                a_.prefetch_stencil(depth, true, how);
                has_stencil_ = true;
                break;
            case 2:
                a_.prefetch_stencil_async(depth, corners, how).wait();
                has_stencil_ = has_stencil_ || corners;
                break;
            case 3:
                a_.prefetch_row_wise(how);
                break;
            case 4:
                a_.prefetch_column_wise(how);
                break;
            case 5:
                a_.prefetch_all_to_all(how);
                has_stencil_ = true;
                break;
            case 6:
                a_.observe();
                for (int n = 0; n < 10 && !a_.bounds().empty(); ++n)
                    (void)a_.read(some_index());
                a_.prefetch_observed(how);
                break;
            case 7:
                evict();
                return;
            default:
                return;
        }
        is_prefetched_ = true;
        is_static_ = is_static_ || how.static_domain;
        fetched_ = round_ - 1;  // this round's update is not complete yet
        barrier();
    }
    void evict() {
        a_.evict_prefetch();
        is_prefetched_ = is_static_ = has_stencil_ = false;
    }
    void update() {
        if (own_() % 2 == 0)
            a_.update_prefetch();
        else
            a_.update_prefetch_async().wait();
        fetched_ = round_;
    }
    void resize() {
        const Box<2> before = a_.bounds();
        const Box<2> after = random_part(Box<2>({-3, -2}, {12, 11}), same_);
        if (is_static_) {
            EXPECT_THROW(a_.resize(after), Error);
            ASSERT_EQ(a_.bounds(), before);
            evict();
        }
        if (same_() % 2 == 0)
            a_.resize(after);
        else
            a_.resize(after, {ranks(), 1});
        set_bounds(before);
    }
    /// To neighbours of own elements, and to these. All ranks know each rank's contributions.
    void contribute() {
        if (!has_stencil_) return;
        for (Rank who = 0; who < ranks(); ++who)
            for_each_index(a_.bounds(), [&](const Index<2>& centre) {
                if (a_.owner(centre) != who || same_() % 4 != 0) return;
                const Index<2> i{centre[0] + static_cast<std::int64_t>(same_() % 3) - 1,
                                 centre[1] + static_cast<std::int64_t>(same_() % 3) - 1};
                const long value = same_() % 100;
                if (!a_.bounds().contains(i)) return;
                if (who == rank()) a_.contribute(i, T(value));
                sums_[i] += value;
            });
        a_.accumulate_ghosts();
        for (const auto& [i, sum] : sums_)
            set(i, now(i) + sum);
        sums_.clear();
    }
    /// Each element by one rank; then all acquire.
    void write_something() {
        const unsigned kind = same_() % 4;
        const bool by_one = kind != 0;
        const auto one = static_cast<Rank>(same_() % static_cast<unsigned>(ranks()));
        for_each_index(a_.bounds(), [&](const Index<2>& i) {
            if (same_() % 3 != 0) return;
            const auto any = static_cast<Rank>(same_() % static_cast<unsigned>(ranks()));
            set(i, value_at(i, round_));
            if ((by_one ? one : any) != rank()) return;
            a_[i] = T(now(i));
            written_[i] = {round_, now(i)};
            if (own_() % 3 == 0) {
                ASSERT_EQ(long{a_.read(i)}, now(i)) << "its own write";
            }
        });
        const Box<2> box = random_part(a_.bounds(), same_);
        if (by_one && kind == 1 && !box.empty()) {
            for_each_index(box, [&](const Index<2>& i) { set(i, value_at(i, -round_)); });
            if (one == rank()) {
                std::vector<T> values;
                for_each_index(box, [&](const Index<2>& i) {
                    values.push_back(T(now(i)));
                    written_[i] = {round_, now(i)};
                });
                a_.put(box, values);
            }
        }
        if (!by_one) return barrier();
        // A flag, with an order of its own or with fences.
        const bool fences = same_() % 2 == 0;
        const auto write_order = fences ? std::memory_order_relaxed : std::memory_order_release;
        const auto read_order = fences ? std::memory_order_relaxed : std::memory_order_acquire;
        if (one == rank()) {
            if (fences) release();
            atomic_store(flag_, round_, write_order);
        }
        while (atomic_load(flag_, read_order) != round_)
            yield();
        if (fences) acquire();
    }
    void read_something() {
        if (a_.bounds().empty()) return;
        for (int n = 0; n < 60; ++n) {
            const Index<2> i = some_index();
            const long value{a_.read(i)};
            if (consistent_ || !a_.is_prefetched(i)) {
                ASSERT_EQ(value, now(i)) << "round " << round_;
                continue;
            }
            // As of the last update, or as this rank has written it since.
            long expected = model_.at(i).front().value;
            for (const Version& version : model_.at(i))
                if (version.round <= fetched_) expected = version.value;
            if (written_[i].round > fetched_) expected = written_[i].value;
            ASSERT_EQ(value, expected) << "round " << round_ << ", fetched in " << fetched_;
        }
    }
    /// The values of single reads.
    void read_halo() {
        if (room_.rows == 0) return;
        const bool periodic = own_() % 2 == 0;
        const View<T, 2> around =
            a_.with_halo(static_cast<std::int64_t>(own_() % static_cast<unsigned>(room_.rows + 1)), periodic);
        if (around.empty()) return;
        Index<2> first = a_.layout().global(rank(), {});
        first[0] -= (a_.local().data() - around.data()) / a_.local().strides()[0];
        for_each_index(Box<2>({}, around.shape()), [&](const Index<2>& at) {
            const Index<2> i = wrapped({first[0] + at[0], first[1] + at[1]}, a_.bounds());
            ASSERT_EQ(long{around[at]}, long{a_.read(i)}) << "round " << round_;
        });
    }
    Index<2> some_index() {
        const Box<2>& bounds = a_.bounds();
        return {
            bounds.lower[0] + static_cast<std::int64_t>(own_() % static_cast<unsigned>(bounds.extent(0))),
            bounds.lower[1] + static_cast<std::int64_t>(own_() % static_cast<unsigned>(bounds.extent(1)))};
    }

    std::mt19937 same_, own_;
    bool consistent_;
    HaloRoom room_;
    GlobalPtr<long> flag_;
    Array a_;
    long round_ = 0;
    long fetched_ = 0;  ///< prefetched data is as of the end of that round, or newer
    bool is_prefetched_ = false, is_static_ = false, has_stencil_ = false;
    std::map<Index<2>, std::vector<Version>> model_;
    std::map<Index<2>, Version> written_;  ///< by this rank, in that round
    std::map<Index<2>, long> sums_;
    std::uint64_t most_shared_ = 0;
};

LaunchOptions program_options(unsigned seed) {
    LaunchOptions options = array_options(1 + static_cast<Rank>(seed % 6), seed % 3 != 0);
    if (seed % 4 == 0) {
        options.network = "aries";
        options.virtual_time = true;
        options.jitter_ns = 3000;
        options.seed = seed;
    }
    return options;
}

template <class D>
class RandomPrograms : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(RandomPrograms, Distributions);

TYPED_TEST(RandomPrograms, WithAutomaticConsistencySeeNothingStale) {
    for (unsigned seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        launch(program_options(seed), [seed] { RandomProgram<TypeParam>(seed, true).run(); });
        if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST(RandomPrograms, WithManualConsistencySeeNothingOlderThanTheLastUpdate) {
    for (unsigned seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        launch(program_options(seed), [seed] { RandomProgram<TypeParam>(seed, false).run(); });
        if (this->HasFatalFailure()) return;
    }
}

TEST(RandomProgramsInPlace, WithRoomForAHaloSeeNothingElse) {
    for (unsigned seed = 1; seed <= 48; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        launch(program_options(seed), [seed] {
            const HaloRoom room{1 + seed % 5};
            if (seed % 3 == 0)
                RandomProgram<Block, Wide>(seed, seed % 2 == 0, room).run();
            else
                RandomProgram<Block>(seed, seed % 2 == 0, room).run();
        });
        if (::testing::Test::HasFatalFailure()) return;
    }
}

/// Four ranks on nodes of two. \return what they have had of each other
template <class Program>
PrefetchStatistics run_on_nodes(unsigned seed, const pgas::NodeSharing::Sizes& sizes) {
    std::atomic<std::uint64_t> from_node{0}, shared{0};
    launch_on_nodes(program_options(seed), sizes, [&] {
        Program program(seed, seed % 2 == 0);
        program.run();
        from_node += prefetch_statistics().bytes_from_node;
        shared += program.most_shared_bytes();
    });
    return {.bytes_from_node = from_node, .shared_bytes = shared};
}

TYPED_TEST(RandomPrograms, OnNodesSeeNothingThatTheyMayNot) {
    std::uint64_t from_node = 0;
    for (unsigned seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        // Memory that is soon overwritten.
        from_node += run_on_nodes<RandomProgram<TypeParam>>(seed, {1 << 14, 1 << 20}).bytes_from_node;
        if (this->HasFatalFailure()) return;
    }
    EXPECT_GT(from_node, 0u);
}

TYPED_TEST(RandomPrograms, WithLargeSlicesOnNodesSeeNothingThatTheyMayNot) {
    std::uint64_t shared = 0;
    for (unsigned seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        // Room for all of their slices, or for few.
        const std::uint64_t version_bytes = seed % 3 == 0 ? 1 << 18 : 1 << 24;
        shared += run_on_nodes<RandomProgram<TypeParam, Wide>>(seed, {1 << 14, version_bytes}).shared_bytes;
        if (this->HasFatalFailure()) return;
    }
    EXPECT_GT(shared, 0u);
}

}  // namespace
}  // namespace nearfetch
