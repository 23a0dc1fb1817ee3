// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/world.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace nearfetch {
namespace {

// Spinning time of a barrier before it sleeps: sleeping and waking take much longer than a short wait.
constexpr std::uint64_t spin_ns = 50'000;

}  // namespace

InprocWorld::InprocWorld(Rank ranks, std::uint64_t segment_bytes)
    : oversubscribed_(ranks > static_cast<Rank>(std::thread::hardware_concurrency())),
      segments_(ranks, segment_bytes),
      mailboxes_(static_cast<std::size_t>(ranks)) {}

void InprocWorld::post(Rank target, Port port, Message message) {
    Mailbox& mailbox = mailboxes_[static_cast<std::size_t>(target)];
    {
        const std::lock_guard lock(mailbox.mutex);
        mailbox.messages[port].push_back(std::move(message));
    }
    mailbox.arrived.notify_all();
}

bool InprocWorld::take(Rank rank, Port port, Message& message, bool wait) {
    Mailbox& mailbox = mailboxes_[static_cast<std::size_t>(rank)];
    std::unique_lock lock(mailbox.mutex);
    std::deque<Message>& messages = mailbox.messages[port];
    if (wait) mailbox.arrived.wait(lock, [&] { return !messages.empty() || failed_; });
    throw_if_failed();
    if (messages.empty()) return false;
    message = std::move(messages.front());
    messages.pop_front();
    return true;
}

void InprocWorld::barrier(Rank rank, const CollectiveCall& call) {
    std::unique_lock lock(barrier_mutex_);
    const std::uint64_t generation = barrier_generation_;
    if (barrier_arrived_ == 0) barrier_id_ = call.id;
    if (call.id != barrier_id_ && differ_deadline_ns_ == 0) {
        differ_deadline_ns_ = steady_ns() + collective_timeout_ns;
        barrier_done_.notify_all();
    }
    ++barrier_arrived_;
    if (differ_deadline_ns_ != 0) return tell_difference(lock, generation, rank, call);
    if (barrier_arrived_ == ranks()) return complete_barrier();
    if (!oversubscribed_) {
        lock.unlock();
        for (const std::uint64_t end_ns = steady_ns() + spin_ns; steady_ns() < end_ns;)
            if (barrier_generation_ != generation) return throw_if_differed(generation);
        lock.lock();
    }
    const auto over = [&] { return barrier_generation_ != generation || failed_; };
    barrier_done_.wait(lock, [&] { return over() || ended_ || differ_deadline_ns_ != 0; });
    if (!over() && differ_deadline_ns_ != 0) return tell_difference(lock, generation, rank, call);
    if (barrier_generation_ != generation) return throw_if_differed(generation);
    throw_if_failed();
    throw Error("the barrier can never be complete",
                "rank " + std::to_string(*ended_) + " has returned from its main without it",
                "let every rank call barrier() equally often");
}

void InprocWorld::complete_barrier() {
    barrier_arrived_ = 0;
    ++barrier_generation_;
    barrier_done_.notify_all();
}

/// Records this rank's call, for the rank that reports the difference.
void InprocWorld::tell_difference(std::unique_lock<std::mutex>& lock, std::uint64_t generation, Rank rank,
                                  const CollectiveCall& call) {
    lock.unlock();
    CollectiveArrival arrival{rank, call.id, call.text()};
    lock.lock();
    differing_.push_back(std::move(arrival));
    const auto over = [&] { return barrier_generation_ != generation || failed_; };
    while (differing_.size() < mailboxes_.size() && !over()) {
        const std::uint64_t now_ns = steady_ns();
        if (now_ns >= differ_deadline_ns_) break;
        barrier_done_.wait_for(lock, std::chrono::nanoseconds(differ_deadline_ns_ - now_ns));
    }
    if (!over()) {
        difference_ = collective_error(differing_, ranks());
        if (differing_.size() < mailboxes_.size()) {
            abandoned_ = true;
            const std::exception_ptr failure = std::make_exception_ptr(*difference_);
            lock.unlock();
            fail(failure);
            std::rethrow_exception(failure);
        }
        differing_.clear();
        differ_deadline_ns_ = 0;
        differed_generation_ = generation;
        complete_barrier();
    }
    if (barrier_generation_ != generation) return throw_if_differed(generation);
    if (abandoned_) throw CollectiveError(*difference_);
    throw_if_failed();
}

void InprocWorld::throw_if_differed(std::uint64_t generation) const {
    if (differed_generation_ == generation) throw CollectiveError(*difference_);
}

void InprocWorld::fail(const std::exception_ptr& failure) {
    {
        const std::lock_guard lock(failure_mutex_);
        if (failure_) return;
        failure_ = failure;
        failed_ = true;
    }
    // Taking each lock ensures that nobody is between a check of failed_ and its sleep.
    for (Mailbox& mailbox : mailboxes_) {
        {
            const std::lock_guard lock(mailbox.mutex);
        }
        mailbox.arrived.notify_all();
    }
    {
        const std::lock_guard lock(barrier_mutex_);
    }
    barrier_done_.notify_all();
    if (on_failure_) on_failure_();
}

void InprocWorld::end(Rank rank) {
    {
        const std::lock_guard lock(barrier_mutex_);
        ended_ = rank;
    }
    barrier_done_.notify_all();
}

void InprocWorld::throw_if_failed() const {
    if (failed_) throw Error("this rank cannot go on", "another rank failed", "see that rank's error");
}

}  // namespace nearfetch
