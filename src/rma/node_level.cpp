// SPDX-License-Identifier: Apache-2.0
#include "rma/node_level.hpp"

#include <utility>

namespace nearfetch {

namespace {

constexpr std::uint64_t interval = 256;  // lookups
constexpr double own_ns = 200;           // a lookup and an offer (bench/node_buffer_cost)
constexpr std::uint64_t longest_pause = 1 << 16;

}  // namespace

bool NodeLevel::step(double network_ns) noexcept {
    if (paused_ != 0) {
        --paused_;
        return false;
    }
    if (interval_lookups_ < interval) return true;
    const auto lookups = static_cast<double>(std::exchange(interval_lookups_, 0));
    const auto found = static_cast<double>(std::exchange(interval_found_, 0));
    const bool pays = network_ns == 0 ? found != 0 : found * network_ns >= lookups * own_ns;
    if (pays) {
        pause_ = first_pause;
        return true;
    }
    paused_ = pause_;
    pause_ = std::min(2 * pause_, longest_pause);
    return false;
}

// Of gets that are issued within the nanosecond of an acquire nobody knows the order: they are too early.
NodeTime NodeLevel::since(Rank target) noexcept {
    Target& t = at(target);
    if (std::exchange(t.is_acquired, false)) t.since = steady_ns();
    return std::max(since_, t.since) + 1;
}

bool NodeLevel::find(Rank target, ByteRange range, Fetched how, std::byte* to) noexcept {
    ++lookups_;
    ++interval_lookups_;
    const NodeBuffer::Key key = key_of(target, range, how);
    NodeTime issued = 0;
    const NodeBuffer::Found found = buffer_->find(target, key, range, since(target), to, issued);
    if (found == NodeBuffer::Found::nothing) return false;
    ++found_;
    ++interval_found_;
    found_bytes_ += range.size();
    if (found == NodeBuffer::Found::soon_lost) buffer_->offer(target, key, range, issued, to);
    return true;
}

}  // namespace nearfetch
