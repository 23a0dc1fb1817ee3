// SPDX-License-Identifier: Apache-2.0
#include "rma/freshness.hpp"

#include "base/ticks.hpp"

namespace nearfetch {

Freshness::Freshness(LazyRangeCache& cache, Acquires& acquires, std::uint64_t patience_ticks)
    : seen_acquires_(acquires.count()), standstill_(patience_ticks), cache_(cache), acquires_(acquires) {}

void Freshness::acquire(bool is_acquire_mode) noexcept {
    seen_acquires_ = acquires_.count();
    const NodeTime when = acquires_.time_ns();
    is_acquire_mode ? cache_.acquire_as_of(when) : cache_.acquire_read_ahead_as_of(when);
}

void Freshness::refresh(Rank target, std::span<const ByteRun> runs, std::uint64_t size_bytes) noexcept {
    ++poll_count_;
    if (!cache_) return;
    const ByteRun& first = runs.front();
    if (const std::byte* const data = cache_->peek(target, first.offset, first.size))
        last_get_.keep({.target = target, .offset = first.offset, .size = size_bytes}, data, first.size);
    cache_.drop(target, runs);
}

void Freshness::resume(Rank target) noexcept {
    const RangeGet& last = last_get_.get();
    if (cache_ && last.target == target) cache_->drop(target, last.offset, last.size);
}

void Freshness::get_started(const Get& get, Moment issued, const DeliveryProbe& probe) noexcept {
    const ByteRun& first = get.runs.front();
    // Where nobody says when a request has ended, its buffer must not be looked at.
    std::byte* const origin = get.request == 0 || get.may_lead ? first.origin : nullptr;
    get_started({get.target, first.offset, get.size_bytes, origin, get.request}, first.size, issued, probe);
}

/// What the last get has brought is there, or never will be.
void Freshness::get_over(bool arrived) noexcept {
    probe_.end();
    if (arrived ? last_get_.arrived() : last_get_.lost())
        acquires_.acquire("a poll that brought other bytes");
}

bool Freshness::take_probe() noexcept {
    const bool changed = probe_.has_changed();
    probe_.end();
    return changed;
}

void Freshness::look_for_standstill(std::uint64_t fetched_bytes) noexcept {
    if (!cache_ || !standstill_.step(ticks(), fetched_bytes, acquires_.count())) return;
    ++poll_count_;
    cache_.acquire();
}

}  // namespace nearfetch
