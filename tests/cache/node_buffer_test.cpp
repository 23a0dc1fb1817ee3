// SPDX-License-Identifier: Apache-2.0
//
// The node buffer, worked by hand, in random order against a model, by many threads, and by processes that
// are killed in the middle.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mixed.hpp"
#include "killed_process.hpp"
#include "replay/own_node_buffer.hpp"

namespace nearfetch {
namespace {

using Found = NodeBuffer::Found;

/// Bytes that tell what they are of.
std::vector<std::byte> content(Rank target, ByteRange range, NodeTime issued) {
    std::vector<std::byte> bytes(range.size());
    std::uint64_t word = mixed(range.begin ^ mixed(issued ^ static_cast<std::uint64_t>(target) << 32));
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(word >> 56);
        word = word * 6364136223846793005u + 1442695040888963407u;
    }
    return bytes;
}

bool offer(NodeBuffer& buffer, Rank target, ByteRange range, NodeTime issued) {
    return buffer.offer(target, range.begin, range, issued, content(target, range, issued).data());
}

struct Answer {
    Found found = Found::nothing;
    NodeTime issued = 0;
    std::vector<std::byte> bytes;
};

Answer find(const NodeBuffer& buffer, Rank target, NodeBuffer::Key key, ByteRange range, NodeTime since = 0) {
    Answer answer;
    answer.bytes.resize(range.size());
    answer.found = buffer.find(target, key, range, since, answer.bytes.data(), answer.issued);
    return answer;
}
Answer find(const NodeBuffer& buffer, Rank target, ByteRange range, NodeTime since = 0) {
    return find(buffer, target, range.begin, range, since);
}

TEST(NodeBuffer, AnotherProcessFindsWhatOneHasOffered) {
    const OwnNodeBuffer memory(1 << 20);
    NodeBuffer one = memory.buffer();
    const NodeBuffer other = memory.buffer();
    EXPECT_EQ(find(other, 3, {64, 72}).found, Found::nothing);
    EXPECT_TRUE(offer(one, 3, {64, 1064}, 10));
    const Answer all = find(other, 3, {64, 1064});
    EXPECT_EQ(all.found, Found::bytes);
    EXPECT_EQ(all.issued, 10u);
    EXPECT_EQ(all.bytes, content(3, {64, 1064}, 10));
    // The beginning of it, and its middle by its key.
    EXPECT_EQ(find(other, 3, {64, 72}).found, Found::bytes);
    const Answer middle = find(other, 3, 64, {100, 200});
    ASSERT_EQ(middle.found, Found::bytes);
    EXPECT_EQ(middle.bytes[0], all.bytes[36]);
    // Other targets, other places, and more than there is.
    EXPECT_EQ(find(other, 2, {64, 72}).found, Found::nothing);
    EXPECT_EQ(find(other, 3, {72, 80}).found, Found::nothing);
    EXPECT_EQ(find(other, 3, {64, 1065}).found, Found::nothing);
    EXPECT_EQ(find(other, 3, 64, {1000, 1065}).found, Found::nothing);
}

TEST(NodeBuffer, NothingIsFoundThatWasIssuedTooEarly) {
    const OwnNodeBuffer memory(1 << 20);
    NodeBuffer buffer = memory.buffer();
    offer(buffer, 0, {0, 8}, 10);
    EXPECT_EQ(find(buffer, 0, {0, 8}, 10).found, Found::bytes);
    EXPECT_EQ(find(buffer, 0, {0, 8}, 11).found, Found::nothing);
    // A later one takes its place, an earlier one does not.
    offer(buffer, 0, {0, 8}, 12);
    EXPECT_EQ(find(buffer, 0, {0, 8}, 11).issued, 12u);
    EXPECT_TRUE(offer(buffer, 0, {0, 8}, 11));
    EXPECT_EQ(find(buffer, 0, {0, 8}).issued, 12u);
    // A longer one does, if it is no older.
    offer(buffer, 0, {0, 16}, 12);
    EXPECT_EQ(find(buffer, 0, {0, 16}).found, Found::bytes);
}

TEST(NodeBuffer, OfAKeysGetsInFlightTheLastOneIsKnown) {
    const OwnNodeBuffer memory(1 << 20);
    const NodeBuffer one = memory.buffer(), other = memory.buffer();
    constexpr NodeTime issued = std::uint64_t{1} << 50;
    EXPECT_EQ(other.last_flight(1, 64), 0u);
    one.note_flight(1, 64, issued);
    one.note_flight(1, 64, issued + 1000);
    EXPECT_LE(other.last_flight(1, 64), issued + 1000);
    EXPECT_GT(other.last_flight(1, 64), issued + 1000 - 256);
    EXPECT_EQ(other.last_flight(2, 64), 0u);
    EXPECT_EQ(other.last_flight(1, 65), 0u);
}

TEST(NodeBuffer, OfMoreGetsInFlightThanItHasWordsForTheLastOnesAreKnown) {
    const OwnNodeBuffer memory(1 << 20);
    const NodeBuffer buffer = memory.buffer();
    constexpr NodeBuffer::Key keys = 100'000;
    for (NodeBuffer::Key key = 0; key < keys; ++key)
        buffer.note_flight(0, key, (key + 1) << 20);
    EXPECT_EQ(buffer.last_flight(0, keys - 1), keys << 20);
    std::uint64_t known = 0;
    for (NodeBuffer::Key key = 0; key < keys; ++key) {
        const NodeTime issued = buffer.last_flight(0, key);
        EXPECT_TRUE(issued == 0 || issued == (key + 1) << 20 || issued >> 20 > key) << key;
        known += issued != 0 ? 1 : 0;
    }
    EXPECT_GT(known, 1000u);
    EXPECT_LT(known, 10'000u);
}

TEST(NodeBuffer, TheOldestIsOverwritten) {
    const std::uint64_t record_bytes = 1 << 20;
    const OwnNodeBuffer memory(record_bytes);
    NodeBuffer buffer = memory.buffer();
    const std::uint64_t size = 992;  // 1 KiB, with what the record says of itself
    const auto range = [&](std::uint64_t i) { return ByteRange{i * size, (i + 1) * size}; };
    for (std::uint64_t i = 0; i < 4096; ++i) {
        ASSERT_TRUE(offer(buffer, 1, range(i), i + 1));
        const Answer answer = find(buffer, 1, range(i));
        ASSERT_EQ(answer.found, Found::bytes);
        ASSERT_EQ(answer.bytes, content(1, range(i), i + 1));
    }
    std::uint64_t found = 0, soon_lost = 0, recent = 0;
    for (std::uint64_t i = 0; i < 4096; ++i) {
        const Answer answer = find(buffer, 1, range(i));
        if (answer.found == Found::nothing) continue;
        ASSERT_EQ(answer.bytes, content(1, range(i), i + 1));
        ++found;
        soon_lost += answer.found == Found::soon_lost;
        recent += i >= 4096 - 512;
    }
    EXPECT_GT(found, 900u);
    EXPECT_LE(found, record_bytes / 1024);
    EXPECT_GT(soon_lost, 0u);
    EXPECT_LT(soon_lost, found / 4);
    EXPECT_GT(recent, 500u);
}

TEST(NodeBuffer, WhatIsFoundOftenStaysIfItIsOfferedAgain) {
    const OwnNodeBuffer memory(1 << 20);
    NodeBuffer buffer = memory.buffer();
    offer(buffer, 0, {0, 500}, 1);
    for (std::uint64_t i = 1; i < 20'000; ++i) {
        offer(buffer, 1, {1000 * i, 1000 * i + 500}, i + 1);
        const Answer answer = find(buffer, 0, {0, 500});
        ASSERT_NE(answer.found, Found::nothing) << i;
        if (answer.found == Found::soon_lost)
            buffer.offer(0, 0, {0, 500}, answer.issued, answer.bytes.data());
    }
}

TEST(NodeBuffer, WhatIsTooLargeIsRefused) {
    const OwnNodeBuffer memory(1 << 20);
    NodeBuffer buffer = memory.buffer();
    const std::uint64_t most = buffer.largest_bytes();
    EXPECT_GE(most, 4000u);
    EXPECT_FALSE(offer(buffer, 0, {0, most + 1}, 1));
    EXPECT_TRUE(offer(buffer, 0, {0, most}, 1));
    EXPECT_EQ(find(buffer, 0, {0, most}).bytes, content(0, {0, most}, 1));
    EXPECT_FALSE(buffer.offer(0, 0, {0, ~std::uint64_t{0}}, 1, nullptr));
}

TEST(NodeBuffer, TheSmallestOneWorks) {
    const OwnNodeBuffer memory(0);
    NodeBuffer buffer = memory.buffer();
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        ASSERT_TRUE(offer(buffer, 0, {8 * i, 8 * i + 8}, i));
        ASSERT_EQ(find(buffer, 0, {8 * i, 8 * i + 8}).bytes, content(0, {8 * i, 8 * i + 8}, i));
    }
}

/// Offers and looks up at random. What is found has to be what was offered for just that range and time.
/// \return how often something was found
std::uint64_t hammer(NodeBuffer& buffer, std::uint64_t seed, std::uint64_t operations, std::string& wrong) {
    std::mt19937_64 random(seed);
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < operations && wrong.empty(); ++i) {
        const auto target = static_cast<Rank>(random() % 3);
        const std::uint64_t begin = random() % 200 * 4096;
        const std::uint64_t sizes[] = {8, 40, 700, 3000};
        const ByteRange range{begin, begin + sizes[random() % 4]};
        const NodeTime since = random() % 100;
        if (random() % 2 == 0) {
            offer(buffer, target, range, since);
            continue;
        }
        const Answer answer = find(buffer, target, range, since);
        if (answer.found == Found::nothing) continue;
        ++found;
        // The record may be longer than what was asked for. Its bytes do not depend on its length.
        if (answer.issued < since || answer.bytes != content(target, range, answer.issued))
            wrong = "wrong bytes at " + std::to_string(begin) + " of " + std::to_string(target);
    }
    return found;
}

TEST(NodeBuffer, RandomOperationsAgreeWithAModel) {
    const OwnNodeBuffer memory(1 << 18);
    NodeBuffer buffer = memory.buffer();
    std::mt19937_64 random(7);
    std::map<std::pair<Rank, std::uint64_t>, std::pair<std::uint64_t, NodeTime>> model;  // end and time
    std::uint64_t found = 0, looked_for = 0;
    for (int i = 0; i < 200'000; ++i) {
        const auto target = static_cast<Rank>(random() % 4);
        const std::uint64_t begin = random() % 100 * 64;
        const ByteRange range{begin, begin + 1 + random() % 600};
        const NodeTime time = random() % 1000;
        auto& [end, issued] = model[{target, begin}];
        if (random() % 3 == 0) {
            ASSERT_TRUE(offer(buffer, target, range, time));
            // What is there already, longer and no older, stays, or is written anew if it was overwritten.
            if (end < range.end || issued < time) {
                end = range.end;
                issued = time;
            }
            continue;
        }
        const Answer answer = find(buffer, target, range, time);
        const bool may_be_there = end >= range.end && issued >= time;
        looked_for += may_be_there;
        if (answer.found == Found::nothing) continue;
        ++found;
        ASSERT_GE(answer.issued, time);
        ASSERT_EQ(answer.bytes, content(target, range, answer.issued));
    }
    EXPECT_GT(found, looked_for / 2);
}

TEST(NodeBuffer, ThreadsThatStandForProcessesFindNothingWrong) {
    const OwnNodeBuffer memory(1 << 16);  // overwritten all the time
    std::vector<std::string> wrong(4);
    std::vector<std::uint64_t> found(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < wrong.size(); ++i)
            threads.emplace_back([&, i] {
                NodeBuffer buffer = memory.buffer();
                found[i] = hammer(buffer, i, 50'000, wrong[i]);
            });
    }
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        EXPECT_EQ(wrong[i], "");
        EXPECT_GT(found[i], 0u);
    }
}

TEST(NodeBuffer, AProcessThatIsKilledLeavesNothingBrokenAndNobodyWaiting) {
    const OwnNodeBuffer memory(1 << 18);
    NodeBuffer buffer = memory.buffer();
    std::mt19937_64 random(3);
    std::string wrong;
    for (int round = 0; round < 60; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            NodeBuffer its = memory.buffer();
            std::string seen;
            hammer(its, static_cast<std::uint64_t>(round), ~std::uint64_t{0}, seen);
            _exit(1);  // it has found something wrong
        }
        hammer(buffer, static_cast<std::uint64_t>(1000 + round), 2000 + random() % 2000, wrong);
        ASSERT_EQ(wrong, "");
        ASSERT_EQ(kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child has found wrong bytes";
        // All shards can be written to: the dead process holds none.
        for (std::uint64_t i = 0; i < 1000; ++i) {
            const ByteRange range{8 * i, 8 * i + 8};
            ASSERT_TRUE(offer(buffer, 9, range, 1));
            ASSERT_EQ(find(buffer, 9, range).bytes, content(9, range, 1));
        }
    }
}

/// The same range again and again, each time killed one instruction later: whoever offers next takes the
/// lock over from the dead, and may be killed in that.
TEST(NodeBuffer, AnOfferThatIsKilledAtAnyInstructionLeavesNothingBroken) {
    if (!can_trace()) GTEST_SKIP() << "this system does not let a process be traced";
    const OwnNodeBuffer memory(0);
    NodeBuffer buffer = memory.buffer();
    const ByteRange range{64, 64 + 100};
    std::uint64_t instructions = 1, in_the_middle = 0;
    NodeTime time = 0;
    bool is_repaired = false;
    for (bool is_over = false; !is_over; instructions += instructions_between_kills) {
        const std::vector<std::byte> bytes = content(0, range, ++time);
        is_over = kill_after(instructions, [&] { buffer.offer(0, range.begin, range, time, bytes.data()); });
        const Answer answer = find(buffer, 0, range, time);
        const bool is_there = answer.found != Found::nothing;
        ASSERT_TRUE(!is_there || answer.bytes == content(0, range, time)) << instructions;
        ASSERT_TRUE(is_there || !is_over);
        in_the_middle += !is_there;
        // Every other time the next one that is killed finds what this one has left.
        is_repaired = !is_repaired;
        if (!is_repaired) continue;
        ASSERT_TRUE(offer(buffer, 0, range, ++time)) << instructions;
        ASSERT_EQ(find(buffer, 0, range, time).bytes, content(0, range, time)) << instructions;
    }
    EXPECT_GT(in_the_middle, 30u) << "it has stopped in the offer";
}

}  // namespace
}  // namespace nearfetch
