// SPDX-License-Identifier: Apache-2.0
#include "advice/advice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "temporary_recording.hpp"

namespace nearfetch {
namespace {

/// What is advised.
const SettingWords& settings_of(const Advice& advice) { return advice.choices.at(advice.best).settings; }

Advice advise_on(const std::vector<RecordedProcess>& processes) {
    return advise(processes, [](std::size_t done, std::size_t all) { EXPECT_LE(done, all); });
}

/// A table that is read over and over, with an acquire each time.
RecordedProcess table(TemporaryRecording& file, int times, const Rereads& seen) {
    file.lock_all();
    for (int i = 0; i < times; ++i) {
        file.sweep(1, 256 * 1024, 1024, 512);
        file.acquire("MPI_Allreduce");
    }
    return file.read(seen);
}

TEST(Advice, APromiseThatWasKeptIsAdvised) {
    TemporaryRecording file;
    const Advice advice = advise_on({table(file, 10, {.same = 1000})});
    EXPECT_EQ(settings_of(advice), (SettingWords{{"mode", "always-cache"}}));
    const Prospect& best = advice.choices.at(advice.best);
    EXPECT_TRUE(best.is_safe);
    EXPECT_GT(best.hit_ratio(), 0.9);
    EXPECT_LT(advice.choices.front().hit_ratio(), 0.9);
    EXPECT_GE(best.least_saved_s, 0.0);
    EXPECT_GE(best.most_saved_s, best.least_saved_s);
}

TEST(Advice, APromiseThatWasBrokenIsNot) {
    TemporaryRecording file;
    const Advice advice = advise_on({table(file, 10, {.same = 1000, .changed = 1})});
    EXPECT_EQ(advice.best, 0u);
    EXPECT_TRUE(settings_of(advice).empty());
    EXPECT_FALSE(advice.choices.at(1).is_safe);
    EXPECT_NE(advice.choices.at(1).why.find("1 of 1001"), std::string::npos) << advice.choices.at(1).why;
}

TEST(Advice, LittleEvidenceIsNone) {
    TemporaryRecording file;
    EXPECT_TRUE(settings_of(advise_on({table(file, 10, {.same = 5})})).empty());
}

TEST(Advice, AProcessThatWasKilledProvesNothing) {
    TemporaryRecording first, second(1);
    second.close();
    EXPECT_TRUE(
        settings_of(advise_on({table(first, 10, {.same = 1000}), read_process(second.path())})).empty());
}

TEST(Advice, LocksArePromisedIfThatGains) {
    TemporaryRecording reader, writer(1);
    // Another process holds an exclusive lock all the time: no leases.
    reader.locked_sweep(20, 64 * 1024, 1024, 512);
    writer.call(EventKind::lock, 1, true);
    writer.write({.kind = EventKind::acquire, .gap_ns = 10'000'000'000});
    writer.call(EventKind::unlock, 1);
    const Rereads seen{.same = 1000};
    const Advice advice = advise_on({reader.read(seen), writer.read()});
    EXPECT_EQ(settings_of(advice).front(), (std::pair<std::string, std::string>{"locks", "access"}));
}

TEST(Advice, TheLeastMemoryForNearlyAllOfTheGain) {
    TemporaryRecording file;
    file.lock_all();
    file.sweep(20, 512 * 1024, 1024, 1024);
    const Advice advice = advise_on({file.read()});
    ASSERT_FALSE(advice.curve.empty());
    EXPECT_GE(advice.memory_bytes, 512u << 10);
    EXPECT_LE(advice.memory_bytes, 2u << 20);
    EXPECT_TRUE(std::ranges::is_sorted(advice.curve, {}, &Prospect::memory_bytes));
    EXPECT_LT(advice.curve.front().hit_ratio(), 0.5);
    EXPECT_GT(advice.curve.back().hit_ratio(), 0.9);
    EXPECT_EQ(advice.policies.size(), 3u);
}

TEST(Advice, WhereNothingIsReadTwiceThereIsNothingToGain) {
    TemporaryRecording file;
    file.lock_all();
    for (std::uint64_t at = 0; at < 256; ++at)
        file.blocking_get(1, at * 4096, 8);
    const Advice advice = advise_on({file.read()});
    EXPECT_TRUE(settings_of(advice).empty());
    EXPECT_EQ(advice.choices.front().counters.hits, 0u);
}

TEST(Advice, OfALargeJobSomeProcessesAreReplayed) {
    std::vector<std::unique_ptr<TemporaryRecording>> files;
    std::vector<RecordedProcess> processes;
    for (Rank rank = 0; rank < 40; ++rank) {
        files.push_back(std::make_unique<TemporaryRecording>(rank, 40));
        for (int i = 0; i < 3; ++i)
            files.back()->blocking_get((rank + 1) % 40, 0, 8);
        processes.push_back(files.back()->read());
    }
    const Advice advice = advise_on(processes);
    EXPECT_LE(advice.choices.front().counters.gets, 16u * 3);
    EXPECT_GT(advice.choices.front().counters.gets, 8u * 3);
}

}  // namespace
}  // namespace nearfetch
