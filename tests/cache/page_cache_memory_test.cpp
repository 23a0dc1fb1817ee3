// SPDX-License-Identifier: Apache-2.0
//
// All memory is allocated at construction. There a lack of memory is a clear error; later nothing is
// allocated.

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "page_cache_rig.hpp"
#include "refusing_new.hpp"

namespace nearfetch {
namespace {

using testing::allocations_until_refusal;
using testing::PageCacheRig;
using testing::refused_allocations;
using testing::refusing;

TEST(PageCacheMemory, ARefusedAllocationIsAnErrorThatNamesTheSize) {
    int errors = 0;
    for (std::uint64_t at = 1; at <= 100; ++at) {
        const std::uint64_t before = refused_allocations;
        PageCacheConfig config;
        allocations_until_refusal = at;
        refusing = true;
        try {
            PageCache cache(config);
            refusing = false;
        } catch (const Error& error) {
            refusing = false;
            ++errors;
            EXPECT_NE(std::string(error.what()).find("capacity_bytes = 1048576 (the system has no memory"),
                      std::string::npos)
                << error.what();
        }
        if (refused_allocations == before) break;
    }
    EXPECT_GE(errors, 10) << "there were hardly any allocations to refuse";
}

TEST(PageCacheMemory, NothingIsAllocatedAfterwards) {
    PageCacheConfig config = testing::small_config(true);
    PageCacheRig rig(config, 1 << 20);
    constexpr std::uint64_t plenty = 1u << 30;
    allocations_until_refusal = plenty;
    std::byte to[4096];
    // The fake network allocates, so operations are completed without it.
    const auto drive = [&](auto&& ask) {
        for (;;) {
            refusing = true;
            const Step step = ask();
            if (step.kind == Step::Kind::start) rig.cache.started(*step.operation, ++rig.now);
            if (step.kind == Step::Kind::wait) rig.cache.complete(*step.operation, 0, ++rig.now);
            while (rig.cache.operations().in_flight() > 10)
                rig.cache.complete(*rig.cache.operations().oldest(), 0, ++rig.now);
            refusing = false;
            if (step.kind == Step::Kind::done) return;
        }
    };
    std::uint64_t state = 1;
    for (int i = 0; i < 20000; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t offset = i % 3 == 0 ? static_cast<std::uint64_t>(i) * 8 : (state >> 40) % 1000000;
        const std::uint64_t size = 1 + (state >> 20) % (i % 10 == 0 ? 4096 : 16);
        if (i % 4 != 0) {
            if (rig.cache.find(rig.task, 0, offset, size) != nullptr) continue;
            GetRequest request(0, offset, size, to, rig.part, rig.now);
            drive([&] { return rig.cache.get(rig.task, request); });
        } else {
            PutRequest request(0, offset, size, to);
            drive([&] { return rig.cache.put(request); });
        }
        if (i % 50 == 0) {
            PrefetchRequest request(0, {offset, offset + 3000}, rig.part);
            drive([&] { return rig.cache.prefetch(rig.task, request); });
        }
        if (i % 500 == 0) {
            ReleaseRequest request;
            drive([&] { return rig.cache.release(request); });
            rig.cache.acquire(rig.task);
            rig.cache.acquire(0, {offset, offset + 10000});
        }
    }
    EXPECT_EQ(allocations_until_refusal, plenty);
    EXPECT_GT(rig.cache.counters().evictions, 1000u);
    rig.cache.check_invariants();
}

}  // namespace
}  // namespace nearfetch
