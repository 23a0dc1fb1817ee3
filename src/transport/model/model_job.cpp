// SPDX-License-Identifier: Apache-2.0
#include "transport/model/model_job.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "transport/model/virtual_ranks.hpp"

namespace nearfetch {
namespace {

using Due = std::uint64_t;

/// A thread that is an actor of the simulation.
class VirtualThread final : public Job::Thread {
  public:
    VirtualThread(Job& inner, Simulation& simulation, std::string name, std::function<void()> body)
        : simulation_(simulation), actor_(simulation.add(std::move(name), simulation.now_ns())) {
        Simulation::Actor& actor = actor_;
        try {
            thread_ = inner.start_thread([&simulation, &actor, body = std::move(body)]() mutable {
                simulation.enter(actor);
                try {
                    // Destroyed while the thread holds the baton.
                    const std::function<void()> work = std::move(body);
                    work();
                } catch (...) {
                    simulation.leave();
                    throw;
                }
                simulation.leave();
            });
        } catch (...) {
            simulation.remove(actor);
            throw;
        }
    }
    ~VirtualThread() override { simulation_.join(actor_); }
    void join() override {
        simulation_.join(actor_);
        thread_->join();
    }

  private:
    Simulation& simulation_;
    Simulation::Actor& actor_;
    std::unique_ptr<Job::Thread> thread_;
};

}  // namespace

ModelJob::ModelJob(Job& inner, const ModelSettings& settings, Network& network, ModelClock& clock,
                   VirtualRanks* ranks)
    : JobInFront(inner),
      settings_(settings),
      network_(network),
      clock_(clock),
      ranks_(ranks),
      chance_(settings_.seed ^ mixed(static_cast<std::uint64_t>(inner.rank()))),
      last_due_ns_(static_cast<std::size_t>(inner.ranks())) {}

std::unique_ptr<Transport> ModelJob::endpoint() {
    std::uint64_t seed = 0;
    {
        const std::lock_guard lock(mutex_);
        seed = mixed(settings_.seed ^ mixed(static_cast<std::uint64_t>(rank()))) + ++endpoints_;
    }
    return std::make_unique<ModelTransport>(inner_.endpoint(), settings_, seed, rank(), network_, clock_,
                                            ranks_);
}

std::uint64_t ModelJob::atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                               std::uint64_t compare) {
    clock_.run_earlier_events();
    const std::uint64_t now_ns = clock_.now_ns();
    const std::uint64_t before = inner_.atomic(target, address, op, operand, compare);
    // At least 1 ns, or a polling loop would take no time.
    std::uint64_t end_ns = now_ns + 1 + static_cast<std::uint64_t>(network_.model().overhead_ns);
    if (target != rank()) end_ns = std::max(end_ns, atomic_done_ns(target, now_ns));
    clock_.wait_until(end_ns + delay_ns());
    return before;
}

void ModelJob::start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    clock_.run_earlier_events();
    const std::uint64_t now_ns = clock_.now_ns();
    inner_.start_addition(target, address, op, amount);
    const std::uint64_t done_ns = target == rank() ? now_ns : atomic_done_ns(target, now_ns) + delay_ns();
    {
        const std::lock_guard lock(mutex_);
        additions_done_ns_ = std::max(additions_done_ns_, done_ns);
    }
    clock_.spend(static_cast<std::uint64_t>(network_.model().overhead_ns));
}

void ModelJob::finish_additions() {
    clock_.run_earlier_events();
    inner_.finish_additions();
    std::uint64_t done_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        done_ns = additions_done_ns_;
    }
    if (done_ns > clock_.now_ns()) clock_.wait_until(done_ns);
}

void ModelJob::send(Rank target, Port port, std::span<const std::byte> bytes) {
    clock_.run_earlier_events();
    if (target < 0 || target >= ranks() || port > port_max) return inner_.send(target, port, bytes);
    const Due due = due_ns(target, bytes.size());
    std::vector<std::byte> packet(sizeof due + bytes.size());
    std::memcpy(packet.data(), &due, sizeof due);
    std::copy(bytes.begin(), bytes.end(), packet.begin() + sizeof due);
    inner_.send(target, port, packet);
    if (ranks_ != nullptr) ranks_->announce(target, port, due);
    clock_.spend(static_cast<std::uint64_t>(network_.model().overhead_ns));
}

bool ModelJob::receive(Port port, Message& message, bool wait) {
    clock_.run_earlier_events();
    Inbox* inbox = nullptr;
    {
        const std::lock_guard lock(mutex_);
        inbox = &inboxes_[port];
    }
    Message packet;
    while (true) {
        while (inner_.receive(port, packet, false))
            inbox->add(std::move(packet));
        const auto first = inbox->messages.begin();
        const bool any = first != inbox->messages.end();
        if (any && first->first.first <= clock_.now_ns()) {
            message = std::move(first->second);
            inbox->messages.erase(first);
            return true;
        }
        if (!wait) return false;
        const std::uint64_t next_ns = any ? first->first.first : never_ns;
        if (ranks_ != nullptr) {
            ranks_->await_message(rank(), port, next_ns);
        } else if (any) {
            clock_.wait_until(next_ns);
        } else {
            inner_.receive(port, packet, true);
            inbox->add(std::move(packet));
        }
    }
}

void ModelJob::barrier(const CollectiveCall& call) {
    const std::uint64_t cost_ns = network_.model().barrier_ns(ranks());
    if (ranks_ != nullptr) return ranks_->barrier(rank(), call, cost_ns);
    inner_.barrier(call);
    clock_.wait_until(clock_.now_ns() + cost_ns);
}

std::unique_ptr<Job::Thread> ModelJob::start_thread(std::function<void()> body) {
    if (ranks_ == nullptr) return inner_.start_thread(std::move(body));
    std::string name = "thread " + std::to_string(++started_threads_) + " of rank " + std::to_string(rank());
    return std::make_unique<VirtualThread>(inner_, ranks_->simulation(), std::move(name), std::move(body));
}

void ModelJob::Inbox::add(Message message) {
    Due due = 0;
    std::memcpy(&due, message.bytes.data(), sizeof due);
    message.bytes.erase(message.bytes.begin(), message.bytes.begin() + sizeof due);
    messages.emplace(std::pair(due, arrived++), std::move(message));
}

std::uint64_t ModelJob::atomic_done_ns(Rank target, std::uint64_t now_ns) {
    return network_.at(rank()).atomic_done_ns(network_.at(target), now_ns);
}

std::uint64_t ModelJob::delay_ns() {
    if (settings_.jitter_ns == 0) return 0;
    const std::lock_guard lock(mutex_);
    return chance_.up_to(settings_.jitter_ns);
}

std::uint64_t ModelJob::due_ns(Rank target, std::uint64_t size_bytes) {
    const std::uint64_t now_ns = clock_.now_ns();
    const std::uint64_t soonest_ns =
        target == rank()
            ? now_ns
            : network_.at(rank()).message_done_ns(network_.at(target), now_ns, size_bytes) + delay_ns();
    // Messages of one rank do not overtake each other.
    const std::lock_guard lock(mutex_);
    std::uint64_t& last_ns = last_due_ns_[static_cast<std::size_t>(target)];
    last_ns = std::max(last_ns, soonest_ns);
    return last_ns;
}

const NetworkModel* network_of(const Job& job) noexcept {
    const auto* const modelled = dynamic_cast<const ModelJob*>(&job);
    return modelled == nullptr ? nullptr : &modelled->network();
}

Traffic traffic_of(const Job& job) {
    const auto* const modelled = dynamic_cast<const ModelJob*>(&job);
    return modelled == nullptr ? Traffic{} : modelled->traffic();
}

}  // namespace nearfetch
