// SPDX-License-Identifier: Apache-2.0
// The protocol of leases on a simulated clock: hand-worked cases. Random ones are in tests/simulation.
#include "rma/leases.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/ticks.hpp"

namespace nearfetch {
namespace {

constexpr std::uint64_t lease_ns = 10'000;
/// Looks of a microsecond that a burst is.
constexpr std::uint64_t burst_looks = 20'000;

/// Time passes when it is told to.
class Clock {
  public:
    Clock() { simulated_ticks = &clock_; }
    ~Clock() { simulated_ticks = nullptr; }
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    std::uint64_t now() const { return clock_.now; }
    void pass(std::uint64_t ns) { clock_.now += ns; }

  private:
    SimulatedTicks clock_{1'000'000, 0};
};

/// The words of all ranks, seen from one of them. How long its atomics are on their way is said beforehand.
class Words final : public LeaseWords {
  public:
    Words(std::vector<std::uint64_t>& words, Clock& clock) : words_(words), clock_(clock) {}

    int fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override {
        if (fails) return 1;
        clock_.pass(there_ns);
        start_fetch_add(target, amount, before);
        clock_.pass(back_ns);
        return 0;
    }
    int start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override {
        std::uint64_t& word = words_.at(static_cast<std::size_t>(target));
        before = word;
        word += amount;
        return 0;
    }
    int complete() override { return fails ? 1 : 0; }
    void wait_until(std::uint64_t end_ticks) override {
        waits_until = end_ticks;
        if (passes_waits && clock_.now() < end_ticks) clock_.pass(end_ticks - clock_.now());
    }

    std::uint64_t there_ns = 0, back_ns = 0;
    std::uint64_t waits_until = 0;
    bool passes_waits = false;
    bool fails = false;

  private:
    std::vector<std::uint64_t>& words_;
    Clock& clock_;
};

struct OwnTargets {
    TargetTable targets;
};
/// Of a window that is nothing else.
struct OwnLeases : private OwnTargets, Leases {
    explicit OwnLeases(Rank ranks = 2) : OwnTargets{TargetTable(ranks)}, Leases(targets) {}
};

/// Two ranks of a window; both reach the word of rank 0.
class LeasesTest : public ::testing::Test {
  protected:
    LeasesTest() {
        reader.open(reader_words, lease_ns, false, counted);
        writer.open(writer_words, lease_ns, false, counted);
    }

    Clock clock;
    std::vector<std::uint64_t> words{0, 0};
    Words reader_words{words, clock}, writer_words{words, clock};
    std::uint32_t counted = 0;
    OwnLeases reader, writer;
};

TEST_F(LeasesTest, WithoutWordsThereAreNone) {
    OwnLeases none;
    EXPECT_FALSE(none.are_open());
    EXPECT_EQ(none.begin_writing(0), 0);
    none.announce_update(0);
    none.end_writing(0);
    none.close();
    EXPECT_FALSE(none.writes());
}

TEST_F(LeasesTest, TheFirstLookAcquiresAndGivesALease) {
    reader_words.there_ns = 100;
    const std::uint64_t begin = clock.now();
    EXPECT_FALSE(reader.look(0));
    EXPECT_EQ(reader.end_of(0), begin + lease_ns) << "it is counted from before the look";
    EXPECT_TRUE(reader.look(0));
    EXPECT_EQ(reader.looks(), 1u);
    EXPECT_EQ(LeaseWord{words[0]}.looks(), 1u);
}

TEST_F(LeasesTest, TheSameVersionAcquiresNothing) {
    reader.look(0);
    clock.pass(2 * lease_ns);
    EXPECT_TRUE(reader.look(0));
    EXPECT_EQ(reader.looks(), 2u);
}

TEST_F(LeasesTest, WhatIsOldIsNotCompared) {
    reader.look(0);
    clock.pass(300'000'000);
    EXPECT_FALSE(reader.look(0));
    EXPECT_NE(reader.end_of(0), 0u);
}

TEST_F(LeasesTest, AWriterRefusesLeasesAndRaisesTheVersion) {
    reader.look(0);
    clock.pass(2 * lease_ns);
    EXPECT_EQ(writer.begin_writing(0), 0);
    EXPECT_EQ(counted, 1u);
    EXPECT_FALSE(reader.look(0));
    EXPECT_EQ(reader.end_of(0), 0u);
    writer.end_writing(0);
    EXPECT_EQ(counted, 0u);
    EXPECT_FALSE(reader.look(0)) << "nothing is known of what was before";
    EXPECT_NE(reader.end_of(0), 0u);
    clock.pass(2 * lease_ns);
    writer.begin_writing(0);
    writer.end_writing(0);
    EXPECT_FALSE(reader.look(0)) << "another version";
}

TEST_F(LeasesTest, AWriterWaitsOnlyIfSomebodyHasLooked) {
    EXPECT_EQ(writer.begin_writing(0), 0);
    EXPECT_EQ(writer.waits(), 0u);
    writer.end_writing(0);
    writer.begin_writing(0);
    EXPECT_EQ(writer.waits(), 0u);
    writer.end_writing(0);
    reader.look(0);
    writer_words.there_ns = 70;
    writer_words.back_ns = 30;
    const std::uint64_t begin = clock.now();
    writer.begin_writing(0);
    EXPECT_EQ(writer.waits(), 1u);
    EXPECT_GE(writer_words.waits_until, begin + 100 + lease_ns);
    writer.begin_writing(0);
    EXPECT_EQ(writer.waits(), 1u) << "once in a burst";
}

TEST_F(LeasesTest, ItsOwnLooksCountForNothing) {
    writer.look(0);
    writer.begin_writing(0);
    EXPECT_EQ(writer.waits(), 0u);
    EXPECT_EQ(writer.end_of(0), 0u);
    EXPECT_FALSE(writer.look(0)) << "a writer has no lease";
}

TEST_F(LeasesTest, UpdatesAreAnnouncedWithoutWaiting) {
    reader.look(0);
    writer.announce_update(0);
    writer.announce_update(0);
    EXPECT_EQ(LeaseWord{words[0]}.writers(), 1u);
    EXPECT_EQ(writer.waits(), 0u);
    writer.begin_writing(0);
    EXPECT_EQ(LeaseWord{words[0]}.writers(), 1u);
    EXPECT_EQ(writer.waits(), 1u) << "an exclusive lock waits all the same";
}

TEST_F(LeasesTest, WhoTookAnAnnouncementBackHasNotWaited) {
    reader.look(0);
    writer.announce_update(0);
    writer.end_writing(0);
    writer.begin_writing(0);
    EXPECT_EQ(writer.waits(), 1u) << "the lease is older than the announcement";
    writer.end_writing(0);
    writer.announce_update(0);
    writer.end_writing(0);
    writer.begin_writing(0);
    EXPECT_EQ(writer.waits(), 1u) << "nobody has looked since it wrote";
}

TEST_F(LeasesTest, ClosingTakesTheWriterOff) {
    writer.begin_writing(0);
    writer.announce_update(1);
    writer.close();
    EXPECT_EQ(LeaseWord{words[0]}.writers(), 0u);
    EXPECT_EQ(LeaseWord{words[1]}.writers(), 0u);
    EXPECT_EQ(counted, 0u);
    EXPECT_FALSE(writer.are_open());
}

TEST_F(LeasesTest, AFailedLookIsNone) {
    reader_words.fails = true;
    EXPECT_FALSE(reader.look(0));
    EXPECT_EQ(reader.end_of(0), 0u);
    writer_words.fails = true;
    EXPECT_NE(writer.begin_writing(0), 0);
    EXPECT_FALSE(writer.writes());
}

TEST_F(LeasesTest, LooksThatSaveNothingAreFew) {
    OwnLeases thrifty;
    thrifty.open(reader_words, lease_ns, true, counted);
    reader_words.there_ns = 1000;
    for (int i = 0; i < 200'000; ++i) {
        thrifty.look(i % 2);
        clock.pass(2 * lease_ns);
    }
    EXPECT_LE(thrifty.looks(), 200'000 * (2 * lease_ns + 1000) / 1000 / 128 + burst_looks + 1);
    const std::uint64_t looks = thrifty.looks();
    for (std::uint64_t i = 0; i < 1000 + burst_looks; ++i)
        thrifty.record_elided();
    for (int i = 0; i < 1000; ++i) {
        thrifty.look(i % 2);
        clock.pass(2 * lease_ns);
    }
    EXPECT_EQ(thrifty.looks(), looks + 1000) << "unless they save something";
}

TEST_F(LeasesTest, LooksComeInBursts) {
    OwnLeases thrifty;
    thrifty.open(reader_words, lease_ns, true, counted);
    reader_words.there_ns = 1000;
    // A lock each microsecond: without a budget there is a look after each lease.
    std::vector<std::uint64_t> bursts;
    std::uint64_t before = 0, since = 0;
    for (int i = 0; i < 4'000'000; ++i) {
        thrifty.look(0);
        if (thrifty.looks() != before) {
            if (bursts.empty() || clock.now() - since > 3 * lease_ns) bursts.push_back(0);
            ++bursts.back();
            since = clock.now();
            before = thrifty.looks();
        }
        clock.pass(1000);
    }
    ASSERT_GE(bursts.size(), 2u);
    for (const std::uint64_t looks : bursts)
        EXPECT_GE(looks, burst_looks) << "long enough for what is read again later";
}

TEST_F(LeasesTest, AWriterThatComesAgainAndAgainStays) {
    OwnLeases thrifty;
    thrifty.open(writer_words, lease_ns, true, counted);
    writer_words.passes_waits = true;
    for (int i = 0; i < 1000; ++i) {
        reader.look(0);
        thrifty.begin_writing(0);
        thrifty.end_writing(0);
        clock.pass(lease_ns);
    }
    // A 128th of 1000 times lease_ns is as long as some 8 waits.
    EXPECT_LE(thrifty.waits(), 10u);
}

TEST_F(LeasesTest, WhoWritesToManyTargetsDoesNotWaitForEach) {
    constexpr Rank ranks = 128;
    words.assign(ranks, 0);
    OwnLeases thrifty(ranks), other(ranks);
    thrifty.open(writer_words, lease_ns, true, counted);
    other.open(reader_words, lease_ns, false, counted);
    writer_words.passes_waits = true;
    for (Rank target = 0; target < ranks; ++target)
        other.look(target);
    for (Rank target = 0; target < ranks; ++target) {
        EXPECT_EQ(thrifty.begin_writing(target), 0);
        EXPECT_GT(clock.now(), other.end_of(target)) << "its lease is over";
    }
    EXPECT_EQ(thrifty.waits(), 2u);
    for (Rank target = 0; target < ranks; ++target) {
        EXPECT_EQ(LeaseWord{words[static_cast<std::size_t>(target)]}.writers(), 1u);
        EXPECT_FALSE(other.look(target));
    }
    thrifty.close();
    for (Rank target = 0; target < ranks; ++target)
        EXPECT_EQ(LeaseWord{words[static_cast<std::size_t>(target)]}.writers(), 0u);
}

TEST_F(LeasesTest, AWriterWhoseOwnLocksAreElidedMayWaitAsOften) {
    OwnLeases thrifty;
    thrifty.open(writer_words, lease_ns, true, counted);
    writer_words.passes_waits = true;
    writer_words.there_ns = 100;
    for (int i = 0; i < 1000; ++i) {
        reader.look(0);
        thrifty.begin_writing(0);
        thrifty.end_writing(0);
        thrifty.look(1);
        for (std::uint64_t k = 0; k < 3 * lease_ns / 100; ++k)
            thrifty.record_elided();
        clock.pass(lease_ns);
    }
    EXPECT_EQ(thrifty.waits(), 1000u);
}

TEST_F(LeasesTest, WhoWasRefusedLooksAgainLater) {
    OwnLeases thrifty;
    thrifty.open(reader_words, lease_ns, true, counted);
    writer.begin_writing(0);
    EXPECT_FALSE(thrifty.look(0));
    EXPECT_FALSE(thrifty.look(0));
    EXPECT_EQ(thrifty.looks(), 1u);
    clock.pass(lease_ns);
    EXPECT_FALSE(thrifty.look(0));
    EXPECT_EQ(thrifty.looks(), 2u);
}

}  // namespace
}  // namespace nearfetch
