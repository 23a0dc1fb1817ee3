// SPDX-License-Identifier: Apache-2.0
//
// The store of versions, worked by hand, in random order against a model, by threads that stand for
// processes, and by processes that are killed in the middle.

#include "cache/node_buffer/version_store.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mixed.hpp"
#include "killed_process.hpp"

namespace nearfetch {
namespace {

using Answer = VersionStore::Answer;
using Found = VersionStore::Found;
using Name = VersionStore::Name;
using Version = VersionStore::Version;

constexpr std::uint64_t unit = VersionStore::unit_bytes;
constexpr NodeTime never = ~NodeTime{0};

/// A store in memory of this process, which its children share.
class OwnStore {
  public:
    explicit OwnStore(std::uint64_t units)
        : bytes_(VersionStore::memory_bytes(units * unit)),
          data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (data_ == MAP_FAILED) throw std::bad_alloc();
        if (!VersionStore::create({data(), bytes_}, units * unit)) throw std::bad_alloc();
    }
    ~OwnStore() { munmap(data_, bytes_); }
    OwnStore(const OwnStore&) = delete;
    OwnStore& operator=(const OwnStore&) = delete;

    VersionStore store() const { return VersionStore(data()); }
    std::byte* data() const { return static_cast<std::byte*>(data_); }
    std::uint64_t bytes() const { return bytes_; }

  private:
    std::uint64_t bytes_;
    void* data_;
};

Name name_of(std::uint64_t number, std::uint64_t bytes = unit) { return {1, number, 7, bytes}; }

/// Writes what tells a name and a time, in each page. So the bytes of two versions differ.
void fill(const Version& version, const Name& name, NodeTime issued) {
    for (std::uint64_t at = 0; at + 8 <= name.bytes; at += 4096) {
        const std::uint64_t word = mixed(name.key ^ mixed(issued ^ mixed(at)));
        std::memcpy(version.data() + at, &word, sizeof word);
    }
}
bool is_filled(const Version& version, const Name& name, NodeTime issued) {
    for (std::uint64_t at = 0; at + 8 <= name.bytes; at += 4096) {
        std::uint64_t word = 0;
        std::memcpy(&word, version.data() + at, sizeof word);
        if (word != mixed(name.key ^ mixed(issued ^ mixed(at)))) return false;
    }
    return true;
}

/// Begins a version, fills and completes it.
Version fetch(const VersionStore& store, const Name& name, NodeTime now) {
    Answer answer = store.take(name, never, never, now);
    if (answer.found != Found::begun) return {};
    fill(answer.version, name, now);
    answer.version.complete();
    return std::move(answer.version);
}
Answer find(const VersionStore& store, const Name& name, NodeTime since) {
    return store.take(name, since, never, 1);
}

TEST(VersionStore, AnotherProcessReadsWhatOneHasFetched) {
    const OwnStore memory(8);
    const VersionStore one = memory.store(), other = memory.store();
    const Name name = name_of(1, 3 * unit - 5);
    const Version mine = fetch(one, name, 10);
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine.offset() % unit, 0u);
    EXPECT_LE(mine.offset() + 3 * unit, memory.bytes());
    EXPECT_EQ(one.used_bytes(), 3 * unit);
    const Answer there = other.take(name, 10, 0, 11);
    ASSERT_EQ(there.found, Found::complete);
    EXPECT_EQ(there.version.data(), mine.data()) << "no copy";
    EXPECT_TRUE(is_filled(there.version, name, 10));
    EXPECT_EQ(other.used_bytes(), 3 * unit);
    // Other names.
    for (const Name& others : {Name{2, 1, 7, name.bytes}, Name{1, 2, 7, name.bytes},
                               Name{1, 1, 8, name.bytes}, Name{1, 1, 7, name.bytes + 1}})
        EXPECT_EQ(other.take(others, 0, 0, 11).found, Found::begun);
}

TEST(VersionStore, AVersionGoesWithItsLastUser) {
    const OwnStore memory(8);
    const VersionStore store = memory.store();
    Version one = fetch(store, name_of(1), 10);
    Version other = find(store, name_of(1), 0).version;
    Version moved = std::move(one);
    EXPECT_FALSE(one);
    moved = {};
    EXPECT_EQ(store.used_bytes(), unit);
    EXPECT_EQ(find(store, name_of(1), 10).found, Found::complete);
    other = {};
    EXPECT_EQ(store.used_bytes(), 0u);
    EXPECT_EQ(find(store, name_of(1), 0).found, Found::begun) << "for the caller to fetch";
    EXPECT_EQ(store.used_bytes(), 0u) << "and it has given that up";
}

TEST(VersionStore, MemoryGoesBackToTheSystemOnRequest) {
    const OwnStore memory(8);
    const VersionStore store = memory.store();
    Version one = fetch(store, name_of(1, 2 * unit), 10);
    Version other = find(store, name_of(1, 2 * unit), 10).version;
    std::byte* const place = one.data();
    one.give_up(Version::Memory::returned);
    EXPECT_FALSE(one);
    EXPECT_TRUE(is_filled(other, name_of(1, 2 * unit), 10)) << "it is used";
    other.give_up(Version::Memory::returned);
    EXPECT_EQ(store.used_bytes(), 0u);
    EXPECT_TRUE(std::all_of(place, place + 2 * unit, [](std::byte byte) { return byte == std::byte{0}; }));
    const Version again = fetch(store, name_of(1, 2 * unit), 20);
    EXPECT_EQ(again.data(), place);
    EXPECT_TRUE(is_filled(again, name_of(1, 2 * unit), 20));
}

TEST(VersionStore, AnOldVersionStaysNextToANewOne) {
    const OwnStore memory(8);
    const VersionStore store = memory.store();
    const Version old = fetch(store, name_of(1), 10);
    EXPECT_EQ(find(store, name_of(1), 10).found, Found::complete);
    const Version fresh = fetch(store, name_of(1), 20);
    EXPECT_NE(old.data(), fresh.data());
    EXPECT_TRUE(is_filled(old, name_of(1), 10));
    const Answer found = find(store, name_of(1), 11);
    ASSERT_EQ(found.found, Found::complete);
    EXPECT_EQ(found.version.data(), fresh.data());
    EXPECT_EQ(find(store, name_of(1), 21).found, Found::begun);
}

TEST(VersionStore, WhatIsBeingFetchedIsKnownUntilItIsCompleteOrGivenUp) {
    const OwnStore memory(8);
    const VersionStore store = memory.store();
    Answer begun = store.take(name_of(1), 5, 5, 10);
    ASSERT_EQ(begun.found, Found::begun);
    Answer expected = store.take(name_of(1), 5, 10, 11);
    ASSERT_EQ(expected.found, Found::arriving);
    EXPECT_FALSE(expected.version);
    EXPECT_EQ(expected.arrival.issued, 10u);
    EXPECT_TRUE(store.is_arriving(expected.arrival));
    // Issued too early to be right, or to wait for.
    EXPECT_EQ(store.take(name_of(1), 11, 0, 12).found, Found::begun);
    EXPECT_EQ(store.take(name_of(1), 5, 11, 12).found, Found::begun);
    begun.version.complete();
    EXPECT_FALSE(store.is_arriving(expected.arrival));
    EXPECT_EQ(store.take(name_of(1), 5, 10, 12).found, Found::complete);
    // A fetch that fails.
    Answer fails = store.take(name_of(2), 5, 5, 10);
    expected = store.take(name_of(2), 5, 5, 11);
    ASSERT_EQ(expected.found, Found::arriving);
    fails.version = {};
    EXPECT_FALSE(store.is_arriving(expected.arrival));
    EXPECT_EQ(store.take(name_of(2), 5, 5, 12).found, Found::begun);
}

TEST(VersionStore, WhatFindsNoRoomIsRefused) {
    const OwnStore memory(5);
    const VersionStore store = memory.store();
    EXPECT_FALSE(fetch(store, name_of(1, 6 * unit), 1));
    Version first = fetch(store, name_of(2, 2 * unit), 1);
    const Version second = fetch(store, name_of(3, unit + 1), 1);
    EXPECT_FALSE(fetch(store, name_of(4, unit + 1), 1));
    const Version third = fetch(store, name_of(5), 1);
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(store.used_bytes(), 5 * unit);
    EXPECT_FALSE(fetch(store, name_of(6), 1));
    std::byte* const place = first.data();
    first = {};
    EXPECT_FALSE(fetch(store, name_of(7, 3 * unit), 1));
    const Version again = fetch(store, name_of(8), 2);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.data(), place) << "the first place that is large enough";
    EXPECT_TRUE(is_filled(second, name_of(3, unit + 1), 1));
}

TEST(VersionStore, TheLargestPieceFillsAllOfIt) {
    for (const std::uint64_t units : {1, 63, 64, 65, 128, 200}) {
        const OwnStore memory(units);
        const VersionStore store = memory.store();
        EXPECT_EQ(store.used_bytes(), 0u);
        for (int round = 0; round < 2; ++round) {
            const Version all = fetch(store, name_of(1, units * unit), 1);
            ASSERT_TRUE(all) << units;
            EXPECT_EQ(store.used_bytes(), units * unit);
            EXPECT_FALSE(fetch(store, name_of(2), 1));
        }
        EXPECT_EQ(store.used_bytes(), 0u);
        EXPECT_FALSE(fetch(store, name_of(1, units * unit + 1), 1));
    }
}

TEST(VersionStore, OfManyVersionsOfANameSomeAreRefusedAndNoneIsLost) {
    const OwnStore memory(64);
    const VersionStore store = memory.store();
    std::vector<Version> all;
    for (NodeTime now = 1; now <= 40; ++now)
        if (Version version = fetch(store, name_of(1), now)) all.push_back(std::move(version));
    EXPECT_EQ(all.size(), 16u) << "slots of a bucket";
    EXPECT_EQ(store.used_bytes(), 16 * unit);
    for (std::size_t n = 0; n < all.size(); ++n)
        EXPECT_TRUE(is_filled(all[n], name_of(1), n + 1));
    EXPECT_EQ(find(store, name_of(1), 16).found, Found::complete);
}

TEST(VersionStore, RandomOperationsAgreeWithAModel) {
    struct Held {
        Name name;
        NodeTime issued;
        bool is_complete;
        Version version;
    };
    constexpr std::uint64_t units = 100;
    const OwnStore memory(units);
    const VersionStore store = memory.store();
    std::mt19937_64 random(5);
    std::vector<Held> held;
    std::array<std::uint64_t, 4> seen{};  // of each answer
    for (NodeTime now = 1; now < 100'000; ++now) {
        const Name name = name_of(random() % 12, unit / 2 + random() % 12 * unit);
        const NodeTime since = now - std::min<NodeTime>(now, random() % 60);
        const NodeTime expected_since = now - std::min<NodeTime>(now, random() % 40);
        const auto is = [&](const Held& one, bool complete, NodeTime from) {
            return one.name == name && one.is_complete == complete && one.issued >= std::max(since, from);
        };
        const bool complete = std::ranges::any_of(held, [&](const Held& one) { return is(one, true, 0); });
        const bool arriving =
            std::ranges::any_of(held, [&](const Held& one) { return is(one, false, expected_since); });
        Answer answer = store.take(name, since, expected_since, now);
        ++seen[static_cast<std::size_t>(answer.found)];
        ASSERT_EQ(answer.found == Found::complete, complete);
        ASSERT_EQ(answer.found == Found::arriving, !complete && arriving);
        if (answer.found == Found::complete) {
            const auto it = std::ranges::find_if(held, [&](const Held& one) {
                return is(one, true, 0) && one.version.data() == answer.version.data();
            });
            ASSERT_NE(it, held.end());
            ASSERT_TRUE(is_filled(answer.version, name, it->issued));
            held.push_back({name, it->issued, true, std::move(answer.version)});
        } else if (answer.found == Found::begun) {
            fill(answer.version, name, now);
            held.push_back({name, now, false, std::move(answer.version)});
        }
        if (!held.empty()) {
            Held& one = held[random() % held.size()];
            ASSERT_TRUE(is_filled(one.version, one.name, one.issued)) << "nobody else has written there";
            if (!one.is_complete && random() % 2 == 0) {
                one.version.complete();
                one.is_complete = true;
            }
        }
        for (std::uint64_t n = random() % 3; n != 0 && !held.empty(); --n) {
            std::swap(held[random() % held.size()], held.back());
            held.pop_back();
        }
        std::map<const std::byte*, std::uint64_t> places;
        for (const Held& one : held)
            places[one.version.data()] = (one.name.bytes + unit - 1) / unit * unit;
        std::uint64_t used = 0;
        const std::byte* end = nullptr;
        for (const auto& [place, bytes] : places) {
            ASSERT_GE(place, end) << "they overlap";
            end = place + bytes;
            used += bytes;
        }
        ASSERT_EQ(store.used_bytes(), used);
        if (now % 1000 == 0) held.clear();
    }
    for (const Found found : {Found::nothing, Found::complete, Found::arriving, Found::begun})
        EXPECT_GT(seen[static_cast<std::size_t>(found)], 1000u) << static_cast<int>(found);
}

/// Takes, fetches and gives up at random. Bytes have to be those of their name and time.
/// \return how often a version of somebody else was found
std::uint64_t hammer(const VersionStore& store, std::uint64_t seed, std::uint64_t operations,
                     std::string& wrong) {
    struct Held {
        Name name;
        std::uint64_t first_word;
        Version version;
    };
    const auto first_word = [](const Version& version) {
        std::uint64_t word = 0;
        std::memcpy(&word, version.data(), sizeof word);
        return word;
    };
    std::mt19937_64 random(seed);
    std::vector<Held> held;
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < operations && wrong.empty(); ++i) {
        const Name name = name_of(random() % 10, unit * (1 + random() % 4));
        const NodeTime now = 1 + random() % 1000;
        Answer answer = store.take(name, now / 2, never, now);
        if (answer.found == Found::begun) {
            // The name and the time in the first word, and the rest as that word says.
            const std::uint64_t word = mixed(name.key << 32 | now);
            for (std::uint64_t at = 0; at < name.bytes; at += 4096)
                std::memcpy(answer.version.data() + at, &word, sizeof word);
            answer.version.complete();
        } else if (answer.found == Found::complete) {
            ++found;
        } else {
            held.clear();
            continue;
        }
        held.push_back({name, first_word(answer.version), std::move(answer.version)});
        for (const Held& one : held)
            for (std::uint64_t at = 0; at < one.name.bytes; at += 4096) {
                std::uint64_t word = 0;
                std::memcpy(&word, one.version.data() + at, sizeof word);
                if (word != one.first_word)
                    wrong = "a version of " + std::to_string(one.name.key) + " has changed";
            }
        if (held.size() > 3) held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
    }
    return found;
}

TEST(VersionStore, ThreadsThatStandForProcessesFindNothingWrong) {
    const OwnStore memory(60);
    std::vector<std::string> wrong(4);
    std::vector<std::uint64_t> found(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < wrong.size(); ++i)
            threads.emplace_back([&, i] { found[i] = hammer(memory.store(), i, 20'000, wrong[i]); });
    }
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        EXPECT_EQ(wrong[i], "");
        EXPECT_GT(found[i], 0u);
    }
    EXPECT_EQ(memory.store().used_bytes(), 0u);
}

TEST(VersionStore, AProcessThatIsKilledLeavesNothingBrokenAndNobodyWaiting) {
    const OwnStore memory(2000);
    const VersionStore store = memory.store();
    std::string wrong;
    constexpr std::uint64_t rounds = 60;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            std::string seen;
            hammer(memory.store(), round, ~std::uint64_t{0}, seen);
            _exit(1);  // it has found something wrong
        }
        hammer(store, 1000 + round, 1000, wrong);
        ASSERT_EQ(wrong, "");
        ASSERT_EQ(kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child has found wrong bytes";
        const Version mine = fetch(store, name_of(1000 + round, 4 * unit), 1);
        ASSERT_TRUE(mine) << "the dead one has neither the lock nor all memory";
        ASSERT_TRUE(is_filled(mine, name_of(1000 + round, 4 * unit), 1));
    }
    // It had at most five versions.
    EXPECT_LE(store.used_bytes(), rounds * 5 * 4 * unit);
}

/// Each time killed one instruction later. Four processes die in the same store.
TEST(VersionStore, AUseThatIsKilledAtAnyInstructionLeavesNothingBroken) {
    if (!can_trace()) GTEST_SKIP() << "this system does not let a process be traced";
    std::optional<OwnStore> memory;
    Version before;
    std::uint64_t instructions = 1, lost = 0;
    for (bool is_over = false; !is_over; instructions += instructions_between_kills) {
        const std::uint64_t deaths = instructions / instructions_between_kills % 4;
        if (deaths == 0 || !memory) {
            before = {};
            memory.emplace(12);
            before = fetch(memory->store(), name_of(2), 1);
        }
        const VersionStore store = memory->store();
        const std::uint64_t used = store.used_bytes();
        is_over = kill_after(instructions, [&] {
            const Version mine = store.take(name_of(10 + deaths, 2 * unit), never, never, 1).version;
            if (mine) mine.complete();
        });
        const std::uint64_t taken = store.used_bytes() - used;
        ASSERT_TRUE(taken == 0 || taken == unit || taken == 2 * unit) << instructions;
        ASSERT_TRUE(!is_over || taken == 0);
        lost += taken > 0 ? 1 : 0;
        const Name name = name_of(3, 3 * unit);
        const Version mine = fetch(store, name, 1);
        ASSERT_TRUE(mine) << instructions;
        ASSERT_TRUE(is_filled(mine, name, 1)) << instructions;
        ASSERT_TRUE(is_filled(before, name_of(2), 1)) << instructions;
    }
    EXPECT_GT(lost, 30u) << "it has stopped in a use";
}

}  // namespace
}  // namespace nearfetch
