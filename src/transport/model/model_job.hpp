// SPDX-License-Identifier: Apache-2.0
#pragma once

// A modelled network in front of a rank's job. Messages carry the time at which they may be received, and
// wait here. Barriers and atomics take the model's time after the inner job has done them.
//
// In wall-clock time the ranks have to share a steady clock: processes of one machine. In virtual time they
// are threads of one process, and their mutual waits go through VirtualRanks, because a wait in the inner job
// would block all.

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

/// A job with the memory of another one.
class JobInFront : public Job {
  public:
    explicit JobInFront(Job& inner) : inner_(inner) {}

    using Job::segment;
    std::span<std::byte> segment(std::uint64_t address) noexcept override { return inner_.segment(address); }
    AddedSegment add_segment(std::uint64_t bytes) override { return inner_.add_segment(bytes); }
    void remove_segment(std::uint64_t address) override { inner_.remove_segment(address); }
    bool is_idle(std::uint64_t address) const noexcept override { return inner_.is_idle(address); }
    std::shared_ptr<void> keep(const std::byte* place) override { return inner_.keep(place); }

  protected:
    Job& inner_;
};

class ModelJob final : public JobInFront {
  public:
    /// \param ranks in virtual time, with its clock; else nullptr, and `clock` is the wall's
    ModelJob(Job& inner, const ModelSettings& settings, Network& network, ModelClock& clock,
             VirtualRanks* ranks);

    Rank rank() const noexcept override { return inner_.rank(); }
    Rank ranks() const noexcept override { return inner_.ranks(); }
    std::unique_ptr<Transport> endpoint() override;
    bool threads() const noexcept override { return inner_.threads(); }
    std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                         std::uint64_t compare) override;
    void start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) override;
    void finish_additions() override;
    void send(Rank target, Port port, std::span<const std::byte> bytes) override;
    bool receive(Port port, Message& message, bool wait) override;
    using Job::barrier;
    void barrier(const CollectiveCall& call) override;
    void compute(std::uint64_t ns) override { clock_.compute(ns); }
    bool virtual_time() const noexcept override { return ranks_ != nullptr; }
    std::unique_ptr<Thread> start_thread(std::function<void()> body) override;
    std::uint64_t threads_made() const override { return inner_.threads_made(); }

    const NetworkModel& network() const noexcept { return network_.model(); }
    /// Traffic of all threads of this rank.
    Traffic traffic() const { return network_.at(rank()).traffic(); }

  private:
    /// Messages that have arrived at the inner job, by due time, then by arrival.
    struct Inbox {
        std::map<std::pair<std::uint64_t, std::uint64_t>, Message> messages;
        std::uint64_t arrived = 0;

        void add(Message message);
    };

    std::uint64_t atomic_done_ns(Rank target, std::uint64_t now_ns);
    std::uint64_t delay_ns();
    std::uint64_t due_ns(Rank target, std::uint64_t size_bytes);

    const ModelSettings settings_;
    Network& network_;
    ModelClock& clock_;
    VirtualRanks* ranks_;
    std::mutex mutex_;  ///< guards the members below; an Inbox itself belongs to its receiver
    SeededRandom chance_;
    std::uint64_t endpoints_ = 0;
    std::uint64_t started_threads_ = 0;
    std::vector<std::uint64_t> last_due_ns_;  ///< by target, of the last message sent
    std::uint64_t additions_done_ns_ = 0;     ///< of the last that completes
    std::unordered_map<Port, Inbox> inboxes_;
};

/// The network of a job; nullptr if it has none.
const NetworkModel* network_of(const Job& job) noexcept;
/// Traffic of a job's rank over its modelled network; zero without one.
Traffic traffic_of(const Job& job);

}  // namespace nearfetch
