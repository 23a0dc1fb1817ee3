// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of the range cache tests: a small cache, the targets' memory, and a get with admission.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch::testing {

inline RangeCacheConfig small_config(std::uint64_t lines = 16, std::uint64_t index_entries = 64) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = 64 * lines;
    config.index_entries = config.index_entries_max = index_entries;
    config.adaptive = false;
    config.policy = "lru";
    return config;
}

/// Byte `offset` of a target's memory.
inline std::byte remote(Rank target, std::uint64_t offset) {
    return static_cast<std::byte>((offset * 7 + static_cast<std::uint64_t>(target) * 31) & 0xff);
}

inline std::vector<std::byte> remote_bytes(Rank target, std::uint64_t offset, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i)
        bytes[i] = remote(target, offset + i);
    return bytes;
}

inline AccessType store(RangeCache& cache, Rank target, std::uint64_t offset, std::uint64_t size) {
    EXPECT_EQ(cache.find(target, offset, size), nullptr);
    const Admission admission = cache.admit(target, offset, size, cache.now(), true);
    if (admission.entry != nullptr) {
        EXPECT_TRUE(cache.commit(admission.entry, remote_bytes(target, offset, size).data()));
    }
    cache.check_invariants();
    return admission.type;
}

/// An entry for each of the first `count` lines.
inline void store_lines(RangeCache& cache, Rank target, std::uint64_t count) {
    for (std::uint64_t line = 0; line < count; ++line)
        store(cache, target, 64 * line, 64);
}

inline ::testing::AssertionResult hits(RangeCache& cache, Rank target, std::uint64_t offset,
                                       std::uint64_t size) {
    const std::byte* data = cache.find(target, offset, size);
    if (data == nullptr) return ::testing::AssertionFailure() << "no hit at " << offset;
    if (std::memcmp(data, remote_bytes(target, offset, size).data(), size) != 0)
        return ::testing::AssertionFailure() << "wrong bytes at " << offset;
    return ::testing::AssertionSuccess();
}

inline std::string text(const std::vector<LookupPart>& parts) {
    std::string out;
    for (const LookupPart& part : parts) {
        out += part.kind == LookupPart::Kind::resident  ? 'r'
               : part.kind == LookupPart::Kind::pending ? 'p'
                                                        : 'g';
        out += std::to_string(part.offset) + "+" + std::to_string(part.size) + " ";
    }
    return out;
}

}  // namespace nearfetch::testing
