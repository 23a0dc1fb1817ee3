// SPDX-License-Identifier: Apache-2.0
// Of a block of memory all accesses are kept, or none, with the calls that belong to them.
#include "recording/sampling.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace nearfetch {
namespace {

std::vector<Event> kept_of(const std::vector<Event>& events, std::uint64_t share) {
    std::vector<Event> kept;
    Sampling sampling;
    sampling.set_share(share);
    for (Event event : events)
        sampling.add(event, [&](const Event& one) { kept.push_back(one); });
    return kept;
}

/// Three times over 4096 blocks, each get with a lock or with a flush.
std::vector<Event> gets(bool locks) {
    std::vector<Event> events;
    for (int pass = 0; pass < 3; ++pass) {
        for (std::uint64_t block = 0; block < 4096; ++block) {
            const auto add = [&](EventKind kind) {
                events.push_back({.kind = kind,
                                  .target = 1,
                                  .gap_ns = 10,
                                  .took_ns = 5,
                                  .offset = block * Sampling::block_bytes + 8 * block,
                                  .size = 8});
            };
            if (locks) add(EventKind::lock);
            add(EventKind::get);
            add(locks ? EventKind::unlock : EventKind::flush);
        }
    }
    return events;
}

TEST(Sampling, KeepsAllAtFirst) {
    const std::vector<Event> events = gets(true);
    EXPECT_EQ(kept_of(events, Sampling::all).size(), events.size());
}

TEST(Sampling, KeepsAllOrNoneOfABlock) {
    for (const bool locks : {false, true}) {
        std::map<std::uint64_t, int> times;
        std::size_t others = 0;
        const std::vector<Event> kept = kept_of(gets(locks), Sampling::all / 4);
        for (const Event& event : kept)
            event.kind == EventKind::get ? ++times[event.offset / Sampling::block_bytes] : ++others;
        EXPECT_NEAR(static_cast<double>(times.size()), 1024, 100);
        for (const auto& [block, count] : times)
            EXPECT_EQ(count, 3);
        EXPECT_EQ(others, times.size() * (locks ? 6 : 3)) << "each with its own calls";
    }
}

TEST(Sampling, AHalfOfAShareIsPartOfIt) {
    const std::vector<Event> events = gets(false);
    EXPECT_EQ(kept_of(kept_of(events, Sampling::all / 2), Sampling::all / 8).size(),
              kept_of(events, Sampling::all / 8).size());
}

TEST(Sampling, TheProgramsTimeIsKept) {
    std::uint64_t gap_ns = 0;
    std::vector<Event> events = gets(true);
    events.push_back({.kind = EventKind::end, .gap_ns = 7});
    for (const Event& event : kept_of(events, Sampling::all / 16))
        gap_ns += event.gap_ns;
    EXPECT_EQ(gap_ns, (events.size() - 1) * 10 + 7);
}

TEST(Sampling, ExclusiveLocksStay) {
    const std::vector<Event> events{{.kind = EventKind::lock, .flag = true, .target = 1},
                                    {.kind = EventKind::unlock, .target = 1},
                                    {.kind = EventKind::lock, .target = 1},
                                    {.kind = EventKind::unlock, .target = 1}};
    EXPECT_EQ(kept_of(events, 1).size(), 2u);
}

}  // namespace
}  // namespace nearfetch
