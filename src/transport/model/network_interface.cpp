// SPDX-License-Identifier: Apache-2.0
#include "transport/model/network_interface.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace nearfetch {

namespace {

/// When the target answers: half of the shortest round trip before the end.
std::uint64_t half_way(std::uint64_t done_ns, double round_trip_ns) {
    return done_ns - std::min(done_ns, static_cast<std::uint64_t>(round_trip_ns / 2));
}

}  // namespace

std::uint64_t BusyTimes::wait_ns(std::uint64_t now_ns, std::uint64_t begin_ns, std::uint64_t duration_ns) {
    while (!ends_.empty() && ends_.begin()->second <= now_ns)
        ends_.erase(ends_.begin());
    std::uint64_t at_ns = begin_ns;
    auto next = ends_.upper_bound(at_ns);
    if (next != ends_.begin()) at_ns = std::max(at_ns, std::prev(next)->second);
    for (; next != ends_.end() && next->first < at_ns + duration_ns; ++next)
        at_ns = next->second;
    if (duration_ns == 0) return at_ns - begin_ns;
    std::uint64_t end_ns = at_ns + duration_ns;
    if (next != ends_.end() && next->first == end_ns) {
        end_ns = next->second;
        next = ends_.erase(next);
    }
    if (next != ends_.begin() && std::prev(next)->second == at_ns)
        std::prev(next)->second = end_ns;
    else
        ends_.emplace_hint(next, at_ns, end_ns);
    return at_ns - begin_ns;
}

std::uint64_t NetworkInterface::get_done_ns(NetworkInterface& target, std::uint64_t now_ns,
                                            std::uint64_t size_bytes) {
    std::uint64_t done_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        ++traffic_.get_messages;
        traffic_.get_bytes += size_bytes;
        done_ns = start(now_ns, model_.get.gap_ns) + model_.get_ns(size_bytes);
    }
    done_ns += target.queued_ns(target.answering_, now_ns, half_way(done_ns, model_.get.latency_ns),
                                model_.get.gap_ns, size_bytes);
    const std::lock_guard lock(mutex_);
    inwards_free_ns_ = std::max(done_ns, inwards_free_ns_ + model_.wire_ns(size_bytes));
    return inwards_free_ns_;
}

std::uint64_t NetworkInterface::put_done_ns(NetworkInterface& target, std::uint64_t now_ns,
                                            std::uint64_t size_bytes) {
    std::uint64_t done_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        ++traffic_.put_messages;
        traffic_.put_bytes += size_bytes;
        done_ns = outwards(start(now_ns, model_.put.gap_ns), size_bytes) + model_.put_ns(size_bytes);
    }
    return done_ns + target.queued_ns(target.receiving_, now_ns, half_way(done_ns, model_.put.latency_ns),
                                      model_.put.gap_ns, size_bytes);
}

std::uint64_t NetworkInterface::atomic_done_ns(NetworkInterface& target, std::uint64_t now_ns) {
    std::uint64_t done_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        ++traffic_.atomics;
        done_ns =
            start(now_ns, model_.get.gap_ns) + static_cast<std::uint64_t>(std::llround(model_.atomic_ns));
    }
    return done_ns + target.queued_ns(target.receiving_, now_ns, half_way(done_ns, model_.atomic_ns),
                                      model_.get.gap_ns, 8);
}

std::uint64_t NetworkInterface::message_done_ns(NetworkInterface& target, std::uint64_t now_ns,
                                                std::uint64_t size_bytes) {
    std::uint64_t done_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        ++traffic_.messages;
        traffic_.message_bytes += size_bytes;
        done_ns =
            outwards(start(now_ns, model_.put.gap_ns), size_bytes) + model_.message_delay_ns(size_bytes);
    }
    return done_ns + target.queued_ns(target.receiving_, now_ns, done_ns, model_.put.gap_ns, size_bytes);
}

std::uint64_t NetworkInterface::queued_ns(BusyTimes& serving, std::uint64_t now_ns, std::uint64_t arrival_ns,
                                          double gap_ns, std::uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    const auto gap = static_cast<std::uint64_t>(gap_ns);
    return serving.wait_ns(now_ns, arrival_ns, std::max(gap, model_.wire_ns(size_bytes)));
}

void NetworkInterface::count_wait(std::uint64_t ns) {
    const std::lock_guard lock(mutex_);
    traffic_.wait_ns += ns;
}

Traffic NetworkInterface::traffic() const {
    const std::lock_guard lock(mutex_);
    return traffic_;
}

std::uint64_t NetworkInterface::start(std::uint64_t now_ns, double gap_ns) {
    const double start_ns = std::max(static_cast<double>(now_ns), card_free_ns_);
    card_free_ns_ = start_ns + gap_ns;
    return static_cast<std::uint64_t>(start_ns);
}

std::uint64_t NetworkInterface::outwards(std::uint64_t start_ns, std::uint64_t size_bytes) {
    const std::uint64_t first_byte_ns = std::max(start_ns, outwards_free_ns_);
    outwards_free_ns_ = first_byte_ns + model_.wire_ns(size_bytes);
    return first_byte_ns;
}

Network::Network(NetworkModel model, Rank ranks) : model_(std::move(model)) {
    model_.check();
    for (Rank rank = 0; rank < ranks; ++rank)
        interfaces_.emplace_back(model_);
}

}  // namespace nearfetch
