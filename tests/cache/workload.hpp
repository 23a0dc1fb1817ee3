// SPDX-License-Identifier: Apache-2.0
#pragma once

// The workload of 001, section IV-A, and the offline GDSF that is the reference for the default policy.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch::testing {

struct Get {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// N different gets of 2^i bytes, i uniform in 0..16, packed one after the other.
inline std::vector<Get> distinct_gets(std::size_t count, std::mt19937_64& random) {
    std::vector<Get> gets(count);
    std::uint64_t offset = 0;
    for (Get& get : gets) {
        get = {offset, std::uint64_t{1} << (random() % 17)};
        offset += get.size;
    }
    return gets;
}

/// A standard normal deviate (Box-Muller, so that it is the same with every standard library).
inline double normal(std::mt19937_64& random) {
    const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    const double v = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * 3.14159265358979323846 * v);
}

/// `length` gets drawn from N different ones by a normal distribution around `centre` x N with deviation N/4,
/// redrawn when outside of [0, N).
inline void append_normal(std::vector<Get>& trace, const std::vector<Get>& gets, std::size_t length,
                          double centre, std::mt19937_64& random) {
    const auto n = static_cast<double>(gets.size());
    while (length > 0) {
        const double at = std::floor(centre * n + normal(random) * n / 4);
        if (at < 0 || at >= n) continue;
        trace.push_back(gets[static_cast<std::size_t>(at)]);
        --length;
    }
}

/// Section IV-A: N = 1000, drawn Z times from normal(N/2, N/4).
inline std::vector<Get> paper_trace(std::uint64_t seed, std::size_t length = 20000) {
    std::mt19937_64 random(seed);
    const std::vector<Get> gets = distinct_gets(1000, random);
    std::vector<Get> trace;
    append_normal(trace, gets, length, 0.5, random);
    return trace;
}

/// The popular set changes: in each phase another permutation of the same gets is drawn from.
inline std::vector<Get> shifting_trace(std::uint64_t seed, std::size_t phases = 4,
                                       std::size_t phase_length = 10000) {
    std::mt19937_64 random(seed);
    std::vector<Get> gets = distinct_gets(1000, random);
    std::vector<Get> trace;
    for (std::size_t phase = 0; phase < phases; ++phase) {
        for (std::size_t i = gets.size() - 1; i > 0; --i)
            std::swap(gets[i], gets[random() % (i + 1)]);
        // A narrow peak: what is popular in one phase is not in the next.
        const auto n = static_cast<double>(gets.size());
        for (std::size_t left = phase_length; left > 0;) {
            const double at = std::floor(n / 2 + normal(random) * n / 16);
            if (at < 0 || at >= n) continue;
            trace.push_back(gets[static_cast<std::size_t>(at)]);
            --left;
        }
    }
    return trace;
}

/// Exact GDSF over an ideal store: a byte capacity without fragmentation, rounding or a bound on entries.
/// Always admits what fits at all; forgets the frequency of what it evicts. \return hits
inline std::uint64_t offline_gdsf_hits(const std::vector<Get>& trace, std::uint64_t capacity_bytes) {
    struct Item {
        double value;
        std::uint64_t frequency;
        std::uint64_t size;
    };
    std::map<std::uint64_t, Item> items;
    std::set<std::pair<double, std::uint64_t>> order;
    double clock = 0;
    std::uint64_t used = 0;
    std::uint64_t hits = 0;
    for (const Get& get : trace) {
        if (const auto found = items.find(get.offset); found != items.end()) {
            ++hits;
            Item& item = found->second;
            order.erase({item.value, get.offset});
            item.value = clock + static_cast<double>(++item.frequency) / static_cast<double>(item.size);
            order.insert({item.value, get.offset});
            continue;
        }
        if (get.size > capacity_bytes) continue;
        while (used + get.size > capacity_bytes) {
            const auto [value, offset] = *order.begin();
            clock = value;
            used -= items.at(offset).size;
            items.erase(offset);
            order.erase(order.begin());
        }
        const double value = clock + 1.0 / static_cast<double>(get.size);
        items[get.offset] = {value, 1, get.size};
        order.insert({value, get.offset});
        used += get.size;
    }
    return hits;
}

/// What an infinite cache would hit.
inline std::uint64_t infinite_hits(const std::vector<Get>& trace) {
    std::set<std::uint64_t> seen;
    std::uint64_t hits = 0;
    for (const Get& get : trace)
        hits += seen.insert(get.offset).second ? 0 : 1;
    return hits;
}

/// 0 to 1, the same with every standard library.
inline double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// A program of blocking gets: counts every get by its type, commits each miss at once.
class Runner {
  public:
    Runner(const RangeCacheConfig& config, std::uint32_t ranks = 1) : cache(config, ranks) {}

    /// \param region_bytes size of the region that is fetched around a gap; 0: the gap only
    /// \return bytes fetched for each gap
    const std::vector<std::uint64_t>& get(Rank target, std::uint64_t offset, std::uint64_t size,
                                          std::uint64_t region_bytes = 0) {
        fetched_.clear();
        if (cache.find(target, offset, size) != nullptr) {
            types_.count(AccessType::hit);
            return fetched_;
        }
        cache.plan_lookup(target, offset, size, segments_);
        AccessType type = AccessType::hit;
        bool some = false;
        for (const LookupPart& part : segments_)
            some = some || part.kind != LookupPart::Kind::gap;
        for (const LookupPart& part : segments_) {
            if (part.kind != LookupPart::Kind::gap) continue;
            const AccessType admitted = fetch(target, {part.offset, part.offset + part.size}, region_bytes);
            type = some ? AccessType::partial_hit : admitted;
        }
        types_.count(type);
        return fetched_;
    }
    void run(const std::vector<Get>& trace) {
        for (const Get& each : trace)
            get(0, each.offset, each.size);
    }
    /// The cache's and those of the gets by their type.
    RangeCacheCounters counters() const {
        RangeCacheCounters sum = types_;
        sum.add(cache.counters());
        return sum;
    }

    RangeCache cache;

  private:
    AccessType fetch(Rank target, ByteRange gap, std::uint64_t region_bytes) {
        if (region_bytes != 0) {
            const std::uint64_t region_begin = gap.begin - gap.begin % region_bytes;
            gap = cache.read_ahead().gap_around(target, gap, {region_begin, region_begin + region_bytes});
        }
        fetched_.push_back(gap.size());
        source_.resize(std::max<std::size_t>(source_.size(), gap.size()));
        const Admission admission = region_bytes != 0
                                        ? cache.read_ahead().admit(target, gap)
                                        : cache.admit(target, gap.begin, gap.size(), cache.now(), true);
        if (admission.entry != nullptr) cache.commit(admission.entry, source_.data());
        return admission.type;
    }

    RangeCacheCounters types_;
    std::vector<LookupPart> segments_;
    std::vector<std::uint64_t> fetched_;
    std::vector<std::byte> source_;
};

}  // namespace nearfetch::testing
