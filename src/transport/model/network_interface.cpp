// SPDX-License-Identifier: Apache-2.0
#include "transport/model/network_interface.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace nearfetch {

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
    const std::uint64_t there_ns = done_ns(target, now_ns,
                                           {.size_bytes = size_bytes,
                                            .duration_ns = model_.get_ns(size_bytes),
                                            .gap_ns = model_.get.gap_ns,
                                            .answer_ns = model_.get.latency_ns / 2,
                                            .sends_bytes = false,
                                            .target_is_busy = target.answering_,
                                            .messages = &Traffic::get_messages,
                                            .bytes = &Traffic::get_bytes});
    const std::lock_guard lock(mutex_);
    inwards_free_ns_ = std::max(there_ns, inwards_free_ns_ + model_.wire_ns(size_bytes));
    return inwards_free_ns_;
}

std::uint64_t NetworkInterface::put_done_ns(NetworkInterface& target, std::uint64_t now_ns,
                                            std::uint64_t size_bytes) {
    return done_ns(target, now_ns,
                   {.size_bytes = size_bytes,
                    .duration_ns = model_.put_ns(size_bytes),
                    .gap_ns = model_.put.gap_ns,
                    .answer_ns = model_.put.latency_ns / 2,
                    .sends_bytes = true,
                    .target_is_busy = target.receiving_,
                    .messages = &Traffic::put_messages,
                    .bytes = &Traffic::put_bytes});
}

std::uint64_t NetworkInterface::atomic_done_ns(NetworkInterface& target, std::uint64_t now_ns) {
    return done_ns(target, now_ns,
                   {.size_bytes = 8,
                    .duration_ns = static_cast<std::uint64_t>(std::llround(model_.atomic_ns)),
                    .gap_ns = model_.get.gap_ns,
                    .answer_ns = model_.atomic_ns / 2,
                    .sends_bytes = false,
                    .target_is_busy = target.receiving_,
                    .messages = &Traffic::atomics,
                    .bytes = nullptr});
}

std::uint64_t NetworkInterface::message_done_ns(NetworkInterface& target, std::uint64_t now_ns,
                                                std::uint64_t size_bytes) {
    return done_ns(target, now_ns,
                   {.size_bytes = size_bytes,
                    .duration_ns = model_.message_delay_ns(size_bytes),
                    .gap_ns = model_.put.gap_ns,
                    .answer_ns = 0,
                    .sends_bytes = true,
                    .target_is_busy = target.receiving_,
                    .messages = &Traffic::messages,
                    .bytes = &Traffic::message_bytes});
}

std::uint64_t NetworkInterface::done_ns(NetworkInterface& target, std::uint64_t now_ns, const Trip& trip) {
    std::uint64_t end_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        ++(traffic_.*trip.messages);
        if (trip.bytes != nullptr) traffic_.*trip.bytes += trip.size_bytes;
        const std::uint64_t begin_ns = start(now_ns, trip.gap_ns);
        end_ns = (trip.sends_bytes ? outwards(begin_ns, trip.size_bytes) : begin_ns) + trip.duration_ns;
    }
    const std::uint64_t arrival_ns = end_ns - std::min(end_ns, static_cast<std::uint64_t>(trip.answer_ns));
    const std::lock_guard lock(target.mutex_);
    const std::uint64_t served_ns =
        std::max(static_cast<std::uint64_t>(trip.gap_ns), model_.wire_ns(trip.size_bytes));
    return end_ns + trip.target_is_busy.wait_ns(now_ns, arrival_ns, served_ns);
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
