// SPDX-License-Identifier: Apache-2.0

// What a window says about itself: what it has decided, and what it has counted.

#include "rma/decisions.hpp"

#include <algorithm>

#include "base/ticks.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

std::vector<Decision> WindowCache::decisions() const {
    const Guard guard = lock();
    std::vector<Decision> all;
    const auto add = [&](std::string_view what, Rank target, double plain_ticks, double ours_ticks) {
        auto known = std::ranges::find(all, what, &Decision::what);
        if (known == all.end()) known = all.insert(all.end(), {what, 0, target, 0, 0});
        ++known->targets;
        if (known->plain_ns != 0 || plain_ticks == 0 || ours_ticks == 0) return;
        known->example = target;
        known->plain_ns = plain_ticks * ns_per_tick();
        known->ours_ns = ours_ticks * ns_per_tick();
    };
    if (settings_.mode == Mode::off) return all;
    for (const Target& t : targets_) {
        if (rank_of(t) == self_) continue;
        const Bet& bet = t.bet;
        if (t.gets.started != 0 || t.passed_gets != 0 || t.hits != 0)
            add(bet.caching()    ? "gets: cached"
                : bet.watching() ? "gets: watched"
                                 : "gets: left alone",
                rank_of(t), bet.plain_per_get_ticks(), bet.ours_per_get_ticks());
        const bool combines = keeps_data_ && settings_.write_combining_bytes != 0 && t.put_bet.combines();
        if (t.put_bet.alone_ticks() != 0)
            add(combines ? "puts: combined" : "puts: sent alone", rank_of(t), t.put_bet.alone_ticks(),
                t.put_bet.ours_ticks());
    }
    return all;
}

RangeCacheCounters WindowCache::counters() const {
    const Guard guard = lock();
    RangeCacheCounters sum = counters_;
    sum.puts += passed_updates_;
    sum.flushes += passed_flushes_ + elided_;
    sum.flushes_elided += elided_;
    if (cache_ != nullptr) sum.add(cache_->counters());
    for (const Target& t : targets_) {
        sum.gets += t.hits;
        sum.hits += t.hits;
        sum.bytes_from_cache += t.hit_bytes;
        sum.gets += t.passed_gets;
        sum.bypassed += t.passed_gets;
        sum.bytes_from_network += t.passed_bytes;
    }
    sum.bytes_requested = sum.bytes_from_cache + sum.bytes_from_network;
    return sum;
}

}  // namespace nearfetch
