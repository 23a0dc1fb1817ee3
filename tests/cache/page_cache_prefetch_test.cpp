// SPDX-License-Identifier: Apache-2.0
//
// Read-ahead, prefetch hints, bulk gets and puts, and eviction: expected steps by hand.

#include <gtest/gtest.h>

#include "cache/page_cache/page_queues.hpp"
#include "page_cache_rig.hpp"

namespace nearfetch {
namespace {

using testing::PageCacheRig;
using testing::small_config;

PageCacheConfig reading_ahead() {
    PageCacheConfig config;
    config.capacity_bytes = 256 * 1024;
    return config;
}

TEST(PageCacheReadAhead, TheSecondLineBringsTheRestOfItsPage) {
    PageCacheRig rig(reading_ahead());
    EXPECT_EQ(rig.sent_by_read(0, 0, 8), "g0+64");
    EXPECT_EQ(rig.sent_by_read(0, 8, 8), "");
    EXPECT_EQ(rig.sent_by_read(0, 64, 8), "g64+960");
    EXPECT_EQ(rig.cache.counters().prefetch_lines, 14u);
    EXPECT_EQ(rig.sent_by_read(0, 72, 8), "") << "what was asked for itself does not trigger";
    // The first use of a speculative line is the trigger: the next page, and so on, further each time.
    EXPECT_EQ(rig.sent_by_read(0, 128, 8), "g1024+1024");
    EXPECT_EQ(rig.sent_by_read(0, 192, 8), "");
    EXPECT_EQ(rig.sent_by_read(0, 1024, 8), "g2048+2048");
    EXPECT_EQ(rig.sent_by_read(0, 2048, 8), "g4096+2048");
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_EQ(counters.prefetch_lines, 14u + 16 + 32 + 32);
    EXPECT_EQ(counters.prefetch_used, 4u);
    EXPECT_EQ(counters.prefetch_messages, 3u);
    EXPECT_EQ(counters.streams, 1u);
}

TEST(PageCacheReadAhead, AScanOfEightyPagesTakesTwentyFiveMessages) {
    for (const bool backwards : {false, true}) {
        SCOPED_TRACE(backwards ? "backwards" : "forwards");
        PageCacheRig rig(reading_ahead(), 80 * 1024);
        for (std::uint64_t i = 0; i < 80 * 128; ++i) {
            rig.now += 5;
            ASSERT_TRUE(rig.reads(0, (backwards ? 80 * 128 - 1 - i : i) * 8, 8));
        }
        const PageCacheCounters counters = rig.cache.counters();
        EXPECT_LE(counters.get_messages, 26u);
        EXPECT_EQ(counters.get_message_bytes, 80u * 1024) << "nothing twice, nothing beyond";
        EXPECT_EQ(counters.misses, 2u);
        EXPECT_EQ(counters.prefetch_unused, 0u);
        EXPECT_EQ(counters.prefetch_used, counters.prefetch_lines);
        EXPECT_EQ(counters.hits + counters.pending_hits + counters.misses, 80u * 128);
    }
}

TEST(PageCacheReadAhead, ThePapersOwnGoesPageByPageAndForwardsOnly) {
    PageCacheConfig config = reading_ahead();
    config.combine_pages = false;
    config.read_ahead_beyond_paper = false;
    PageCacheRig rig(config, 80 * 1024);
    for (std::uint64_t i = 0; i < 80 * 128; ++i)
        ASSERT_TRUE(rig.reads(0, i * 8, 8));
    EXPECT_EQ(rig.cache.counters().get_messages, 81u);
    rig.cache.acquire(rig.task);
    rig.sent();
    EXPECT_TRUE(rig.reads(1, 128, 8));
    EXPECT_TRUE(rig.reads(1, 64, 8));
    EXPECT_EQ(rig.sent_by_read(1, 0, 8), "g128+64 g64+64 g0+64");
}

TEST(PageCacheReadAhead, AStreamThatMadeRoomIsNotReadAheadFor) {
    PageCacheRig rig(reading_ahead());
    EXPECT_TRUE(rig.reads(0, 0, 8));
    EXPECT_TRUE(rig.reads(0, 64, 8));
    std::byte to[8];
    GetRequest request(0, 128, 8, to, rig.part, rig.now);
    Step step = rig.cache.get(rig.task, request);
    ASSERT_EQ(step.kind, Step::Kind::start) << "the next page";
    rig.start(*step.operation);
    // Meanwhile another task starts as many streams as the table holds, at another target.
    for (std::uint64_t page = 64; page < 64 + 2 * 16; page += 2) {
        EXPECT_TRUE(rig.reads(1, page * 1024, 8));
        EXPECT_TRUE(rig.reads(1, page * 1024 + 64, 8));
    }
    EXPECT_EQ(rig.cache.get(rig.task, request).kind, Step::Kind::done) << "none of that is at this target";
}

TEST(PageCacheReadAhead, StridesBeyondAPageFetchTheirLinesOnly) {
    PageCacheRig rig(reading_ahead(), 1 << 20);
    for (std::uint64_t i = 0; i < 60; ++i) {
        rig.now += 1000;
        ASSERT_TRUE(rig.reads(0, 100 + i * 4096, 8));
    }
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_EQ(counters.misses, 3u) << "two distances that are equal make a stream";
    EXPECT_EQ(counters.streams, 1u);
    EXPECT_LE(counters.get_messages, 60u + 8) << "at the end as many are ahead as were asked for";
    EXPECT_EQ(counters.get_message_bytes, counters.get_messages * 64);
    EXPECT_EQ(counters.prefetch_late, 0u);
    // And backward.
    PageCacheRig back(reading_ahead(), 1 << 20);
    for (std::uint64_t i = 60; i-- > 0;) {
        back.now += 1000;
        ASSERT_TRUE(back.reads(0, 100 + i * 4096, 8));
    }
    EXPECT_EQ(back.cache.counters().misses, 3u);
    EXPECT_EQ(back.cache.counters().get_messages, 60u) << "there is nothing below 0";
}

TEST(PageCacheReadAhead, ElementsOfMoreThanALineAreASequenceToo) {
    PageCacheRig rig(reading_ahead());
    for (std::uint64_t i = 0; i < 100; ++i)
        ASSERT_TRUE(rig.reads(0, i * 1000, 1000));
    EXPECT_LE(rig.cache.counters().misses, 5u);
    EXPECT_LE(rig.cache.counters().get_messages, 40u);
}

TEST(PageCacheReadAhead, StopsAtTheSegment) {
    PageCacheRig rig(reading_ahead());
    rig.part = {0, 2500};
    for (std::uint64_t i = 0; i < 2500; i += 4)
        ASSERT_TRUE(rig.reads(0, i, 4));
    EXPECT_EQ(rig.sent(), "g0+64 g64+960 g1024+1024 g2048+452");
}

TEST(PageCacheReadAhead, WastesNoMoreThanItHasUsed) {
    // A hundred scans that stop at random.
    PageCacheRig rig(reading_ahead(), 1 << 22);
    std::uint64_t used_bytes = 0;
    for (std::uint64_t scan = 0; scan < 100; ++scan) {
        const std::uint64_t bytes = 64 + scan * 7919 % 12000;
        for (std::uint64_t i = 0; i < bytes; i += 8)
            ASSERT_TRUE(rig.reads(0, scan * 40960 + i, 8));
        used_bytes += bytes;
    }
    rig.finish_all();
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_LE(counters.get_message_bytes, 2 * used_bytes + 100 * 2048);
    EXPECT_EQ(counters.prefetch_lines,
              counters.prefetch_used + counters.prefetch_unused + rig.cache.occupancy().speculative_lines);
    rig.cache.acquire(0, rig.part);
    EXPECT_EQ(rig.cache.occupancy().speculative_lines, 0u);
    EXPECT_EQ(rig.cache.counters().prefetch_lines,
              rig.cache.counters().prefetch_used + rig.cache.counters().prefetch_unused);
}

TEST(PageCacheReadAhead, RandomAccessesReadNothingAhead) {
    PageCacheRig rig(reading_ahead(), 1 << 22);
    std::uint64_t state = 1;
    for (int i = 0; i < 2000; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ASSERT_TRUE(rig.reads(0, (state >> 33) % (1 << 19) * 8, 8));
    }
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_LE(counters.prefetch_messages, 20u);
    // Sometimes two of them meet in a page, which fetches the rest of it.
    EXPECT_LE(counters.prefetch_lines, 2000u * 2);
}

TEST(PageCacheReadAhead, WhatIsStillOnItsWayIsLate) {
    PageCacheRig rig(reading_ahead());
    for (std::uint64_t offset : {0, 64, 128})
        EXPECT_TRUE(rig.reads(0, offset, 8));
    EXPECT_EQ(rig.flights.size(), 1u);
    EXPECT_TRUE(rig.reads(0, 1024, 8));
    EXPECT_EQ(rig.cache.counters().prefetch_late, 1u);
    EXPECT_EQ(rig.cache.counters().pending_hits, 1u);
}

TEST(PageCacheReadAhead, ACopyWaitsAtMostTwiceForWhatTheNetworkNeeds) {
    // 000's copy: 10,000 elements, one by one; latencies of Table I in ns, and the time of 4 KiB on the link.
    const std::uint64_t networks[][2] = {{1700, 500}, {2100, 700}, {16000, 4000}, {49000, 36000}};
    for (const auto& [latency, message] : networks) {
        SCOPED_TRACE(latency);
        PageCacheRig rig(PageCacheConfig{});
        rig.latency_ticks = latency;
        rig.message_ticks = message;
        const std::uint64_t begin = rig.now;
        for (std::uint64_t i = 0; i < 10000; ++i) {
            rig.now += 10;
            rig.put(1, i * 8, rig.get(0, 64 + i * 8, 8));
        }
        rig.release();
        EXPECT_LE(rig.cache.counters().get_messages, 40u);
        EXPECT_EQ(rig.cache.counters().put_messages, 20u);
        const std::uint64_t waited = rig.now - begin - 10 * 10000;
        EXPECT_LE(waited, 2 * (2 * latency + 2 * 20 * message));
        EXPECT_EQ(std::memcmp(&rig.memory[1][0], &rig.memory[0][64], 80000), 0);
    }
}

TEST(PageCacheHints, AHintIsAGetThatNobodyWaitsFor) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 100, 108);
    EXPECT_EQ(rig.sent(), "g64+64");
    EXPECT_EQ(rig.waits, 0u);
    rig.prefetch(0, 64, 128);
    EXPECT_EQ(rig.sent(), "") << "under way";
    rig.finish_all();
    rig.prefetch(0, 64, 128);
    EXPECT_EQ(rig.sent(), "") << "there";
    EXPECT_EQ(rig.sent_by_read(0, 100, 8), "");
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_EQ(counters.hints, 3u);
    EXPECT_EQ(counters.prefetch_lines, 1u);
    EXPECT_EQ(counters.prefetch_used, 1u);
    EXPECT_EQ(counters.prefetch_late, 0u);
}

TEST(PageCacheHints, ManyPagesAreFilledExactly) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 1000, 9000);
    EXPECT_EQ(rig.sent(), "g960+4096 g5056+3968");
    EXPECT_EQ(rig.waits, 0u);
    rig.finish_all();
    for (std::uint64_t offset = 960; offset < 9024; offset += 8)
        ASSERT_TRUE(rig.reads(0, offset, 8));
    EXPECT_EQ(rig.sent(), "");
    EXPECT_EQ(rig.cache.counters().prefetch_lines, 126u);
    EXPECT_EQ(rig.cache.counters().prefetch_used, 126u);
    // More than the cache holds: only pages of the hint are overwritten, and contents are right.
    rig.prefetch(1, 0, 100000);
    rig.finish_all();
    rig.cache.check_invariants();
    for (std::uint64_t offset = 0; offset < 100000; offset += 500)
        ASSERT_TRUE(rig.reads(1, offset, 8));
}

TEST(PageCacheHints, LeaveOperationsForWhatIsWaitedFor) {
    PageCacheRig rig(small_config());  // 16 operations
    for (std::uint64_t i = 0; i < 100; ++i)
        rig.prefetch(0, i * 1024, i * 1024 + 8);
    EXPECT_EQ(rig.flights.size(), 12u);
    EXPECT_EQ(rig.cache.counters().hints_dropped, 88u);
    EXPECT_TRUE(rig.reads(0, 90 * 1024, 8));
    EXPECT_EQ(rig.flights.size(), 12u) << "a get finds an operation, without waiting for others";
}

TEST(PageCacheHints, WhatIsNeverUsedIsCounted) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 0, 128);
    rig.finish_all();
    EXPECT_TRUE(rig.reads(0, 0, 8));
    for (std::uint64_t page = 1; page <= 16; ++page)
        EXPECT_TRUE(rig.reads(0, page * 1024, 8));
    const PageCacheCounters counters = rig.cache.counters();
    EXPECT_EQ(counters.evictions, 1u);
    EXPECT_EQ(counters.prefetch_used, 1u);
    EXPECT_EQ(counters.prefetch_unused, 1u);
}

TEST(PageCacheBulk, ALargeGetIsOneMessageAndLeavesNothingBehind) {
    PageCacheRig rig(small_config());
    EXPECT_EQ(rig.sent_by_read(0, 100, 50001), "g100+50001");
    EXPECT_EQ(rig.cache.occupancy().pages, 0u);
    EXPECT_EQ(rig.cache.counters().bulk_gets, 1u);
    EXPECT_EQ(rig.cache.counters().misses, 0u);
}

TEST(PageCacheBulk, ALargeGetUsesWhatIsThere) {
    PageCacheRig rig(small_config());
    EXPECT_TRUE(rig.reads(0, 4096, 1500));
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 4200, 5000), "g5632+3568") << "its beginning";
    EXPECT_EQ(rig.sent_by_read(0, 3000, 5000), "g3000+5000") << "not worth a second message";
    rig.prefetch(0, 4096, 4096 + 8192);
    rig.finish_all();
    rig.sent();
    EXPECT_EQ(rig.sent_by_read(0, 4096, 8192), "") << "all of it";
    EXPECT_EQ(rig.sent_by_read(0, 3000, 20000), "g3000+1096 g12288+10712") << "worth it";
    EXPECT_EQ(rig.cache.counters().bulk_bytes_from_cache, 1432u + 8192 + 8192);
}

TEST(PageCacheBulk, ALargeGetSeesWhatWasWrittenAndNotSentYet) {
    PageCacheRig rig(small_config());
    rig.put(0, 5000, 8, 1);
    rig.put(0, 8192, 64, 2);
    std::vector<std::byte> bytes = rig.get(0, 4096, 8192);
    EXPECT_EQ(bytes[904], std::byte{1});
    EXPECT_EQ(bytes[4096], std::byte{2});
    EXPECT_EQ(bytes[904 + 8], rig.memory[0][5008]);
    // The partly written line is written back first; the full one is copied.
    EXPECT_EQ(rig.sent(), "g4096+896 p5000+8 g4992+3200 g8256+4032");
}

TEST(PageCacheBulk, ALargePutIsOneMessageAndThePagesFollow) {
    PageCacheRig rig(small_config());
    EXPECT_TRUE(rig.reads(0, 1024, 64));
    rig.put(0, 2000, 8, 3);
    rig.put(0, 5000, 8, 4);
    rig.sent();
    rig.put(0, 1030, 3000, 9);
    EXPECT_EQ(rig.sent(), "p1030+3000");
    EXPECT_EQ(rig.sent_by_read(0, 1024, 64), "");
    EXPECT_EQ(rig.memory[0][2000], std::byte{9});
    rig.release();
    EXPECT_EQ(rig.sent(), "p5000+8") << "what was overwritten is not written back";
    EXPECT_EQ(rig.cache.counters().bulk_puts, 1u);
}

TEST(PageCacheBulk, ALargePutThatFailedIsReportedAndNotRemembered) {
    PageCacheRig rig(small_config());
    EXPECT_TRUE(rig.reads(0, 1024, 64));
    const std::vector<std::byte> nine(3000, std::byte{9});
    PutRequest put(0, 1024, 3000, nine.data());
    rig.start(*rig.cache.put(put).operation);
    rig.finish(0, 66);
    EXPECT_EQ(rig.cache.put(put).kind, Step::Kind::done);
    EXPECT_EQ(put.status, 66);
    EXPECT_TRUE(rig.reads(0, 1024, 64));
    EXPECT_EQ(rig.cache.counters().acquires, 0u) << "nobody asked for one";
    EXPECT_EQ(rig.cache.operations().in_flight(), 0u);
}

TEST(PageCacheBulk, AGetThatIsUnderWayDoesNotBringBackWhatALargePutReplaced) {
    PageCacheRig rig(small_config());
    rig.prefetch(0, 1024, 1088);
    std::memcpy(rig.flights[0].op->buffer, &rig.memory[0][1024], 64);
    std::vector<std::byte> old(rig.memory[0].begin() + 1024, rig.memory[0].begin() + 1088);
    const std::vector<std::byte> nine(3000, std::byte{9});
    PutRequest put(0, 1024, nine.size(), nine.data());
    rig.drive([&] { return rig.cache.put(put); });
    // The prefetch had read before the put.
    Operation* const get = rig.flights[0].op;
    rig.flights.clear();
    std::memcpy(get->buffer, old.data(), 64);
    rig.cache.complete(*get, 0, rig.now);
    EXPECT_TRUE(rig.reads(0, 1024, 8));
}

/// Misses of a trace of page numbers, one line each.
std::uint64_t misses(const std::string& policy, const std::vector<std::uint64_t>& trace,
                     std::uint32_t new_percent = 25, std::uint32_t names_percent = 50) {
    PageCacheConfig config = small_config();
    config.capacity_bytes = 8 * 1024;
    config.policy = policy;
    config.new_percent = new_percent;
    config.names_percent = names_percent;
    PageCacheRig rig(config, 1 << 21);
    for (const std::uint64_t page : trace)
        EXPECT_TRUE(rig.reads(0, page * 1024, 8));
    return rig.cache.counters().misses;
}

TEST(PageCacheReplacement, TwoQueuesByHand) {
    // 8 pages: Ain holds 2 when the cache is full, Aout remembers 4.
    std::vector<std::uint64_t> trace{0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(misses("2q", trace), 8u);
    trace.insert(trace.end(), {8, 9});  // 0 and 1 leave Ain, and are remembered
    EXPECT_EQ(misses("2q", trace), 10u);
    trace.insert(trace.end(), {0, 1});  // to Am; 2 and 3 leave
    EXPECT_EQ(misses("2q", trace), 12u);
    // A scan passes through Ain and does not affect Am.
    for (std::uint64_t page = 100; page < 120; ++page)
        trace.push_back(page);
    EXPECT_EQ(misses("2q", trace), 32u);
    trace.insert(trace.end(), {0, 1});
    EXPECT_EQ(misses("2q", trace), 32u);
    trace.push_back(2);  // forgotten
    EXPECT_EQ(misses("2q", trace), 33u);
}

TEST(PageCacheReplacement, SharesOfTheQueues) {
    // As above: 0 and 1 return, then comes a scan.
    std::vector<std::uint64_t> trace{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1};
    for (std::uint64_t page = 100; page < 120; ++page)
        trace.push_back(page);
    trace.insert(trace.end(), {0, 1});
    EXPECT_EQ(misses("2q", trace), 32u);
    EXPECT_EQ(misses("2q", trace, 25, 25), 34u) << "two names are forgotten before their pages return";
    EXPECT_EQ(misses("2q", trace, 99), 34u) << "the scan has the share of Am, too";
    trace.push_back(2);  // left before the scan
    for (std::uint64_t page = 200; page < 220; ++page)
        trace.push_back(page);
    trace.push_back(2);
    EXPECT_EQ(misses("2q", trace), 54u);
    EXPECT_EQ(misses("2q", trace, 25, 400), 53u) << "it is remembered for 32 departures";
    EXPECT_EQ(misses("s3fifo", trace, 99, 1), misses("s3fifo", trace)) << "of 2Q alone";
}

TEST(PageCacheReplacement, WhoMayNotLeaveIsPassedOver) {
    for (const std::string policy : {"2q", "s3fifo"}) {
        SCOPED_TRACE(policy);
        PageCacheConfig config = small_config();
        config.capacity_bytes = 8 * 1024;
        config.policy = policy;
        PageCacheRig rig(config);
        for (std::uint64_t page = 0; page < 4; ++page)
            rig.put(0, page * 1024, 8, 5);
        rig.sent();
        for (std::uint64_t page = 10; page < 60; ++page)
            EXPECT_TRUE(rig.reads(0, page * 1024, 8));
        EXPECT_EQ(rig.cache.occupancy().dirty_pages, 4u);
        EXPECT_EQ(rig.cache.counters().put_messages, 0u);
        EXPECT_EQ(rig.cache.counters().evictions, 46u);
        EXPECT_EQ(rig.cache.counters().not_admitted, 0u);
        rig.cache.check_invariants();
    }
}

TEST(PageCacheReplacement, S3FifoKeepsWhatIsUsedThroughAScan) {
    std::vector<std::uint64_t> trace;
    for (int round = 0; round < 3; ++round)
        for (std::uint64_t page : {0, 1, 2})
            trace.push_back(page);
    for (std::uint64_t page = 100; page < 130; ++page)
        trace.push_back(page);
    const std::size_t before = misses("s3fifo", trace);
    EXPECT_EQ(before, 33u);
    trace.insert(trace.end(), {0, 1, 2});
    EXPECT_EQ(misses("s3fifo", trace), before);
}

TEST(PageCacheReplacement, HotPagesAmongAScanBothPolicies) {
    // Every second access is to one of 2 hot pages, the others to new pages.
    std::vector<std::uint64_t> trace;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        trace.push_back(i % 2);
        trace.push_back(1000 + i % 900);
    }
    EXPECT_LE(misses("2q", trace), 1000u + 12);
    EXPECT_LE(misses("s3fifo", trace), 1000u + 12);
}

}  // namespace
}  // namespace nearfetch
