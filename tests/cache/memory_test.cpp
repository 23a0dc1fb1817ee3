// SPDX-License-Identifier: Apache-2.0
//
// Exhausted memory turns caching off for that access and loses nothing: every allocation of the cache is
// refused once.

#include <gtest/gtest.h>

#include <vector>

#include "cache/range_cache/range_cache.hpp"
#include "refusing_new.hpp"

namespace nearfetch {
namespace {

using testing::allocations_until_refusal;
using testing::refused_allocations;
using testing::refusing;

std::byte value_of(std::uint64_t offset) { return static_cast<std::byte>(offset * 13 + 5); }

// Gets of many sizes in a small range, with pending entries, resizing and an invalidation.
void run(RangeCache& cache, std::uint64_t refuse_at) {
    std::vector<LookupPart> parts;
    parts.reserve(1024);
    std::vector<std::byte> bytes(4096);
    std::vector<Entry*> pending;
    pending.reserve(64);
    allocations_until_refusal = refuse_at;
    const auto guarded = [&](auto&& action) {
        refusing = allocations_until_refusal > 0;
        action();
        refusing = false;
    };
    for (std::uint64_t i = 0; i < 1200; ++i) {
        const std::uint64_t offset = i * 2654435761 % 40000;
        const std::uint64_t size = i % 17 == 0 ? 1500 : 1 + i * 7 % 200;
        const std::byte* data = nullptr;
        guarded([&] { data = cache.find(0, offset, size); });
        if (data != nullptr) {
            ASSERT_EQ(*data, value_of(offset));
            continue;
        }
        guarded([&] { cache.plan_lookup(0, offset, size, parts); });
        for (const LookupPart& part : parts)
            if (part.kind == LookupPart::Kind::resident) {
                ASSERT_EQ(*part.data, value_of(part.offset));
            }
        for (const LookupPart& part : parts) {
            if (part.kind != LookupPart::Kind::gap) continue;
            Admission admission;
            guarded([&] { admission = cache.admit(0, part.offset, part.size, cache.now(), true); });
            if (admission.entry == nullptr) continue;
            if (pending.size() < 20 && i % 5 == 0) {
                pending.push_back(admission.entry);
                continue;
            }
            for (std::uint64_t k = 0; k < part.size; ++k)
                bytes[k] = value_of(part.offset + k);
            guarded([&] { cache.commit(admission.entry, bytes.data()); });
        }
        if (i % 100 == 50) {
            guarded([&] { cache.resize(1024 + i * 32); });
            for (Entry* entry : pending) {
                for (std::uint64_t k = 0; k < entry->size(); ++k)
                    entry->data()[k] = value_of(entry->offset() + k);
                guarded([&] { cache.commit(entry, entry->data()); });
            }
            pending.clear();
        }
        if (i == 700) guarded([&] { cache.invalidate(); });
        if (i % 50 == 0) cache.check_invariants();
    }
    for (Entry* entry : pending)
        cache.abandon(entry);
    cache.check_invariants();
    EXPECT_EQ(cache.occupancy().pending, 0u);
}

TEST(OutOfMemory, ARefusedAllocationCostsAnAdmissionAndNothingElse) {
    for (const auto policy : eviction_policy_names()) {
        for (const char* const storage : {"log", "best_fit"}) {
            if (scores_free_space(policy) && storage == std::string("log")) continue;
            SCOPED_TRACE(std::string(policy) + " in " + storage);
            RangeCacheConfig config;
            config.buffer_bytes = 4096;
            config.buffer_bytes_max = 65536;
            config.index_entries = 64;
            config.index_entries_max = 2048;
            config.policy = policy;
            config.storage = storage;
            config.adapt.interval_gets = 100;
            config.application_score = [](Rank, std::uint64_t offset, std::uint64_t) {
                return static_cast<double>(offset % 5);
            };
            refused_allocations = 0;
            for (std::uint64_t refuse_at = 1; refuse_at <= 400; ++refuse_at) {
                RangeCache cache(config, 1);
                const std::uint64_t before = refused_allocations;
                run(cache, refuse_at);
                if (::testing::Test::HasFailure() || refused_allocations == before) break;
            }
            EXPECT_GE(refused_allocations, 10u)
                << policy << storage << refused_allocations << "there were hardly any allocations to refuse";
        }
    }
}

}  // namespace
}  // namespace nearfetch
