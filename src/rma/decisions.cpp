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
        if (t.gets.started != 0 || t.bypassed_gets != 0 || t.hits != 0)
            add(t.breaker.is_open()        ? "gets: bypassed"
                : t.breaker.is_half_open() ? "gets: sampled"
                                           : "gets: cached",
                rank_of(t), t.cost.plain_per_get(), t.cost.cached_per_get());
        if (t.put_cost.is_known())
            add(may_combine() && !t.put_breaker.is_open() ? "puts: combined" : "puts: sent alone", rank_of(t),
                t.put_cost.alone_ticks(), t.put_cost.combined_ticks());
    }
    return all;
}

RangeCacheCounters WindowCache::counters() const {
    const Guard guard = lock();
    RangeCacheCounters sum = counters_;
    sum.puts += bypassed_updates_;
    sum.flushes += bypassed_flushes_ + elided_;
    sum.flushes_elided += elided_;
    if (cache_ != nullptr) sum.add(cache_->counters());
    for (const Target& t : targets_) {
        sum.gets += t.hits;
        sum.hits += t.hits;
        sum.bytes_from_cache += t.hit_bytes;
        sum.gets += t.bypassed_gets;
        sum.bypassed += t.bypassed_gets;
        sum.bytes_from_network += t.bypassed_bytes;
    }
    sum.bytes_requested = sum.bytes_from_cache + sum.bytes_from_network;
    return sum;
}

}  // namespace nearfetch
