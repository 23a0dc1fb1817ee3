// SPDX-License-Identifier: Apache-2.0
//
// Gets and puts of the page cache by hand: messages and waits; and its settings.

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "page_cache_rig.hpp"

namespace nearfetch {
namespace {

using testing::PageCacheRig;
using testing::small_config;

TEST(PageCacheGets, AMissFetchesWholeLinesOnce) {
    PageCacheRig rig(small_config());
    EXPECT_EQ(rig.sent_by_read(0, 100, 8), "g64+64");
    EXPECT_TRUE(rig.reads(0, 64, 64));
    EXPECT_EQ(rig.sent_by_read(0, 127, 1), "");
    EXPECT_EQ(rig.sent_by_read(1, 100, 8), "g64+64") << "another rank's line is another line";
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_EQ(counters.hits, 2u);
    EXPECT_EQ(counters.misses, 2u);
    EXPECT_EQ(counters.get_messages, 2u);
    EXPECT_EQ(counters.get_message_bytes, 128u);
}

TEST(PageCacheGets, LinesAndPagesAreCrossedInOneMessage) {
    PageCacheRig rig(small_config());
    EXPECT_EQ(rig.sent_by_read(0, 60, 8), "g0+128");
    EXPECT_EQ(rig.sent_by_read(0, 2044, 8), "g1984+128");
    EXPECT_EQ(rig.sent_by_read(0, 3000, 2047), "g2944+2112") << "the largest get that goes through the pages";
    EXPECT_EQ(rig.sent_by_read(0, 2944, 2047), "");
    rig.cache.check_invariants();
}

TEST(PageCacheGets, OnlyWhatIsMissingIsFetched) {
    PageCacheRig rig(small_config());
    EXPECT_TRUE(rig.reads(0, 0, 64));
    EXPECT_TRUE(rig.reads(0, 192, 64));
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 0, 256), "g64+128") << "the gap";
    EXPECT_TRUE(rig.reads(0, 448, 64));
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 384, 192), "g384+192") << "two gaps are one message";
}

TEST(PageCacheGets, RoundingStopsAtTheSegment) {
    PageCacheRig rig(small_config());
    rig.part = {200, 1000};
    EXPECT_EQ(rig.sent_by_read(0, 200, 8), "g200+56");
    EXPECT_EQ(rig.sent_by_read(0, 992, 8), "g960+40");
    EXPECT_EQ(rig.sent_by_read(0, 200, 800), "g256+704");
    rig.prefetch(0, 0, 5000);
    EXPECT_EQ(rig.sent(), "");
}

TEST(PageCacheGets, AFailedGetKeepsNothing) {
    PageCacheRig rig(small_config());
    std::byte to[8];
    GetRequest request(0, 100, 8, to, rig.part, rig.now);
    Step step = rig.cache.get(rig.task, request);
    ASSERT_EQ(step.kind, Step::Kind::start);
    rig.start(*step.operation);
    rig.finish(0, 77);
    EXPECT_EQ(rig.cache.get(rig.task, request).kind, Step::Kind::done);
    EXPECT_EQ(request.status, 77);
    EXPECT_EQ(rig.cache.operations().in_flight(), 0u);
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 100, 8), "g64+64");
    // An operation that the transport refuses.
    GetRequest refused(0, 500, 8, to, rig.part, rig.now);
    step = rig.cache.get(rig.task, refused);
    rig.cache.complete(*step.operation, 78, rig.now);
    EXPECT_EQ(rig.cache.get(rig.task, refused).kind, Step::Kind::done);
    EXPECT_EQ(refused.status, 78);
    rig.cache.check_invariants();
}

// A complete GET is merged later, but no function of the cache may show that.
TEST(PageCacheGets, CompleteGetsAreMergedBeforeTheirPagesAreUsed) {
    PageCacheRig rig(small_config());
    const auto there = [&](std::uint64_t offset) {
        return rig.cache.find(rig.task, 0, offset, 8) != nullptr;
    };
    EXPECT_TRUE(rig.reads(0, 0, 8));
    EXPECT_FALSE(there(0));
    EXPECT_FALSE(rig.cache.merge_fetched(1, 0, 8)) << "another rank's";
    EXPECT_FALSE(rig.cache.merge_fetched(0, 64, 8)) << "another line";
    EXPECT_TRUE(rig.cache.merge_fetched(0, 8, 8));
    EXPECT_TRUE(there(8));
    EXPECT_FALSE(rig.cache.merge_fetched(0, 8, 8)) << "once";
    // While the next GET travels.
    EXPECT_TRUE(rig.reads(0, 4096, 8));
    EXPECT_FALSE(there(4096));
    std::byte to[8];
    GetRequest next(0, 8192, 8, to, rig.part, rig.now);
    rig.start(*rig.cache.get(rig.task, next).operation);
    EXPECT_TRUE(there(4096));
    rig.finish_all();
    EXPECT_EQ(rig.cache.operations().in_flight(), 0u);
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 8192, 64), "");
    // A put of these bytes, an acquire, a put next to them that is sent at once.
    EXPECT_TRUE(rig.reads(0, 12288, 8));
    rig.put(0, 12288, 4, 0x55);
    rig.release();
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 12288, 64), "");
    EXPECT_TRUE(rig.reads(0, 16384, 8));
    rig.cache.acquire(rig.task);
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 16384, 8), "g16384+64");
    EXPECT_TRUE(rig.reads(0, 20480, 8));
    rig.cache.acquire(0, {20480, 20481});
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 20480, 8), "g20480+64");
    rig.cache.check_invariants();
    EXPECT_EQ(rig.cache.counters().waits, 0u);
}

TEST(PageCacheGets, TheSecondOneWaitsForTheFirstOnesTransfer) {
    PageCacheRig rig(small_config());
    std::byte to[2][8];
    GetRequest first(0, 0, 8, to[0], rig.part, rig.now), second(0, 8, 8, to[1], rig.part, rig.now);
    rig.start(*rig.cache.get(rig.task, first).operation);
    const Step step = rig.cache.get(rig.task, second);
    EXPECT_EQ(step.kind, Step::Kind::wait);
    EXPECT_EQ(step.operation, rig.flights[0].op);
    rig.finish(0);
    EXPECT_FALSE(step.is_outstanding());
    EXPECT_EQ(rig.cache.get(rig.task, second).kind, Step::Kind::done);
    EXPECT_EQ(rig.cache.get(rig.task, first).kind, Step::Kind::done);
    EXPECT_EQ(to[1][0], rig.memory[0][8]);
    EXPECT_EQ(rig.cache.counters().pending_hits, 1u);
    EXPECT_EQ(rig.cache.counters().get_messages, 1u);
}

TEST(PageCacheGets, WithoutAnyPageTheyAreServedAllTheSame) {
    PageCacheConfig config = small_config();
    config.capacity_bytes = 2048;
    config.dirty_pages = 1;
    PageCacheRig rig(config);
    std::byte to[3][8];
    GetRequest a(0, 0, 8, to[0], rig.part), b(0, 4096, 8, to[1], rig.part), c(0, 8192, 8, to[2], rig.part);
    for (GetRequest* request : {&a, &b, &c})
        rig.start(*rig.cache.get(rig.task, *request).operation);
    EXPECT_EQ(rig.cache.counters().not_admitted, 1u);
    rig.finish_all();
    EXPECT_EQ(rig.cache.get(rig.task, c).kind, Step::Kind::done);
    EXPECT_EQ(std::memcmp(to[2], &rig.memory[0][8192], 8), 0);
    rig.cache.check_invariants();
}

// For prefetched arrays: current bytes in an exact message, with own writes on top.
TEST(PageCacheGets, BypassingPagesNeitherReadsNorFillsThem) {
    PageCacheRig rig(small_config());
    EXPECT_EQ(rig.sent_by_read(1, 64, 8), "g64+64");
    const auto bypassing = [&](std::uint64_t offset, std::uint64_t size) {
        std::vector<std::byte> bytes(size);
        GetRequest request(1, offset, size, bytes.data(), rig.part, rig.now);
        request.bypass_pages = true;
        const TaskClock nothing_is_fresh{~Stamp{0}};
        rig.drive([&] { return rig.cache.get(nothing_is_fresh, request); });
        EXPECT_EQ(request.status, 0);
        return bytes;
    };
    rig.memory[1][70] = std::byte{99};  // written by another rank
    std::vector<std::byte> bytes = bypassing(60, 16);
    EXPECT_EQ(rig.sent(), "g60+16");
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), rig.memory[1].begin() + 60));
    EXPECT_EQ(rig.get(1, 70, 1)[0], PageCacheRig::original(1, 70)) << "no acquire: the page is as it was";
    EXPECT_EQ(rig.sent(), "");
    EXPECT_EQ(rig.sent_by_read(1, 56, 4), "g0+64") << "and what was fetched is in no page";

    rig.put(1, 72, 2, 7);
    bytes = bypassing(60, 16);
    EXPECT_EQ(bytes[10], std::byte{99});
    EXPECT_EQ(bytes[12], std::byte{7});
    EXPECT_EQ(bytes[13], std::byte{7});
}

TEST(PageCachePuts, ExactlyTheWrittenBytesAreSent) {
    PageCacheRig rig(small_config());
    rig.put(0, 3, 2, 200);
    rig.put(0, 7, 2, 201);
    rig.put(0, 1000, 1, 202);
    EXPECT_EQ(rig.sent(), "");
    rig.release();
    EXPECT_EQ(rig.sent(), "p3+2 p7+2 p1000+1");
    for (std::uint64_t i = 0; i < 1024; ++i) {
        const bool written = (i >= 3 && i < 5) || (i >= 7 && i < 9) || i == 1000;
        EXPECT_EQ(rig.memory[0][i] == PageCacheRig::original(0, i), !written) << i;
    }
    EXPECT_EQ(rig.cache.occupancy().dirty_pages, 0u);
    rig.release();
    EXPECT_EQ(rig.sent(), "");
}

TEST(PageCachePuts, NeighboursShareMessagesUpToFourPages) {
    PageCacheConfig config = small_config();
    config.dirty_pages = 8;
    PageCacheRig rig(config);
    for (std::uint64_t i = 0; i < 6 * 128; ++i)
        rig.put(0, 512 + i * 8, 8, static_cast<int>(i));
    EXPECT_EQ(rig.cache.counters().puts, 6u * 128);
    rig.release();
    // 512 bytes in the first page, then five pages, then 512 bytes: whole pages only, at most 4096 bytes.
    EXPECT_EQ(rig.sent(), "p512+3584 p4096+2560");
    for (std::uint64_t i = 0; i < 6 * 128; ++i)
        ASSERT_EQ(rig.memory[0][512 + i * 8], static_cast<std::byte>(i));
    // In descending order, and once with one page per message.
    for (std::uint64_t i = 6 * 128; i-- > 0;)
        rig.put(0, 512 + i * 8, 8, 7);
    rig.release();
    EXPECT_EQ(rig.sent(), "p3072+3584 p512+2560");
    config.combine_pages = false;
    PageCacheRig single(config);
    for (std::uint64_t i = 0; i < 2 * 128; ++i)
        single.put(0, 512 + i * 8, 8, 7);
    single.release();
    EXPECT_EQ(single.sent(), "p512+512 p1024+1024 p2048+512");
}

TEST(PageCachePuts, TheDirtyLimitCleansWhatWasNotWrittenForLongest) {
    PageCacheRig rig(small_config());  // 4 dirty pages
    for (std::uint64_t page : {0, 2, 4, 6})
        rig.put(0, page * 1024, 8, 1);
    rig.put(0, 8, 8, 1);  // page 0 again
    EXPECT_EQ(rig.sent(), "");
    rig.put(0, 8 * 1024, 8, 1);
    EXPECT_EQ(rig.sent(), "p2048+8");
    EXPECT_EQ(rig.waits, 0u) << "cleaning does not wait";
    EXPECT_EQ(rig.cache.occupancy().dirty_pages, 4u);
    EXPECT_EQ(rig.memory[0][2048], PageCacheRig::original(0, 2048)) << "still on its way";
    rig.release();
    EXPECT_EQ(rig.waits, 5u);
    EXPECT_EQ(rig.memory[0][2048], std::byte{1});
}

TEST(PageCachePuts, FullMessagesLeaveWhenHalfOfTheEntriesAreInUse) {
    PageCacheConfig config = small_config();
    config.dirty_pages = 8;
    PageCacheRig rig(config);
    const auto write = [&rig](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin; at < end; at += 8)
            rig.put(0, at, 8, 1);
    };
    write(0, 4096);
    EXPECT_EQ(rig.sent(), "");
    write(4096, 4104);
    EXPECT_EQ(rig.sent(), "p0+4096");
    // Neither pages that may still fill up, nor partly written ones.
    write(8192, 8192 + 3 * 1024 - 8);
    write(20480, 20488);
    write(24576, 24584);
    EXPECT_EQ(rig.cache.occupancy().dirty_pages, 6u);
    EXPECT_EQ(rig.sent(), "");
    config.combine_pages = false;
    PageCacheRig single(config);
    for (std::uint64_t page = 0; page < 6; ++page)
        single.put(0, page * 1024, std::vector<std::byte>(page < 2 ? 1024 : 8));
    EXPECT_EQ(single.sent(), "p0+1024 p1024+1024");
    rig.release();
    single.release();
    rig.cache.check_invariants();
}

TEST(PageCachePuts, WhatWasWrittenIsReadWithoutTheNetwork) {
    PageCacheRig rig(small_config());
    rig.put(0, 100, 8, 9);
    EXPECT_EQ(rig.get(0, 100, 8), std::vector<std::byte>(8, std::byte{9}));
    EXPECT_EQ(rig.get(0, 102, 3), std::vector<std::byte>(3, std::byte{9}));
    EXPECT_EQ(rig.sent(), "");
    // Written after another's acquire: dirty bytes are always the newest.
    rig.cache.acquire(rig.task);
    EXPECT_EQ(rig.get(0, 100, 8), std::vector<std::byte>(8, std::byte{9}));
    EXPECT_EQ(rig.sent(), "");
    // The rest of the line is fetched bypassing it, without write-back or wait.
    std::vector<std::byte> expected(&rig.memory[0][64], &rig.memory[0][128]);
    for (std::uint64_t i = 36; i < 44; ++i)
        expected[i] = std::byte{9};
    EXPECT_EQ(rig.get(0, 64, 64), expected);
    EXPECT_EQ(rig.sent(), "g64+64");
    EXPECT_EQ(rig.waits, 1u);
    EXPECT_EQ(rig.get(0, 64, 64), expected);
    EXPECT_EQ(rig.sent(), "");
    rig.release();
    EXPECT_EQ(rig.sent(), "p100+8");
}

TEST(PageCachePuts, WaitForWritesIsThePapersWay) {
    PageCacheConfig config = small_config();
    config.wait_for_writes = true;
    PageCacheRig rig(config);
    rig.put(0, 100, 8, 9);
    EXPECT_EQ(rig.get(0, 100, 8), std::vector<std::byte>(8, std::byte{9}));
    EXPECT_EQ(rig.sent(), "");
    rig.get(0, 512, 8);  // another line of the page
    EXPECT_EQ(rig.sent(), "p100+8 g512+64");
    EXPECT_EQ(rig.waits, 2u);
    // Of its own page only.
    rig.put(0, 2048, 8, 9);
    ReleaseRequest release;
    rig.start(*rig.cache.release(release).operation);
    std::byte to[8];
    GetRequest before(0, 2040, 8, to, rig.part), after(0, 3072, 8, to, rig.part);
    for (GetRequest* get : {&before, &after}) {
        const Step step = rig.cache.get(rig.task, *get);
        ASSERT_EQ(step.kind, Step::Kind::start);
        rig.start(*step.operation);
    }
}

TEST(PageCachePuts, ALineThatWasWrittenWhollyStaysReadable) {
    PageCacheRig rig(small_config());
    rig.put(0, 64, 72, 9);
    rig.release();
    EXPECT_EQ(rig.sent(), "p64+72");
    EXPECT_EQ(rig.sent_by_read(0, 64, 64), "");
    EXPECT_EQ(rig.sent_by_read(0, 128, 8), "g128+64");
    rig.cache.acquire(rig.task);
    EXPECT_EQ(rig.sent_by_read(0, 64, 64), "g64+64");
}

TEST(PageCacheConfig, SettingsThatMakeNoSenseAreRefusedByName) {
    const auto message = [](auto&& change) {
        PageCacheConfig config;
        change(config);
        try {
            PageCache cache(config);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    using C = PageCacheConfig;
    EXPECT_EQ(message([](C& c) { c.line_bytes = 48; }),
              "line_bytes = 48 (lines are found by shifts): use a power of two from 8 to 65536");
    EXPECT_NE(message([](C& c) { c.page_bytes = 8192; }).find("use a power of two from 64 to 4096"),
              std::string::npos);
    EXPECT_EQ(message([](C& c) { c.page_bytes = 32; }).rfind("page_bytes = 32", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.capacity_bytes = 1024; }).rfind("capacity_bytes = 1024", 0), 0u);
    EXPECT_NE(message([](C& c) { c.dirty_pages = 513; }).find("use a number from 1 to 512"),
              std::string::npos);
    EXPECT_EQ(message([](C& c) { c.dirty_pages = 0; }).rfind("dirty_pages = 0", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.operations = 1; }).rfind("operations = 1", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.bulk_bytes = 0; }).rfind("bulk_bytes = 0", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.read_ahead_items = 0; }).rfind("read_ahead_items = 0", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.new_percent = 100; }).rfind("new_percent = 100", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.names_percent = 0; }).rfind("names_percent = 0", 0), 0u);
    EXPECT_EQ(message([](C& c) { c.policy = "lifo"; }),
              "policy = lifo (there is none of that name): use 2q or s3fifo");
    EXPECT_NE(
        message([](C& c) { c.capacity_bytes = 1ull << 41; }).find("use a size from 2048 to 68719476736"),
        std::string::npos);
    EXPECT_EQ(message([](C&) {}), "accepted");
}

}  // namespace
}  // namespace nearfetch
