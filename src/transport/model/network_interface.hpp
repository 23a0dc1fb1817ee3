// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "transport/model/network_model.hpp"

namespace nearfetch {

/// A rank's network card and link, which all its threads share: says when what is started now is complete.
/// Each message keeps the card for its gap, one after the other; bytes keep the link in their direction,
/// those of GETs inwards, those of PUTs and messages outwards. The target's own link is taken to be free.
/// Thread-safe.
class NetworkInterface {
  public:
    explicit NetworkInterface(const NetworkModel& model) : model_(model) {}

    std::uint64_t get_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes);
    std::uint64_t put_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes);
    std::uint64_t atomic_done_ns(std::uint64_t now_ns);
    /// When the message can be received.
    std::uint64_t message_done_ns(std::uint64_t now_ns, std::uint64_t size_bytes);

    /// One of the rank's threads has waited for GETs and PUTs so long.
    void count_wait(std::uint64_t ns);
    /// All that went through here.
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
