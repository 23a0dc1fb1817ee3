// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "base/types.hpp"
#include "transport/model/network_model.hpp"

namespace nearfetch {

/// When something is busy that does one thing at a time.
class BusyTimes {
  public:
    /// Takes `duration_ns` of the earliest idle time from `begin_ns` on. \return how long it waits for that
    /// \param now_ns nothing is asked for before
    std::uint64_t wait_ns(std::uint64_t now_ns, std::uint64_t begin_ns, std::uint64_t duration_ns);

  private:
    std::map<std::uint64_t, std::uint64_t> ends_;  ///< of disjoint times, by their begin
};

/// A rank's network card and link, shared by its threads: computes completion times. Each message occupies
/// the card for its gap. Bytes occupy the link in their direction: GETs inward, PUTs and messages outward. At
/// the target, messages of all ranks queue: each takes its gap, or its bytes' time on the wire if that is
/// longer. GETs leave there, all else arrives, and a card also sends at the same time. Thread-safe.
class NetworkInterface {
  public:
    explicit NetworkInterface(const NetworkModel& model) : model_(model) {}

    std::uint64_t get_done_ns(NetworkInterface& target, std::uint64_t now_ns, std::uint64_t size_bytes);
    std::uint64_t put_done_ns(NetworkInterface& target, std::uint64_t now_ns, std::uint64_t size_bytes);
    std::uint64_t atomic_done_ns(NetworkInterface& target, std::uint64_t now_ns);
    /// When the message can be received.
    std::uint64_t message_done_ns(NetworkInterface& target, std::uint64_t now_ns, std::uint64_t size_bytes);

    /// Counts the time that a thread waited for GETs and PUTs.
    void count_wait(std::uint64_t ns);
    /// All traffic so far.
    Traffic traffic() const;

  private:
    /// A message's way: from this card over the link, past the target's queue, and back if it is answered.
    struct Trip {
        std::uint64_t size_bytes;
        std::uint64_t duration_ns;  ///< where nothing else is on the way
        double gap_ns;
        double answer_ns;           ///< of the duration, after the target has served it
        bool sends_bytes;           ///< over this link; else it brings them, or has none
        BusyTimes& target_is_busy;  ///< with messages in the same direction
        std::uint64_t Traffic::* messages;
        std::uint64_t Traffic::* bytes;  ///< nullptr: not counted
    };

    std::uint64_t done_ns(NetworkInterface& target, std::uint64_t now_ns, const Trip& trip);
    std::uint64_t start(std::uint64_t now_ns, double gap_ns);
    std::uint64_t outwards(std::uint64_t start_ns, std::uint64_t size_bytes);

    const NetworkModel& model_;
    mutable std::mutex mutex_;
    double card_free_ns_ = 0;
    std::uint64_t inwards_free_ns_ = 0;
    std::uint64_t outwards_free_ns_ = 0;
    BusyTimes answering_;  ///< GETs of other ranks
    BusyTimes receiving_;  ///< all else of them
    Traffic traffic_;
};

/// Those of all ranks. Of ranks in other processes only this process's messages are known.
class Network {
  public:
    /// \throws Error for an invalid model
    Network(NetworkModel model, Rank ranks);

    const NetworkModel& model() const noexcept { return model_; }
    NetworkInterface& at(Rank rank) { return interfaces_[static_cast<std::size_t>(rank)]; }

  private:
    NetworkModel model_;
    std::deque<NetworkInterface> interfaces_;
};

}  // namespace nearfetch
