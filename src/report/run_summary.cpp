// SPDX-License-Identifier: Apache-2.0
#include "report/run_summary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nearfetch {

namespace {

using Json = nlohmann::ordered_json;

/// Of many kinds of windows the last of a rank stands for all others.
constexpr std::size_t most_groups = 24;

void merge(WindowGroup& into, const WindowGroup& from) {
    into.windows = std::max(into.windows, from.windows);
    into.ranks += from.ranks;
    into.counters.add(from.counters);
    if (into.not_shared.empty()) into.not_shared = from.not_shared;
    for (const auto& [call, gets] : from.forgotten_by)
        into.forgotten_by[call] += gets;
    into.gets.add(from.gets);
    into.hit_share.add(from.hit_share);
    into.gain_s.add(from.gain_s);
}

RangeCacheCounters counters_of(const Json& window) {
    RangeCacheCounters counters;
    for (const CounterInfo& row : range_cache_counter_table)
        counters.*row.member = window.value(std::string(row.name), std::uint64_t{0});
    return counters;
}

/// The causes come from a sample. How many gets there were in all is known, and they are scaled to that.
void scale_causes(WindowGroup& group) {
    using Member = std::uint64_t RangeCacheCounters::*;
    constexpr Member causes[] = {&RangeCacheCounters::first_reads,     &RangeCacheCounters::forgotten,
                                 &RangeCacheCounters::evicted_before,  &RangeCacheCounters::not_kept,
                                 &RangeCacheCounters::bypassed_before, &RangeCacheCounters::overwritten};
    RangeCacheCounters& c = group.counters;
    std::uint64_t estimated = 0;
    for (const Member cause : causes)
        estimated += c.*cause;
    const std::uint64_t own = std::min(c.own_memory, c.gets);
    const std::uint64_t known = c.gets - own - std::min(c.gets - own, c.hits + c.pending_hits);
    if (estimated == 0 || estimated == known) return;
    const double scale = static_cast<double>(known) / static_cast<double>(estimated);
    const auto scaled = [scale](std::uint64_t gets) {
        return static_cast<std::uint64_t>(static_cast<double>(gets) * scale + 0.5);
    };
    for (const Member cause : causes)
        c.*cause = scaled(c.*cause);
    c.forgotten_by_locks = scaled(c.forgotten_by_locks);
    for (auto& [call, gets] : group.forgotten_by)
        gets = scaled(gets);
}

/// Of one rank, the spreads of its sums.
void set_spreads(WindowGroup& group) {
    const RangeCacheCounters& c = group.counters;
    group.gets.add(static_cast<double>(c.gets));
    if (const std::uint64_t remote = remote_gets(c); remote != 0)
        group.hit_share.add(static_cast<double>(served_gets(c)) / static_cast<double>(remote));
    group.gain_s.add((static_cast<double>(c.saved_ns) - static_cast<double>(c.spent_ns)) * 1e-9);
}

Json json_of(const Spread& spread) {
    return spread.least > spread.most ? Json::array() : Json::array({spread.least, spread.most});
}
Spread spread_of(const Json& json) {
    return json.empty() ? Spread{} : Spread{json[0].get<double>(), json[1].get<double>()};
}

/// Adds a group to those of its kind, or to the rest where there are many.
void put(std::vector<WindowGroup>& groups, const WindowGroup& group) {
    const auto known = std::ranges::find_if(groups, [&](const auto& g) { return g.is_like(group); });
    if (known != groups.end()) return merge(*known, group);
    if (groups.size() < most_groups) {
        groups.push_back(group);
        return;
    }
    WindowGroup rest = group;
    rest.name = "further windows";
    rest.mode = "several";
    rest.site.clear();
    rest.bytes = 0;
    if (groups.back().is_like(rest))
        merge(groups.back(), rest);
    else
        groups.push_back(rest);
}

}  // namespace

void RunSummary::add(const RunSummary& other) {
    ranks += other.ranks;
    elapsed_s = std::max(elapsed_s, other.elapsed_s);
    is_threaded = is_threaded || other.is_threaded;
    if (other.memory_taken_bytes >= memory_taken_bytes && !other.memory_origin.empty()) {
        memory_taken_bytes = other.memory_taken_bytes;
        memory_limit_bytes = other.memory_limit_bytes;
        memory_origin = other.memory_origin;
    }
    for (const WindowGroup& group : other.groups)
        put(groups, group);
}

void RunSummary::sort() {
    std::ranges::stable_sort(groups, [](const WindowGroup& a, const WindowGroup& b) {
        const auto weight = [](const WindowGroup& g) {
            return std::tuple(g.counters.plain_ns, remote_gets(g.counters), g.counters.gets, g.counters.puts);
        };
        return weight(a) > weight(b);
    });
}

RangeCacheCounters RunSummary::totals() const noexcept {
    RangeCacheCounters sum;
    for (const WindowGroup& group : groups)
        sum.add(group.counters);
    return sum;
}

RunSummary summary_of_rank(const Json& document) {
    RunSummary summary{.ranks = 1, .elapsed_s = document.value("elapsed_s", 0.0)};
    const Json& memory = document.at("memory");
    summary.memory_limit_bytes = memory.at("limit_bytes");
    summary.memory_taken_bytes = memory.at("most_taken_bytes");
    summary.memory_origin = memory.at("origin");
    summary.is_threaded = document.value("thread_multiple", false);
    for (const Json& window : document.at("windows")) {
        WindowGroup group{.name = window.at("name"),
                          .mode = window.at("mode"),
                          .site = window.value("site", ""),
                          .not_shared = window.value("not_shared", ""),
                          .bytes = window.value("bytes", std::uint64_t{0}),
                          .windows = window.at("windows"),
                          .counters = counters_of(window)};
        const Json forgotten_by = window.value("forgotten_by", Json::object());
        for (const auto& [call, gets] : forgotten_by.items())
            group.forgotten_by[call] = gets;
        const auto known =
            std::ranges::find_if(summary.groups, [&](const auto& g) { return g.is_like(group); });
        if (known == summary.groups.end()) {
            put(summary.groups, group);
            continue;
        }
        const std::uint64_t windows = known->windows + group.windows;
        merge(*known, group);
        known->windows = windows;
    }
    for (WindowGroup& group : summary.groups) {
        group.ranks = 1;
        scale_causes(group);
        set_spreads(group);
    }
    return summary;
}

std::vector<std::uint8_t> packed(const RunSummary& summary) {
    Json groups = Json::array();
    for (const WindowGroup& g : summary.groups) {
        Json counters = Json::array();
        for (const CounterInfo& row : range_cache_counter_table)
            counters.push_back(g.counters.*row.member);
        groups.push_back({g.name, g.mode, g.site, g.bytes, g.windows, g.ranks, std::move(counters),
                          g.forgotten_by, json_of(g.gets), json_of(g.hit_share), json_of(g.gain_s),
                          g.not_shared});
    }
    return Json::to_cbor(
        Json::array({summary.ranks, summary.elapsed_s, summary.memory_limit_bytes, summary.memory_taken_bytes,
                     summary.memory_origin, std::move(groups), summary.is_threaded}));
}

RunSummary unpacked(const std::vector<std::uint8_t>& bytes) {
    const Json json = Json::from_cbor(bytes);
    RunSummary summary{.ranks = json.at(0),
                       .elapsed_s = json.at(1),
                       .memory_limit_bytes = json.at(2),
                       .memory_taken_bytes = json.at(3),
                       .memory_origin = json.at(4),
                       .is_threaded = json.at(6)};
    for (const Json& from : json.at(5)) {
        WindowGroup group{.name = from.at(0),
                          .mode = from.at(1),
                          .site = from.at(2),
                          .bytes = from.at(3),
                          .windows = from.at(4),
                          .ranks = from.at(5)};
        for (std::size_t i = 0; i < std::size(range_cache_counter_table); ++i)
            group.counters.*range_cache_counter_table[i].member = from.at(6).at(i);
        for (const auto& [call, gets] : from.at(7).items())
            group.forgotten_by[call] = gets;
        group.gets = spread_of(from.at(8));
        group.hit_share = spread_of(from.at(9));
        group.gain_s = spread_of(from.at(10));
        group.not_shared = from.at(11);
        summary.groups.push_back(std::move(group));
    }
    return summary;
}

}  // namespace nearfetch
