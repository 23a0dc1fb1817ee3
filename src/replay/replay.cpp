// SPDX-License-Identifier: Apache-2.0
#include "replay/replay.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/copy.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

namespace {

RangeCacheConfig with_benefit(RangeCacheConfig config, const NetworkModel& network) {
    if (!config.hit_benefit) config.hit_benefit = benefit_of(network);
    return config;
}

}  // namespace

BenefitFunction benefit_of(const NetworkModel& network) {
    const double ordinary = static_cast<double>(network.get_ns(8));
    if (ordinary == 0) return nullptr;
    return [network, ordinary](Rank, std::uint64_t size_bytes) {
        return static_cast<double>(network.get_ns(size_bytes)) / ordinary;
    };
}

Replay::Replay(const RangeCacheConfig& config, const NetworkModel& network, const Trace& trace,
               Payloads payloads)
    : trace_(trace),
      network_(network),
      copies_(payloads == Payloads::copied),
      cache_(with_benefit(config, network), static_cast<Rank>(trace.ranks)),
      source_(trace.largest_bytes()),
      origin_(trace.largest_bytes()) {
    miss_ticks_.reserve(trace.gets.size());
}

std::optional<AccessType> Replay::step() {
    if (next_ == trace_.gets.size()) return std::nullopt;
    const TraceGet& get = trace_.gets[next_++];
    const std::uint64_t begin = ticks();
    AccessType type = AccessType::hit;
    if (const std::byte* data = cache_.find(get.target, get.offset, get.size)) {
        if (copies_) copy_bytes(origin_.data(), data, get.size);
    } else {
        type = fetch(get);
    }
    const std::uint64_t taken = ticks() - begin;
    if (type == AccessType::hit)
        hit_ticks_ += taken;
    else
        miss_ticks_.push_back(static_cast<std::uint32_t>(
            std::min<std::uint64_t>(taken, std::numeric_limits<std::uint32_t>::max())));
    types_.count(type);
    return type;
}

void Replay::finish() {
    while (step()) {
    }
}

AccessType Replay::fetch(const TraceGet& get) {
    cache_.plan_lookup(get.target, get.offset, get.size, parts_);
    const bool partial = std::any_of(parts_.begin(), parts_.end(), [](const LookupPart& part) {
        return part.kind != LookupPart::Kind::gap;
    });
    AccessType type = AccessType::hit;
    std::uint64_t slowest_ns = 0;  // gaps of a get are fetched side by side
    for (const LookupPart& part : parts_) {
        if (part.kind == LookupPart::Kind::resident && copies_)
            copy_bytes(origin_.data() + (part.offset - get.offset), part.data, part.size);
        if (part.kind != LookupPart::Kind::gap) continue;
        slowest_ns = std::max(slowest_ns, network_.get_ns(part.size));
        const Admission admission = cache_.admit(get.target, part.offset, part.size, cache_.now(), true);
        if (admission.entry != nullptr)
            cache_.commit(admission.entry, copies_ ? source_.data() : admission.entry->data());
        type = partial ? AccessType::partial_hit : admission.type;
    }
    network_ns_ += slowest_ns;
    return type;
}

RangeCacheCounters Replay::counters() const {
    RangeCacheCounters sum = types_;
    sum.add(cache_.counters());
    return sum;
}

SoftwareTimes Replay::times() const {
    const auto mean_ns = [](std::uint64_t sum_ticks, std::uint64_t count) {
        return count == 0 ? 0 : static_cast<double>(sum_ticks) * ns_per_tick() / static_cast<double>(count);
    };
    std::vector<std::uint32_t> misses = miss_ticks_;
    const std::uint64_t sum = std::accumulate(misses.begin(), misses.end(), std::uint64_t{0});
    SoftwareTimes times;
    times.hit_ns = mean_ns(hit_ticks_, next_ - misses.size());
    times.miss_ns = mean_ns(sum, misses.size());
    times.get_ns = mean_ns(hit_ticks_ + sum, next_);
    if (misses.empty()) return times;
    const auto quantile_ns = [&](std::size_t percent) {
        const auto at = misses.begin() + static_cast<std::ptrdiff_t>(misses.size() * percent / 100);
        std::nth_element(misses.begin(), at, misses.end());
        return static_cast<double>(*at) * ns_per_tick();
    };
    times.miss_median_ns = quantile_ns(50);
    times.miss_p99_ns = quantile_ns(99);
    return times;
}

}  // namespace nearfetch
