// SPDX-License-Identifier: Apache-2.0
#include "transport/model/network_interface.hpp"

#include <cmath>

namespace nearfetch {

std::uint64_t NetworkInterface::get_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    ++traffic_.get_messages;
    traffic_.get_bytes += size_bytes;
    const std::uint64_t wire_ns = model_.wire_ns(size_bytes);
    const std::uint64_t unhindered_ns = start(now_ns, model_.get.gap_ns) + model_.get_ns(size_bytes);
    inwards_free_ns_ = std::max(unhindered_ns, inwards_free_ns_ + wire_ns);
    return inwards_free_ns_;
}

std::uint64_t NetworkInterface::put_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    ++traffic_.put_messages;
    traffic_.put_bytes += size_bytes;
    return outwards(start(now_ns, model_.put.gap_ns), size_bytes) + model_.put_ns(size_bytes);
}

std::uint64_t NetworkInterface::atomic_done_ns(std::uint64_t now_ns) {
    const std::lock_guard lock(mutex_);
    ++traffic_.atomics;
    return start(now_ns, model_.get.gap_ns) + static_cast<std::uint64_t>(std::llround(model_.atomic_ns));
}

std::uint64_t NetworkInterface::message_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    ++traffic_.messages;
    traffic_.message_bytes += size_bytes;
    return outwards(start(now_ns, model_.put.gap_ns), size_bytes) + model_.message_delay_ns(size_bytes);
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

}  // namespace nearfetch
