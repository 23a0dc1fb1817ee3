// SPDX-License-Identifier: Apache-2.0
#include "rma/node_level.hpp"

#include <utility>

#include "base/ticks.hpp"
#include "rma/overlapping_origins.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t interval = 256;  // lookups
constexpr double own_ns = 200;           // a lookup and an offer (bench/node_buffer_cost)
constexpr std::uint64_t longest_pause = 1 << 16;
constexpr double unknown_network_ns = 100'000;
constexpr std::uint64_t longest_backoff = 10;

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
    TargetAcquires& t = at(target);
    if (std::exchange(t.is_acquired, false)) t.since = steady_ns();
    return std::max(since_, t.since) + 1;
}

void NodeLevel::expect(Rank target, const ByteRun& run, NodeTime issued, Moment started) noexcept {
    if (issued == 0 || expected_.size() == most_expected) return;
    expected_.push_back({target, run, issued, started});
    announce(target, run.range(), Fetched::alone, issued);
}

bool NodeLevel::expects(Rank target) const noexcept {
    return std::ranges::any_of(expected_, [&](const Expected& one) { return one.target == target; });
}

/// What was started later than that is given up: nobody would know its origin any more.
void NodeLevel::arrived(Rank target, Moment since) noexcept {
    for (const Expected& one : expected_)
        if (one.target == target && one.started <= since)
            offer(target, one.run.range(), Fetched::alone, one.issued, one.run.origin);
    expect_no_more(target);
}

void NodeLevel::expect_no_more(Rank target) noexcept {
    std::erase_if(expected_, [&](const Expected& one) { return one.target == target; });
}

bool NodeLevel::expect_no_more_at(Rank target, const ByteRun& origin) noexcept {
    return std::erase_if(expected_, [&](const Expected& one) {
               return one.target == target && overlap(origin, one.run.origin, one.run.size);
           }) != 0;
}

bool NodeLevel::find(Rank target, ByteRange range, Fetched how, std::byte* to) noexcept {
    ++counts_.lookups;
    ++interval_lookups_;
    return copy_found(target, range, key_of(target, range, how), to);
}

NodeTime NodeLevel::may_wait_until(Rank target, ByteRange range, Fetched how, double network_ns) noexcept {
    const NodeTime issued = buffer_->last_flight(target, key_of(target, range, how));
    if (issued < since(target)) return 0;
    const auto patience_ns = static_cast<NodeTime>(2 * (network_ns != 0 ? network_ns : unknown_network_ns));
    if (issued + patience_ns < steady_ns()) return 0;
    const bool is_next = backoff_ == 0 || ++not_waited_ >= std::uint64_t{1} << backoff_;
    return is_next ? issued + patience_ns : 0;
}

bool NodeLevel::wait_for(Rank target, ByteRange range, Fetched how, std::byte* to, NodeTime until,
                         WindowTransfers& transfers) noexcept {
    const NodeBuffer::Key key = key_of(target, range, how);
    not_waited_ = 0;
    while (steady_ns() < until && transfers.wait_a_moment()) {
        if (!copy_found(target, range, key, to)) continue;
        backoff_ = 0;
        return true;
    }
    backoff_ = std::min(backoff_ + 1, longest_backoff);
    return false;
}

bool NodeLevel::copy_found(Rank target, ByteRange range, NodeBuffer::Key key, std::byte* to) noexcept {
    NodeTime issued = 0;
    const NodeBuffer::Found found = buffer_->find(target, key, range, since(target), to, issued);
    if (found == NodeBuffer::Found::nothing) return false;
    ++counts_.found;
    ++interval_found_;
    counts_.found_bytes += range.size();
    spend_copy(range.size());
    if (found == NodeBuffer::Found::soon_lost) buffer_->offer(target, key, range, issued, to);
    return true;
}

}  // namespace nearfetch
