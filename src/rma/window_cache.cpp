// SPDX-License-Identifier: Apache-2.0
#include "rma/window_cache.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

namespace {

bool has_own_sizes(const Settings& settings) noexcept {
    static const Settings defaults;
    const auto sizes = [](const Settings& s) {
        return std::tie(s.memory_bytes, s.buffer_bytes, s.index_entries);
    };
    return sizes(settings) != sizes(defaults);
}

}  // namespace

WindowCache::WindowCache(const Settings& settings, Rank ranks, Rank self, bool threaded,
                         ProcessState& process, WindowTransfers& transfers, WindowListener& listener)
    : state_(settings, ranks, self, threaded, process, transfers, listener) {
    NF_EXPECT(ranks > 0);
    // Who has asked for a size is told at once if it cannot be had.
    if (!state_.is_off() && has_own_sizes(settings)) bypass_.make_cache();
}

void WindowCache::change_settings(const Settings& settings) {
    const Guard guard = state_.lock();
    bypass_.change_settings(settings);
}

void WindowCache::set_score(ScoreFunction score) {
    const Guard guard = state_.lock();
    state_.cache.set_score(std::move(score));
    bypass_.update_routes();
}

void WindowCache::describe_memory(PerRank<TargetMemory> of_each) {
    const Guard guard = state_.lock();
    state_.targets.describe_memory(std::move(of_each));
    for (const Rank target : state_.targets.accessed())
        state_.targets.known(target).fetches.delivery = state_.first_delivery(target);
}

void WindowCache::open_node_level(const NodeBuffer& buffer) {
    const Guard guard = state_.lock();
    state_.process.acquires.note_times();
    state_.cache.node().open(buffer);
}

void WindowCache::acquire() noexcept {
    const Guard guard = state_.lock();
    state_.cache.acquire();
    read_ahead_.begin_phase();
}

std::vector<Decision> WindowCache::decisions() const {
    const Guard guard = state_.lock();
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
    if (state_.is_off()) return all;
    std::vector<Rank> targets(state_.targets.accessed().begin(), state_.targets.accessed().end());
    std::ranges::sort(targets);
    for (const Rank target : targets) {
        if (target == state_.self) continue;
        const Target& t = state_.known(target);
        if (state_.operations.at(target).gets.started != 0 || t.bypassed_gets != 0 || t.hits != 0)
            add(state_.cache.is_broken()   ? "gets: not cached, for want of memory"
                : t.breaker.is_open()      ? "gets: bypassed"
                : t.breaker.is_half_open() ? "gets: sampled"
                                           : "gets: cached",
                target, t.cost.plain_per_get(), t.cost.cached_per_get());
        if (t.put_cost.is_known())
            add(updates_.may_combine() && !t.put_breaker.is_open() ? "puts: combined" : "puts: sent alone",
                target, t.put_cost.alone_ticks(), t.put_cost.combined_ticks());
    }
    return all;
}

RangeCacheCounters WindowCache::counters() const {
    const Guard guard = state_.lock();
    RangeCacheCounters sum = state_.totals();
    sum.lease_looks += state_.leases.looks();
    sum.lease_waits += state_.leases.waits();
    const NodeLevel::Counts& node = state_.cache.node().counts();
    sum.node_lookups += node.lookups;
    sum.node_hits += node.found;
    sum.bytes_from_node += node.found_bytes;
    sum.node_offers += node.offered;
    Balance all;
    for (const Rank target : state_.targets.accessed()) {
        const Target& t = state_.known(target);
        all.add(t.ended);
        if (target == state_.self) {
            sum.own_memory += t.gets();
            continue;
        }
        if (!state_.is_off()) sum.breaker_open += t.bypassed_gets;
        if (state_.targets.memory_of(target).is_on_this_node) sum.same_node += t.gets();
        // The interval that has not ended: of a copy, as this says only what it would be.
        CostModel rest = t.cost;
        if (t.hits > t.interval_hits || !rest.is_idle())
            all.add(rest.end_interval(t.hits - t.interval_hits, t.hit_bytes - t.interval_hit_bytes));
    }
    const auto ns = [](double ticks) {
        return static_cast<std::uint64_t>(std::max(ticks, 0.0) * ns_per_tick());
    };
    sum.plain_ns += ns(all.plain);
    sum.saved_ns += ns(all.saved);
    sum.spent_ns += ns(all.spent);
    if (state_.profile != nullptr) sum.distinct_bytes += state_.profile->distinct_bytes();
    return sum;
}

void WindowCache::keep_profile() {
    const Guard guard = state_.lock();
    state_.profile = std::make_unique<GetProfile>(state_.process.acquires, state_.counters);
    state_.profile->timeline().begin(state_.process.elapsed_s());
}

const GetProfile* WindowCache::profile() noexcept {
    const Guard guard = state_.lock();
    if (state_.profile != nullptr) state_.note_time(true);
    return state_.profile.get();
}

}  // namespace nearfetch
