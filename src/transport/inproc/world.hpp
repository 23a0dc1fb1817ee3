// SPDX-License-Identifier: Apache-2.0
#pragma once

// State shared by the ranks of a process: segments, mailboxes, the barrier, and failures. A failure ends
// every wait for another rank. The launcher reports the first one.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "transport/inproc/inproc_segments.hpp"
#include "transport/job.hpp"

namespace nearfetch {

class InprocWorld {
  public:
    /// \throws Error when memory is exhausted \pre ranks > 0
    InprocWorld(Rank ranks, std::uint64_t segment_bytes);

    Rank ranks() const noexcept { return static_cast<Rank>(mailboxes_.size()); }
    bool has_rank(Rank rank) const noexcept { return rank >= 0 && rank < ranks(); }
    /// Whether there are more ranks than processors.
    bool oversubscribed() const noexcept { return oversubscribed_; }
    InprocSegments& segments() noexcept { return segments_; }

    void post(Rank target, Port port, Message message);
    /// \param wait blocks until there is a message \throws Error when another rank has failed
    bool take(Rank rank, Port port, Message& message, bool wait);
    /// \throws Error if it can never complete, because a rank has failed or ended; CollectiveError as
    /// Job::barrier()
    void barrier(Rank rank, const CollectiveCall& call);

    /// Keeps `failure` if it is the first one, and ends all waits.
    void fail(const std::exception_ptr& failure);
    /// The rank's main has returned: it will not take part any more.
    void end(Rank rank);
    void throw_if_failed() const;
    /// The first failure, when all ranks have ended.
    std::exception_ptr failure() const { return failure_; }
    /// Called by fail(), for other waits.
    void set_on_failure(std::function<void()> on_failure) { on_failure_ = std::move(on_failure); }

  private:
    struct Mailbox {
        std::mutex mutex;
        std::condition_variable arrived;
        std::unordered_map<Port, std::deque<Message>> messages;
    };

    void complete_barrier();
    void tell_difference(std::unique_lock<std::mutex>& lock, std::uint64_t generation, Rank rank,
                         const CollectiveCall& call);
    void throw_if_differed(std::uint64_t generation) const;

    bool oversubscribed_;  ///< more ranks than processors
    InprocSegments segments_;
    std::vector<Mailbox> mailboxes_;

    std::mutex barrier_mutex_;
    std::condition_variable barrier_done_;
    std::atomic<std::uint64_t> barrier_generation_ = 0;
    Rank barrier_arrived_ = 0;
    std::uint64_t barrier_id_ = 0;              ///< id of the first arrival
    std::uint64_t differ_deadline_ns_ = 0;      ///< 0: all calls so far agree
    std::vector<CollectiveArrival> differing_;  ///< calls recorded after a difference
    std::atomic<std::uint64_t> differed_generation_ = ~std::uint64_t{0};  ///< the last that differed
    std::optional<CollectiveError> difference_;                           ///< its error
    bool abandoned_ = false;     ///< a barrier with a difference was left incomplete
    std::optional<Rank> ended_;  ///< a rank whose main has returned

    std::mutex failure_mutex_;
    std::exception_ptr failure_;
    std::atomic<bool> failed_ = false;
    std::function<void()> on_failure_;
};

}  // namespace nearfetch
