// SPDX-License-Identifier: Apache-2.0
#include "synthetic_traces.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "common/random.hpp"

namespace nearfetch::bench {

namespace {

using apps::Random;

/// Numbers below a count. The one of popularity rank p is drawn in proportion to p^-skew (Zipf's law); which
/// one that is, is random.
class Popular {
  public:
    Popular(std::uint64_t count, double skew, Random& random) : sums_(count), numbers_(count) {
        double sum = 0;
        for (std::uint64_t rank = 0; rank < count; ++rank)
            sums_[rank] = sum += std::pow(static_cast<double>(rank + 1), -skew);
        std::iota(numbers_.begin(), numbers_.end(), std::uint64_t{0});
        for (std::uint64_t left = count; left > 1; --left)
            std::swap(numbers_[left - 1], numbers_[random.next() % left]);
    }
    std::uint64_t draw(Random& random) const {
        const auto rank = std::upper_bound(sums_.begin(), sums_.end() - 1, random.uniform() * sums_.back());
        return numbers_[static_cast<std::size_t>(rank - sums_.begin())];
    }

  private:
    std::vector<double> sums_;
    std::vector<std::uint64_t> numbers_;
};

double normal(Random& random) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

/// Items of these sizes, one after the other.
std::vector<TraceGet> side_by_side(const std::vector<std::uint32_t>& sizes) {
    std::vector<TraceGet> items;
    std::uint64_t offset = 0;
    for (const std::uint32_t size : sizes) {
        items.push_back({offset, size, 0});
        offset += size;
    }
    return items;
}

}  // namespace

Trace paper_trace(const Keys& keys) {
    const std::uint64_t distinct = keys.number("distinct");
    Random random(keys.number("seed"));
    std::vector<std::uint32_t> sizes(distinct);
    for (std::uint32_t& size : sizes)
        size = 1u << (random.next() % 17);
    const std::vector<TraceGet> items = side_by_side(sizes);
    Trace trace;
    const auto middle = static_cast<double>(distinct) / 2;
    while (trace.gets.size() < keys.number("gets")) {
        const double drawn = std::floor(middle + middle / 2 * normal(random));
        if (drawn >= 0 && drawn < static_cast<double>(distinct))
            trace.gets.push_back(items[static_cast<std::size_t>(drawn)]);
    }
    return trace;
}

Trace mixed_trace(const Keys& keys) {
    Random random(keys.number("seed"));
    std::vector<std::uint32_t> sizes(keys.number("distinct"));
    // The logarithm is uniform.
    for (std::uint32_t& size : sizes)
        size = static_cast<std::uint32_t>(8 * std::exp2(15 * random.uniform()));
    const std::vector<TraceGet> items = side_by_side(sizes);
    const Popular popular(items.size(), keys.real("skew"), random);
    Trace trace;
    for (std::uint64_t n = keys.number("gets"); n > 0; --n)
        trace.gets.push_back(items[popular.draw(random)]);
    return trace;
}

Trace scan_trace(const Keys& keys) {
    Random random(keys.number("seed"));
    const Popular popular(keys.number("hot"), keys.real("skew"), random);
    const std::uint64_t hot = keys.number("hot"), all = keys.number("distinct");
    const std::uint32_t bytes = keys.size("bytes");
    std::uint64_t next = hot;
    Trace trace;
    for (std::uint64_t n = keys.number("gets"); n > 0; --n) {
        const bool is_hot = random.uniform() < keys.real("share");
        const std::uint64_t item = is_hot ? popular.draw(random) : next;
        if (!is_hot && ++next == all) next = hot;
        trace.gets.push_back({item * bytes, bytes, 0});
    }
    return trace;
}

Trace hash_table_trace(const Keys& keys) {
    constexpr std::uint32_t slot_bytes = 16;
    const std::uint64_t count = keys.number("keys"), ranks = keys.number("ranks");
    Random random(keys.number("seed"));
    const std::uint64_t per_rank = (count * 4 / 3 + ranks) / ranks;
    std::vector<std::uint64_t> table(ranks * per_rank, 0);
    const auto home = [&](std::uint64_t key) { return apps::mixed(key) % table.size(); };
    // The next slot of the same rank's part.
    const auto after = [&](std::uint64_t slot) {
        return (slot + 1) % per_rank == 0 ? slot + 1 - per_rank : slot + 1;
    };
    for (std::uint64_t key = 1; key <= count; ++key) {
        std::uint64_t slot = home(key), tries = 0;
        while (table[slot] != 0 && ++tries < per_rank)
            slot = after(slot);
        if (table[slot] == 0) table[slot] = key;
    }
    const Popular popular(count, keys.real("skew"), random);
    Trace trace;
    trace.ranks = static_cast<std::uint32_t>(ranks);
    while (trace.gets.size() < keys.number("gets")) {
        const std::uint64_t key = popular.draw(random) + 1;
        std::uint64_t slot = home(key), tries = 0;
        for (;; slot = after(slot)) {
            trace.gets.push_back(
                {slot % per_rank * slot_bytes, slot_bytes, static_cast<Rank>(slot / per_rank)});
            if (table[slot] == key || table[slot] == 0 || ++tries == per_rank) break;
        }
    }
    return trace;
}

Trace tiles_trace(const Keys& keys) {
    Random random(keys.number("seed"));
    const Popular popular(keys.number("tiles"), keys.real("skew"), random);
    const std::uint64_t tile_bytes = keys.number("tile_bytes");
    const std::uint32_t bytes = keys.size("bytes");
    Trace trace;
    while (trace.gets.size() < keys.number("gets")) {
        const std::uint64_t tile = popular.draw(random) * tile_bytes;
        for (std::uint64_t at = 0; at + bytes <= tile_bytes; at += bytes)
            trace.gets.push_back({tile + at, bytes, 0});
    }
    return trace;
}

}  // namespace nearfetch::bench
