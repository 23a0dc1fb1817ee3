// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "transport/model/network_model.hpp"

namespace nearfetch {

/// A rank's network card and link, shared by its threads: computes completion times. Each message occupies
/// the card for its gap. Bytes occupy the link in their direction: GETs inward, PUTs and messages outward.
/// The target's link is assumed to be idle. Thread-safe.
class NetworkInterface {
  public:
    explicit NetworkInterface(const NetworkModel& model) : model_(model) {}

    std::uint64_t get_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes);
    std::uint64_t put_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes);
    std::uint64_t atomic_done_ns(std::uint64_t now_ns);
    /// When the message can be received.
    std::uint64_t message_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes);

    /// Counts the time that a thread waited for GETs and PUTs.
    void count_wait(std::uint64_t ns);
    /// All traffic so far.
    Traffic traffic() const;

  private:
    std::uint64_t start(std::uint64_t now_ns, double gap_ns);
    std::uint64_t outwards(std::uint64_t start_ns, std::uint64_t size_bytes);

    const NetworkModel& model_;
    mutable std::mutex mutex_;
    double card_free_ns_ = 0;
    std::uint64_t inwards_free_ns_ = 0;
    std::uint64_t outwards_free_ns_ = 0;
    Traffic traffic_;
};

}  // namespace nearfetch
