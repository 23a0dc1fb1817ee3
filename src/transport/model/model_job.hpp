// SPDX-License-Identifier: Apache-2.0
#pragma once

// Puts a modelled network in front of a rank. Messages carry the time at which they can be received, and stay
// here until then; barriers and atomic operations take the model's time after they are done underneath.
//
// On the wall's clock any job will do whose ranks read the same steady clock: processes of one machine. In
// virtual time the ranks have to be threads of one process, and what they wait for from each other goes
// through VirtualRanks, because waiting underneath would hold up everybody.

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/job.hpp"
#include "transport/model/model_clock.hpp"
#include "transport/model/model_transport.hpp"
#include "transport/model/network_interface.hpp"

namespace nearfetch {

class VirtualRanks;

class ModelJob final : public Job {
  public:
    /// \param ranks in virtual time, with its clock; else nullptr, and `clock` is the wall's
    /// \throws Error when the network makes no sense
    ModelJob(Job& inner, ModelSettings settings, ModelClock& clock, VirtualRanks* ranks);

    Rank rank() const noexcept override { return inner_.rank(); }
    Rank ranks() const noexcept override { return inner_.ranks(); }
    std::span<std::byte> segment() noexcept override { return inner_.segment(); }
    std::shared_ptr<void> memory() override { return inner_.memory(); }
    std::unique_ptr<Transport> endpoint() override;
    bool threads() const noexcept override { return inner_.threads(); }
    std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                         std::uint64_t compare) override;
    void send(Rank target, Port port, std::span<const std::byte> bytes) override;
    bool receive(Port port, Message& message, bool wait) override;
    using Job::barrier;
    void barrier(const CollectiveCall& call) override;
    void compute(std::uint64_t ns) override { clock_.compute(ns); }
    bool virtual_time() const noexcept override { return ranks_ != nullptr; }
    std::unique_ptr<Thread> start_thread(std::function<void()> body) override;

    const NetworkModel& network() const noexcept { return settings_.network; }
    /// What all threads of this rank have sent and received.
    Traffic traffic() const { return network_.traffic(); }

  private:
    /// Messages that have come underneath, by the time at which they are due and then as they came.
    struct Inbox {
        std::map<std::pair<std::uint64_t, std::uint64_t>, Message> messages;
        std::uint64_t arrived = 0;

        void add(Message message);
    };

    std::uint64_t delay_ns();
    std::uint64_t due_ns(Rank target, std::uint64_t size_bytes);

    Job& inner_;
    ModelSettings settings_;
    ModelClock& clock_;
    VirtualRanks* ranks_;
    NetworkInterface network_;
    std::mutex mutex_;  ///< of what follows; an Inbox itself belongs to who receives
    Chance chance_;
    std::uint64_t endpoints_ = 0;
    std::uint64_t started_threads_ = 0;
    std::vector<std::uint64_t> last_due_ns_;  ///< by target, of what was sent
    std::unordered_map<Port, Inbox> inboxes_;
};

/// The network of a job that has one; nullptr when it has none.
const NetworkModel* network_of(const Job& job) noexcept;
/// What a job's rank has sent and received over its modelled network; nothing when it has none.
Traffic traffic_of(const Job& job);

}  // namespace nearfetch
