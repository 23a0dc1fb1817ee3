// SPDX-License-Identifier: Apache-2.0
//
// What RangeCache::find costs: the same entry again, an exact hit and a sub-range hit among 1000 and 100000
// entries, a miss, and a miss with its admission. Prints one JSON object per line: name, and ns (the median
// of
// --rounds). With --only NAME that row alone is measured (for callgrind). The last row is the longest of all
// misses, in processor time, while a cache grows to a million entries.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "cache/range_cache/range_cache.hpp"

namespace {

using nearfetch::RangeCache;
using nearfetch::RangeCacheConfig;

constexpr std::uint64_t stride = 192;
constexpr std::uint64_t entry_bytes = 64;
constexpr std::size_t lookups = 4096;

std::vector<std::byte> zeros(1 << 17);
volatile std::uintptr_t sink;

RangeCacheConfig config_for(std::uint64_t entries) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = entries * entry_bytes;
    config.index_entries = config.index_entries_max = entries + entries / 2;
    config.adaptive = false;
    return config;
}

void add(RangeCache& cache, std::uint64_t offset, std::uint64_t size) {
    const nearfetch::Admission admission = cache.admit(0, offset, size, cache.now(), true);
    if (admission.entry != nullptr) cache.commit(admission.entry, zeros.data());
}

void fill(RangeCache& cache, std::uint64_t entries) {
    for (std::uint64_t i = 0; i < entries; ++i)
        add(cache, i * stride, entry_bytes);
}

double measure(std::uint64_t rounds, const std::function<void()>& body) {
    std::vector<double> ns;
    for (std::uint64_t round = 0; round < rounds + 1; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        body();
        const auto end = std::chrono::steady_clock::now();
        if (round > 0) ns.push_back(std::chrono::duration<double, std::nano>(end - begin).count() / lookups);
    }
    std::sort(ns.begin(), ns.end());
    return ns[ns.size() / 2];
}

/// Of `size` bytes, `skip` behind the begin of one of `distinct` entries, in random order.
double finds(std::uint64_t rounds, std::uint64_t entries, std::uint64_t distinct, std::uint64_t skip,
             std::uint64_t size) {
    RangeCache cache(config_for(entries), 1);
    fill(cache, entries);
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> offsets(lookups);
    for (std::uint64_t& offset : offsets)
        offset = random() % distinct * (entries / distinct) * stride + skip;
    return measure(rounds, [&] {
        std::uintptr_t sum = 0;
        for (const std::uint64_t offset : offsets)
            sum += reinterpret_cast<std::uintptr_t>(cache.find(0, offset, size));
        sink = sum;
    });
}

double misses(std::uint64_t rounds, std::uint64_t entries) {
    RangeCache cache(config_for(entries), 1);
    fill(cache, entries);
    std::vector<nearfetch::LookupPart> parts;
    std::uint64_t offset = entries * stride;
    return measure(rounds, [&] {
        for (std::size_t i = 0; i < lookups; ++i, offset += stride) {
            if (cache.find(0, offset, entry_bytes) != nullptr) std::abort();
            cache.plan_lookup(0, offset, entry_bytes, parts);
            add(cache, offset, entry_bytes);
        }
    });
}

double processor_ns() {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double longest_while_growing(std::uint64_t entries) {
    RangeCacheConfig config;
    config.buffer_bytes_max = 2 * entries * entry_bytes;
    RangeCache cache(config, 1);
    std::vector<nearfetch::LookupPart> parts;
    double longest = 0;
    for (std::uint64_t offset = 0; cache.occupancy().entries < entries; offset += stride) {
        const double begin = processor_ns();
        if (cache.find(0, offset, entry_bytes) != nullptr) std::abort();
        cache.plan_lookup(0, offset, entry_bytes, parts);
        add(cache, offset, entry_bytes);
        longest = std::max(longest, processor_ns() - begin);
    }
    return longest;
}

}  // namespace

int main(int argc, char** argv) {
    const nearfetch::bench::Arguments arguments(argc, argv, {"--rounds", "--only"});
    const std::uint64_t rounds = std::max<std::uint64_t>(1, arguments.number("--rounds", 200));
    const std::string only = arguments.text("--only", "");
    const auto report = [&](const std::string& name, const auto& run) {
        if (only.empty() || only == name)
            std::printf("{\"name\": \"%s\", \"ns\": %.2f}\n", name.c_str(), run());
    };
    for (const std::uint64_t n : {std::uint64_t{1000}, std::uint64_t{100000}}) {
        const std::string suffix = n == 1000 ? "_1k" : "_100k";
        report("same_entry" + suffix, [&] { return finds(rounds, n, 1, 8, 8); });
        report("exact_hit" + suffix, [&] { return finds(rounds, n, n, 0, 64); });
        report("exact_hit_50_hot" + suffix, [&] { return finds(rounds, n, 50, 0, 64); });
        report("sub_range_hit" + suffix, [&] { return finds(rounds, n, n, 16, 8); });
        report("miss_lookup" + suffix, [&] { return finds(rounds, n, n, 96, 8); });
        report("miss_admit_evict" + suffix, [&] { return misses(std::min<std::uint64_t>(rounds, 50), n); });
    }
    report("longest_while_growing", [] { return longest_while_growing(1'000'000); });
    return 0;
}
