// SPDX-License-Identifier: Apache-2.0
#include "recording/recorded_process.hpp"

#include <gtest/gtest.h>

#include "recording/sampling.hpp"
#include "temporary_recording.hpp"

namespace nearfetch {
namespace {

TEST(RecordedProcess, IsCounted) {
    TemporaryRecording file(1, 4, 5000);
    file.blocking_get(0, 0, 100);
    file.blocking_get(1, 0, 100);  // its own memory
    file.locked_get(2, 64, 8);
    file.call(EventKind::put, 0);
    const RecordedProcess process = file.read({.same = 3, .changed = 2});
    EXPECT_EQ(process.rank, 1);
    EXPECT_EQ(process.ranks, 4);
    EXPECT_EQ(process.begin_ns, 5000u);
    EXPECT_EQ(process.elapsed_ns, 1'000'000'000u);
    EXPECT_TRUE(process.is_whole);
    EXPECT_EQ(process.gets, 2u);
    EXPECT_EQ(process.get_bytes, 108u);
    EXPECT_EQ(process.shared_locks, 1u);
    EXPECT_EQ(process.updates, 1u);
    EXPECT_EQ(process.largest_get, 100u);
    EXPECT_EQ(process.rereads.same, 3u);
    EXPECT_EQ(process.rereads.changed, 2u);
    EXPECT_TRUE(process.writes.empty());
}

TEST(RecordedProcess, KnowsWhenItWrote) {
    TemporaryRecording file(0, 2, 1'000'000);
    file.call(EventKind::lock, 1, true);
    file.call(EventKind::unlock, 1);
    const RecordedProcess process = file.read();
    const WriteInterval& write = process.writes.at({0, 1}).at(0);
    EXPECT_EQ(write.begin_ns, 1'000'000 + 11'000u);
    EXPECT_EQ(write.end_ns, 1'000'000 + 22'000u);
}

TEST(RecordedProcess, KnowsWhatBytesCost) {
    TemporaryRecording file;
    for (const std::uint64_t size : {8u, 1000u, 4000u, 64u, 8000u}) {
        file.get(1, 0, size);
        file.write({.kind = EventKind::flush, .target = 1, .took_ns = 5000 + 2 * size});
    }
    EXPECT_NEAR(file.read().byte_ns, 2, 0.01);
}

TEST(RecordedProcess, MayHaveBeenKilled) {
    TemporaryRecording file;
    file.blocking_get(1, 0, 100);
    file.close();
    const RecordedProcess process = read_process(file.path());
    EXPECT_FALSE(process.is_whole);
    EXPECT_EQ(process.gets, 1u);
    EXPECT_EQ(process.elapsed_ns, 12'500u);
}

TEST(RecordedProcess, KnowsItsShare) {
    TemporaryRecording file;
    file.write({.kind = EventKind::sampling, .size = Sampling::all / 8});
    const RecordedProcess process = file.read();
    EXPECT_EQ(process.share(), 0.125);
    EXPECT_EQ(process.sampled, Sampling::all / 8);
}

}  // namespace
}  // namespace nearfetch
