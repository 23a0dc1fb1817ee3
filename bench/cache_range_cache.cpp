// SPDX-License-Identifier: Apache-2.0
//
// What RangeCache::find costs: the same entry again, an exact hit and a sub-range hit among 1000 and 100000
// entries, a miss, and a miss with its admission. Prints one JSON object per line: name, entries, ns (median
// of the rounds), least_ns.
//
//   cache_range_cache [--rounds N] [NAME]
// With NAME only that row is measured (for callgrind).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

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

struct Result {
    double median_ns;
    double least_ns;
};

Result measure(int rounds, const std::function<void()>& body) {
    std::vector<double> ns;
    for (int round = 0; round < rounds + 1; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        body();
        const auto end = std::chrono::steady_clock::now();
        if (round > 0) ns.push_back(std::chrono::duration<double, std::nano>(end - begin).count() / lookups);
    }
    std::sort(ns.begin(), ns.end());
    return {ns[ns.size() / 2], ns.front()};
}

struct Lookup {
    std::uint64_t offset;
    std::uint64_t size;
};

// Offsets chosen by `offset_of(entry number)`, in random order over `distinct` entries.
Result finds(int rounds, std::uint64_t entries, std::uint64_t distinct, std::uint64_t skip,
             std::uint64_t size) {
    RangeCache cache(config_for(entries), 1);
    fill(cache, entries);
    std::mt19937_64 random(7);
    std::vector<Lookup> trace(lookups);
    for (Lookup& lookup : trace)
        lookup = {random() % distinct * (entries / distinct) * stride + skip, size};
    return measure(rounds, [&] {
        std::uintptr_t sum = 0;
        for (const Lookup& lookup : trace)
            sum += reinterpret_cast<std::uintptr_t>(cache.find(0, lookup.offset, lookup.size));
        sink = sum;
    });
}

Result misses(int rounds, std::uint64_t entries) {
    RangeCache cache(config_for(entries), 1);
    fill(cache, entries);
    std::vector<nearfetch::Segment> segments;
    std::uint64_t offset = entries * stride;
    return measure(rounds, [&] {
        for (std::size_t i = 0; i < lookups; ++i, offset += stride) {
            if (cache.find(0, offset, entry_bytes) != nullptr) std::abort();
            cache.survey(0, offset, entry_bytes, segments);
            add(cache, offset, entry_bytes);
        }
    });
}

}  // namespace

int main(int argc, char** argv) {
    int rounds = 200;
    std::string only;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = std::max(1, std::atoi(argv[++i]));
        else
            only = argv[i];
    }
    struct Row {
        std::string name;
        std::uint64_t entries;
        std::function<Result()> run;
    };
    std::vector<Row> rows;
    for (const std::uint64_t n : {std::uint64_t{1000}, std::uint64_t{100000}}) {
        const std::string suffix = n == 1000 ? "_1k" : "_100k";
        rows.push_back({"same_entry" + suffix, n, [=] { return finds(rounds, n, 1, 8, 8); }});
        rows.push_back({"exact_hit" + suffix, n, [=] { return finds(rounds, n, n, 0, 64); }});
        rows.push_back({"exact_hit_50_hot" + suffix, n, [=] { return finds(rounds, n, 50, 0, 64); }});
        rows.push_back({"sub_range_hit" + suffix, n, [=] { return finds(rounds, n, n, 16, 8); }});
        rows.push_back({"miss_lookup" + suffix, n, [=] { return finds(rounds, n, n, 96, 8); }});
        rows.push_back({"miss_admit_evict" + suffix, n, [=] { return misses(std::min(rounds, 50), n); }});
    }
    for (const Row& row : rows) {
        if (!only.empty() && row.name != only) continue;
        const Result result = row.run();
        std::printf("{\"name\": \"%s\", \"entries\": %llu, \"ns\": %.2f, \"least_ns\": %.2f}\n",
                    row.name.c_str(), static_cast<unsigned long long>(row.entries), result.median_ns,
                    result.least_ns);
    }
    return 0;
}
