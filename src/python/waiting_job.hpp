// SPDX-License-Identifier: Apache-2.0
#pragma once

// A job whose ranks run Python. A thread that holds Python's global lock releases it only where the job
// waits, so own elements and hits need no locking. In virtual time each call may hand the processor to
// another rank, which may need the lock.

#include <memory>

#include "transport/job.hpp"

namespace nearfetch::python {

class WaitingJob final : public Job {
  public:
    explicit WaitingJob(Job& inner) : inner_(inner) {}

    Rank rank() const noexcept override { return inner_.rank(); }
    Rank ranks() const noexcept override { return inner_.ranks(); }
    using Job::segment;
    std::span<std::byte> segment(std::uint64_t address) noexcept override { return inner_.segment(address); }
    AddedSegment add_segment(std::uint64_t bytes) override;
    void remove_segment(std::uint64_t address) override;
    bool is_idle(std::uint64_t address) const noexcept override { return inner_.is_idle(address); }
    std::shared_ptr<void> keep(const std::byte* place) override { return inner_.keep(place); }
    const NodeMemory* node_memory() const noexcept override { return inner_.node_memory(); }
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
    void compute(std::uint64_t ns) override;
    bool virtual_time() const noexcept override { return inner_.virtual_time(); }
    std::unique_ptr<Thread> start_thread(std::function<void()> body) override;

  private:
    Job& inner_;
};

}  // namespace nearfetch::python
