// SPDX-License-Identifier: Apache-2.0
// Events that were written are read again as they were, also from a file that ends anywhere.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "recording/event_reader.hpp"
#include "temporary_recording.hpp"

namespace nearfetch {
namespace {

/// Numbers of all lengths.
std::uint64_t any_number(std::mt19937_64& random) { return random() >> (random() % 64); }

std::vector<Event> random_events(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Event> events(1000);
    for (Event& event : events) {
        event.kind = static_cast<EventKind>(random() % static_cast<std::uint64_t>(EventKind::end));
        event.flag = random() % 2 == 0;
        event.window = static_cast<std::uint32_t>(random() % 1000);
        event.target = static_cast<Rank>(random() % 4096);
        event.gap_ns = any_number(random);
        event.took_ns = any_number(random);
        event.size = any_number(random);
        if (event.is_access()) event.offset = any_number(random);
        event.values.resize(random() % 100 == 0 ? 20'000 : random() % 4);
        std::ranges::generate(event.values, [&] { return any_number(random); });
    }
    return events;
}

void expect_equal(const Event& a, const Event& b) {
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.flag, b.flag);
    EXPECT_EQ(a.window, b.window);
    EXPECT_EQ(a.target, b.target);
    EXPECT_EQ(a.gap_ns, b.gap_ns);
    EXPECT_EQ(a.took_ns, b.took_ns);
    EXPECT_EQ(a.size, b.size);
    EXPECT_EQ(a.values, b.values);
    if (a.is_access()) {
        EXPECT_EQ(a.offset, b.offset);
    }
}

TEST(EventFile, BringsBackWhatWasWritten) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<Event> events = random_events(seed);
        TemporaryRecording file;
        for (const Event& event : events)
            file.write(event);
        file.close();
        EventReader reader(file.path());
        for (int pass = 0; pass < 2; ++pass) {
            Event event;
            ASSERT_TRUE(reader.next(event) && reader.next(event));  // world and window
            for (const Event& expected : events) {
                ASSERT_TRUE(reader.next(event));
                expect_equal(expected, event);
            }
            EXPECT_FALSE(reader.next(event));
            EXPECT_FALSE(reader.is_whole());
            reader.rewind();
        }
    }
}

TEST(EventFile, IsReadAsFarAsItGoes) {
    TemporaryRecording file;
    for (int i = 0; i < 100; ++i)
        file.get(1, static_cast<std::uint64_t>(i) * 1000, 300);
    file.close();
    const std::uint64_t bytes = std::filesystem::file_size(file.path());
    std::size_t before = 102;
    for (std::uint64_t left = bytes; left-- > 20;) {
        std::filesystem::resize_file(file.path(), left);
        EventReader reader(file.path());
        std::size_t events = 0;
        for (Event event; reader.next(event);)
            ++events;
        EXPECT_LE(events, before);
        EXPECT_GE(events + 1, before);
        before = events;
    }
    EXPECT_EQ(before, 0u);
}

TEST(EventFile, OthersAreErrors) {
    EXPECT_THROW(EventReader("/nowhere/rank-0.events"), Error);
    EXPECT_THROW(EventWriter("/nowhere/rank-0.events"), Error);
    TemporaryRecording file;
    file.close();
    std::ofstream(file.path()) << "something else";
    EXPECT_THROW(EventReader(file.path()), Error);
    EXPECT_THROW(EventWriter(file.path()), Error) << "there is a file already";
}

TEST(EventFile, AForkedProcessLeavesItAlone) {
    TemporaryRecording file;
    file.get(1, 0, 8);
    const pid_t child = fork();
    if (child == 0) {
        file.close();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    file.close();
    EventReader reader(file.path());
    std::size_t events = 0;
    for (Event event; reader.next(event);)
        ++events;
    EXPECT_EQ(events, 3u);
}

TEST(EventFile, DamageIsNoCrash) {
    TemporaryRecording file;
    for (int i = 0; i < 200; ++i)
        file.get(1, static_cast<std::uint64_t>(i) * 1000, 300, {0, 100, 500, 200});
    file.close();
    std::ifstream in(file.path(), std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    std::mt19937_64 random(7);
    for (int i = 0; i < 300; ++i) {
        std::string damaged = whole;
        for (int k = 0; k < 5; ++k)
            damaged[20 + random() % (damaged.size() - 20)] = static_cast<char>(random());
        std::ofstream(file.path(), std::ios::binary) << damaged;
        EventReader reader(file.path());
        std::size_t events = 0;
        for (Event event; reader.next(event);)
            ++events;
        EXPECT_LE(events, whole.size());
    }
}

}  // namespace
}  // namespace nearfetch
