// SPDX-License-Identifier: Apache-2.0
//
// Conflicting operations of the page cache, acquires and releases: who waits for whom, by hand.

#include <gtest/gtest.h>

#include <optional>

#include "page_cache_rig.hpp"

namespace nearfetch {
namespace {

using testing::PageCacheRig;
using testing::small_config;

TEST(PageCacheConflicts, AGetWaitsForThePutOfItsLineAndNoOther) {
    PageCacheRig rig(small_config());
    rig.put(0, 100, 8, 9);
    ReleaseRequest release;
    Step step = rig.cache.release(release);
    rig.start(*step.operation);
    EXPECT_EQ(rig.cache.release(release).kind, Step::Kind::wait);
    std::byte to[8];
    GetRequest other(0, 128, 8, to, rig.part), same(0, 64, 8, to, rig.part);
    step = rig.cache.get(rig.task, same);
    EXPECT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation->kind, Operation::Kind::put);
    step = rig.cache.get(rig.task, other);
    EXPECT_EQ(step.kind, Step::Kind::start);
    rig.start(*step.operation);
    rig.finish(0);
    EXPECT_EQ(rig.cache.get(rig.task, same).kind, Step::Kind::start);
}

/// A task that acquires and reads the first line repeatedly.
class Poller {
  public:
    explicit Poller(PageCacheRig& rig) : rig_(rig) {}
    /// Begins the next get. \return its first step
    Step next() {
        rig_.cache.acquire(task_);
        get_.emplace(0, 0u, 8u, flag_, rig_.part, rig_.now);
        const Step step = ask();
        if (step.kind == Step::Kind::start) rig_.start(*step.operation);
        return step;
    }
    Step ask() { return rig_.cache.get(task_, *get_); }
    /// Its get completes, and it begins the next one.
    void again() {
        rig_.finish(0);
        EXPECT_EQ(ask().kind, Step::Kind::done);
        EXPECT_EQ(next().kind, Step::Kind::start);
    }

  private:
    PageCacheRig& rig_;
    TaskClock task_;
    std::byte flag_[8];
    std::optional<GetRequest> get_;
};

TEST(PageCacheConflicts, AGetIsNotHeldUpByATaskThatPollsItsLine) {
    PageCacheRig rig(small_config());
    Poller poller(rig);
    std::byte to[8];
    rig.put(0, 16, 8, 5);  // part of the line, unsent
    GetRequest waiting(0, 8, 8, to, rig.part, rig.now);
    ASSERT_EQ(poller.next().kind, Step::Kind::start);
    ASSERT_EQ(rig.cache.get(rig.task, waiting).kind, Step::Kind::wait);
    poller.again();  // before this get is advanced
    Step step = rig.cache.get(rig.task, waiting);
    ASSERT_EQ(step.kind, Step::Kind::start) << "it fetches the line itself";
    rig.start(*step.operation);
    rig.cache.check_invariants();
    rig.finish(0);
    ASSERT_EQ(poller.ask().kind, Step::Kind::done);
    // The line is in its page. A write-back must still wait for the second GET, because its request gets the
    // dirty bytes from the page.
    ReleaseRequest release;
    step = rig.cache.release(release);
    ASSERT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation, rig.flights[0].op);
    rig.finish(0);
    EXPECT_EQ(rig.cache.get(rig.task, waiting).kind, Step::Kind::done);
    EXPECT_EQ(std::memcmp(to, &rig.memory[0][8], 8), 0);
    rig.drive([&] { return rig.cache.release(release); });
    EXPECT_EQ(rig.sent(), "g0+64 g0+64 g0+64 p16+8");
    rig.cache.check_invariants();
}

/// A task that writes to a line and releases it repeatedly.
class Writer {
  public:
    explicit Writer(PageCacheRig& rig) : rig_(rig) {}
    /// Until its next PUT is outstanding, or it has to wait. \return its last step
    Step next() {
        if (!release_) {
            rig_.put(0, 16, 8, ++value_);
            release_.emplace();
        }
        const Step step = rig_.cache.release(*release_);
        if (step.kind == Step::Kind::start) rig_.start(*step.operation);
        if (step.kind == Step::Kind::done) release_.reset();
        return step;
    }
    /// Its PUT completes, and it begins the next one.
    void again() {
        rig_.finish(0);
        EXPECT_EQ(next().kind, Step::Kind::done);
        EXPECT_EQ(next().kind, Step::Kind::start);
    }
    int value() const { return value_; }

  private:
    PageCacheRig& rig_;
    std::optional<ReleaseRequest> release_;
    int value_ = 0;
};

TEST(PageCacheConflicts, AGetIsNotHeldUpByATaskThatWritesToItsLineAgainAndAgain) {
    for (const std::uint64_t size : {24u, 5000u}) {
        SCOPED_TRACE(size);
        PageCacheRig rig(small_config());
        Writer writer(rig);
        std::vector<std::byte> to(size);
        GetRequest get(0, 0, size, to.data(), rig.part, rig.now);
        ASSERT_EQ(writer.next().kind, Step::Kind::start);
        Step step = rig.cache.get(rig.task, get);
        ASSERT_EQ(step.kind, Step::Kind::wait);
        EXPECT_EQ(step.operation->kind, Operation::Kind::put) << "that was there before it";
        writer.again();
        // The next PUT is started before the get is advanced. The get is deferred behind it.
        step = rig.cache.get(rig.task, get);
        ASSERT_EQ(step.kind, Step::Kind::wait);
        EXPECT_EQ(step.operation->kind, Operation::Kind::get);
        EXPECT_EQ(rig.sent(), "p16+8 p16+8");
        rig.cache.check_invariants();
        rig.finish(0);
        EXPECT_EQ(rig.sent(), size == 24 ? "g0+64" : "g0+5000") << "started without its task";
        EXPECT_TRUE(step.is_outstanding());
        ASSERT_EQ(writer.next().kind, Step::Kind::done);
        EXPECT_EQ(writer.next().kind, size == 24 ? Step::Kind::wait : Step::Kind::start);
        rig.cache.check_invariants();
        rig.finish(0);
        ASSERT_EQ(rig.cache.get(rig.task, get).kind, Step::Kind::done);
        EXPECT_EQ(get.status, 0);
        EXPECT_EQ(to[8], rig.original(0, 8));
        EXPECT_GE(static_cast<int>(to[16]), 2) << "what was written before it began";
        rig.finish_all();
        rig.release();
        EXPECT_EQ(static_cast<int>(rig.memory[0][16]), writer.value());
    }
}

TEST(PageCacheConflicts, AReleaseIsNotHeldUpByATaskThatPollsItsLine) {
    PageCacheRig rig(small_config());
    Poller poller(rig);
    ASSERT_EQ(poller.next().kind, Step::Kind::start);
    rig.put(0, 16, 8, 5);
    ReleaseRequest release;
    Step step = rig.cache.release(release);
    ASSERT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation->kind, Operation::Kind::get);
    poller.again();
    step = rig.cache.release(release);
    ASSERT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation->kind, Operation::Kind::put) << "its place behind the second poll";
    rig.put(0, 18, 1, 6);  // in time
    rig.sent();
    rig.finish(0);
    ASSERT_EQ(poller.ask().kind, Step::Kind::done);
    EXPECT_EQ(rig.sent(), "p16+8");
    EXPECT_EQ(poller.next().kind, Step::Kind::wait) << "a third one has to wait for it";
    rig.cache.check_invariants();
    rig.finish(0);
    EXPECT_EQ(rig.cache.release(release).kind, Step::Kind::done);
    EXPECT_EQ(rig.memory[0][17], std::byte{5});
    EXPECT_EQ(rig.memory[0][18], std::byte{6});
    rig.drive([&] { return poller.ask(); });
    EXPECT_EQ(rig.cache.operations().in_flight(), 0u);
}

TEST(PageCacheConflicts, ALargePutIsNotHeldUpByATaskThatPollsItsLine) {
    PageCacheRig rig(small_config());
    Poller poller(rig);
    rig.put(0, 16, 8, 5);
    poller.next();
    const std::vector<std::byte> large(4096, std::byte{60});
    PutRequest put(0, 16, large.size(), large.data());
    ASSERT_EQ(rig.cache.put(put).kind, Step::Kind::wait);
    poller.again();
    const Step step = rig.cache.put(put);
    ASSERT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation->kind, Operation::Kind::put) << "what it replaces goes first, in its turn";
    rig.sent();
    rig.finish(0);
    EXPECT_EQ(rig.sent(), "p16+8");
    rig.drive([&] { return rig.cache.put(put); });
    EXPECT_EQ(rig.sent(), "p16+4096");
    EXPECT_EQ(rig.memory[0][16], std::byte{60});
}

TEST(PageCacheConflicts, AGetInLineBehindAPutThatFailsFails) {
    PageCacheRig rig(small_config());
    Writer writer(rig);
    std::byte to[8];
    GetRequest get(0, 0, 8, to, rig.part, rig.now);
    ASSERT_EQ(writer.next().kind, Step::Kind::start);
    ASSERT_EQ(rig.cache.get(rig.task, get).kind, Step::Kind::wait);
    writer.again();
    ASSERT_EQ(rig.cache.get(rig.task, get).operation->kind, Operation::Kind::get);
    rig.finish(0, 55);
    EXPECT_EQ(rig.cache.get(rig.task, get).kind, Step::Kind::done);
    EXPECT_EQ(get.status, 55);
    rig.cache.check_invariants();
    rig.release();
    EXPECT_EQ(rig.memory[0][16], std::byte{2}) << "what could not be written stays";
    EXPECT_EQ(rig.cache.operations().in_flight(), 0u);
}

TEST(PageCacheConflicts, AWriteBackWaitsForTheGetOfItsLine) {
    PageCacheRig rig(small_config());
    std::byte to[8];
    GetRequest get(0, 0, 8, to, rig.part);
    rig.start(*rig.cache.get(rig.task, get).operation);
    rig.put(0, 16, 8, 5);  // does not wait
    EXPECT_EQ(rig.waits, 0u);
    ReleaseRequest release;
    Step step = rig.cache.release(release);
    EXPECT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation->kind, Operation::Kind::get);
    rig.finish(0);
    EXPECT_EQ(rig.get(0, 16, 8), std::vector<std::byte>(8, std::byte{5})) << "what arrived went around it";
    EXPECT_EQ(rig.get(0, 24, 8), std::vector<std::byte>(&rig.memory[0][24], &rig.memory[0][32]));
    step = rig.cache.release(release);
    EXPECT_EQ(step.kind, Step::Kind::start);
    EXPECT_EQ(step.operation->offset, 16u);
}

TEST(PageCacheConflicts, AByteHasOnePutAtATime) {
    PageCacheRig rig(small_config());
    rig.put(0, 0, 8, 1);
    ReleaseRequest first, second;
    rig.start(*rig.cache.release(first).operation);
    rig.put(0, 4, 8, 2);
    EXPECT_EQ(rig.cache.release(first).kind, Step::Kind::wait);
    Step step = rig.cache.release(second);
    EXPECT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation, rig.flights[0].op);
    rig.finish(0);
    EXPECT_EQ(rig.cache.release(first).kind, Step::Kind::done) << "what was written later is not its concern";
    rig.drive([&] { return rig.cache.release(second); });
    EXPECT_EQ(rig.sent(), "p0+8 p4+8");
    EXPECT_EQ(rig.memory[0][3], std::byte{1});
    EXPECT_EQ(rig.memory[0][4], std::byte{2});
}

TEST(PageCacheConflicts, WithoutAFreeOperationTheOldestIsWaitedFor) {
    PageCacheConfig config = small_config();
    config.operations = 2;
    PageCacheRig rig(config);
    std::byte to[3][8];
    GetRequest a(0, 0, 8, to[0], rig.part), b(0, 4096, 8, to[1], rig.part), c(0, 8192, 8, to[2], rig.part);
    rig.start(*rig.cache.get(rig.task, a).operation);
    rig.start(*rig.cache.get(rig.task, b).operation);
    const Step step = rig.cache.get(rig.task, c);
    EXPECT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation, rig.flights[0].op);
}

TEST(PageCacheConflicts, ARunStopsBeforeALineThatIsFetched) {
    for (const bool before : {true, false}) {
        SCOPED_TRACE(before ? "before" : "after");
        PageCacheRig rig(small_config());
        rig.put(0, before ? 1024 : 960, 64, 5);  // written first, so that it is cleaned first
        std::byte to[8];
        const std::uint64_t line = before ? 960 : 1024;
        GetRequest get(0, line, 8, to, rig.part);
        rig.start(*rig.cache.get(rig.task, get).operation);
        rig.put(0, line, 64, 6);
        rig.sent();
        ReleaseRequest release;
        rig.start(*rig.cache.release(release).operation);
        EXPECT_EQ(rig.sent(), before ? "p1024+64" : "p960+64");
        EXPECT_EQ(rig.cache.release(release).kind, Step::Kind::wait);
        rig.finish(0);
        rig.start(*rig.cache.release(release).operation);
        EXPECT_EQ(rig.sent(), before ? "p960+64" : "p1024+64");
    }
}

TEST(PageCacheConflicts, ALargePutLeavesWrittenBytesToAGetUnderWay) {
    PageCacheRig rig(small_config());
    rig.put(0, 8, 1, 50);
    std::byte to[8];
    GetRequest get(0, 8, 8, to, rig.part);
    rig.start(*rig.cache.get(rig.task, get).operation);
    const std::vector<std::byte> large(4096, std::byte{60});
    PutRequest put(0, 0, large.size(), large.data());
    const Step step = rig.cache.put(put);
    ASSERT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation, rig.flights[0].op);
    rig.finish(0);
    EXPECT_EQ(to[0], std::byte{50}) << "the reader's process had written that before it read";
    rig.drive([&] { return rig.cache.put(put); });
    EXPECT_TRUE(rig.reads(0, 8, 8));
    // Clean bytes wait for nothing.
    GetRequest other(0, 8192, 8, to, rig.part);
    rig.start(*rig.cache.get(rig.task, other).operation);
    PutRequest more(0, 8192, large.size(), large.data());
    EXPECT_EQ(rig.cache.put(more).kind, Step::Kind::start);
}

TEST(PageCacheConflicts, TheRestOfAPageIsNotReadAroundAPut) {
    PageCacheConfig config = small_config(true);
    PageCacheRig rig(config);
    EXPECT_TRUE(rig.reads(0, 0, 8));
    rig.put(0, 640, 8, 5);
    ReleaseRequest release;
    rig.start(*rig.cache.release(release).operation);
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 64, 8), "g64+64");
}

TEST(PageCacheSync, AnAcquireIsTheTasksOwn) {
    PageCacheRig rig(small_config());
    TaskClock other;
    EXPECT_TRUE(rig.reads(0, 0, 8));
    rig.sent();
    rig.memory[0][0] = std::byte{99};
    rig.cache.acquire(rig.task);
    EXPECT_NE(rig.get(other, 0, 0, 8)[0], std::byte{99}) << "the other task has not acquired";
    EXPECT_EQ(rig.sent(), "");
    EXPECT_EQ(rig.sent_by_read(0, 0, 8), "g0+64");
    EXPECT_EQ(rig.sent_by_read(other, 0, 0, 8), "") << "newer than it has to be";
}

TEST(PageCacheSync, WhatWasAskedForBeforeTheAcquireIsNotUsedAfterIt) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 0, 64);
    EXPECT_EQ(rig.sent(), "g0+64");
    rig.cache.acquire(rig.task);
    EXPECT_EQ(rig.sent_by_read(0, 0, 8), "g0+64");
    EXPECT_EQ(rig.cache.counters().prefetch_unused, 1u);
    rig.cache.check_invariants();
}

TEST(PageCacheSync, WhatArrivesLateDoesNotEnterAFresherPage) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 0, 64);
    Operation* const prefetch = rig.flights[0].op;
    std::vector<std::byte> old(rig.memory[0].begin(), rig.memory[0].begin() + 64);
    rig.flights.clear();
    rig.memory[0][0] = std::byte{99};
    rig.cache.acquire(rig.task);
    EXPECT_TRUE(rig.reads(0, 512, 8)) << "another line makes the page fresh";
    std::memcpy(prefetch->buffer, old.data(), 64);
    rig.cache.complete(*prefetch, 0, rig.now);
    EXPECT_TRUE(rig.reads(0, 0, 8));
    EXPECT_EQ(rig.cache.counters().prefetch_unused, 1u);
}

TEST(PageCacheSync, AnAcquireOfARangeForgetsItsLinesOnly) {
    PageCacheRig rig(small_config());
    for (std::uint64_t offset : {0, 64, 128, 4096})
        EXPECT_TRUE(rig.reads(0, offset, 8));
    EXPECT_TRUE(rig.reads(1, 64, 8));
    rig.put(0, 68, 2, 50);
    rig.sent();
    rig.cache.acquire(0, {100, 101});
    EXPECT_TRUE(rig.reads(0, 0, 8));
    EXPECT_TRUE(rig.reads(0, 128, 8));
    EXPECT_TRUE(rig.reads(0, 4096, 8));
    EXPECT_EQ(rig.sent_by_read(1, 64, 8), "");
    EXPECT_EQ(rig.get(0, 64, 8)[4], std::byte{50}) << "what was written stays";
    EXPECT_EQ(rig.sent(), "g64+64");
    rig.cache.acquire(0, {0, ~std::uint64_t{0}});
    EXPECT_EQ(rig.sent_by_read(0, 4096, 8), "g4096+64");
}

TEST(PageCacheSync, AnEmptyRangeIsNothing) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 0, 256);
    rig.cache.acquire(0, {128, 128});  // between two lines
    rig.put(0, 400, 8, 1);
    rig.sent();
    rig.release(0, {402, 402});
    EXPECT_EQ(rig.sent(), "");
    rig.finish_all();
    EXPECT_EQ(rig.sent_by_read(0, 0, 256), "");
}

TEST(PageCacheSync, AReleaseOfARangeSendsItsPagesOnly) {
    PageCacheRig rig(small_config());
    rig.put(0, 0, 8, 1);
    rig.put(0, 4096, 8, 1);
    rig.put(1, 0, 8, 1);
    rig.release(0, {0, 100});
    EXPECT_EQ(rig.sent(), "p0+8");
    rig.release(0, {2000, 4096});
    EXPECT_EQ(rig.sent(), "");
    rig.release(1, {7, 8});
    EXPECT_EQ(rig.sent(), "p0+8");
    rig.release();
    EXPECT_EQ(rig.sent(), "p4096+8");
    EXPECT_EQ(rig.cache.counters().releases, 4u);
}

TEST(PageCacheSync, APutThatFailedIsKeptAndSentAgain) {
    PageCacheRig rig(small_config());
    rig.put(0, 0, 8, 1);
    ReleaseRequest release;
    rig.start(*rig.cache.release(release).operation);
    rig.finish(0, 55);
    EXPECT_EQ(rig.cache.operations().in_flight(), 1u);
    // Whoever needs it restarts it: a get of the line, or the next release.
    std::byte to[8];
    GetRequest get(0, 8, 8, to, rig.part);
    Step step = rig.cache.get(rig.task, get);
    ASSERT_EQ(step.kind, Step::Kind::start);
    EXPECT_EQ(step.operation->kind, Operation::Kind::put);
    rig.cache.complete(*step.operation, 55, rig.now);  // refused by the transport
    rig.release();
    EXPECT_EQ(rig.memory[0][0], std::byte{1});
    EXPECT_EQ(rig.cache.operations().in_flight(), 0u);
    EXPECT_EQ(rig.sent(), "p0+8 p0+8");
}

}  // namespace
}  // namespace nearfetch
