// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/inproc/world.hpp"
#include "transport/job.hpp"
#include "transport/job_thread.hpp"

namespace nearfetch {

/// A rank that is a thread. After the failure of another rank, waits, atomic() and send() throw Error.
class InprocJob final : public Job {
  public:
    InprocJob(InprocWorld& world, Rank rank) : world_(world), rank_(rank) {}

    Rank rank() const noexcept override { return rank_; }
    Rank ranks() const noexcept override { return world_.ranks(); }
    using Job::segment;
    std::span<std::byte> segment(std::uint64_t address) noexcept override {
        return world_.segments().at(rank_, address);
    }
    AddedSegment add_segment(std::uint64_t bytes) override { return world_.segments().add(rank_, bytes); }
    void remove_segment(std::uint64_t address) override { world_.segments().remove(rank_, address); }
    std::shared_ptr<void> keep(const std::byte* place) override {
        return world_.segments().keep(rank_, place);
    }
    std::unique_ptr<Transport> endpoint() override;
    bool threads() const noexcept override { return true; }
    std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                         std::uint64_t compare) override;
    void start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) override;
    void finish_additions() override {}
    void send(Rank target, Port port, std::span<const std::byte> bytes) override;
    bool receive(Port port, Message& message, bool wait) override;
    using Job::barrier;
    void barrier(const CollectiveCall& call) override { world_.barrier(rank_, call); }
    void compute(std::uint64_t ns) override;
    bool virtual_time() const noexcept override { return false; }
    std::unique_ptr<Thread> start_thread(std::function<void()> body) override;
    std::uint64_t threads_made() const override { return pool_.threads_made(); }

  private:
    void check_rank(Rank target, const char* operation) const;
    static void check_port(Port port);

    InprocWorld& world_;
    Rank rank_;
    ThreadPool pool_;
};

}  // namespace nearfetch
