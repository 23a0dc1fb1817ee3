// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the ranks of one process share: their segments, their mailboxes, the barrier, and the news that one of
// them has failed. That news ends every wait for another rank, because what is waited for may never come; the
// first failure is the one that whoever started the ranks is told of.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/reserved_memory.hpp"
#include "base/types.hpp"
#include "transport/job.hpp"

namespace nearfetch {

class InprocWorld {
  public:
    /// \throws Error when there is not memory enough. \pre ranks > 0
    InprocWorld(Rank ranks, std::uint64_t segment_bytes);

    Rank ranks() const noexcept { return static_cast<Rank>(mailboxes_.size()); }
    bool has_rank(Rank rank) const noexcept { return rank >= 0 && rank < ranks(); }
    /// Whether it has more ranks than the machine has processors.
    bool crowded() const noexcept { return crowded_; }
    std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }
    ByteRange addresses() const noexcept { return {0, segment_bytes_}; }
    std::span<std::byte> segment(Rank rank) noexcept;
    /// Who holds it keeps that.
    std::shared_ptr<void> memory(Rank rank) const;

    void post(Rank target, Port port, Message message);
    /// \param wait for a message \throws Error when another rank has failed
    bool take(Rank rank, Port port, Message& message, bool wait);
    /// \throws Error when it can never be complete: a rank has failed, or ended; CollectiveError as Job says
    void barrier(Rank rank, const CollectiveCall& call);

    /// Remembers `failure` if it is the first one, and ends all waiting.
    void fail(const std::exception_ptr& failure);
    /// The rank's main has returned: it takes part in nothing any more.
    void end(Rank rank);
    void throw_if_failed() const;
    /// What failed first, once all ranks have ended.
    std::exception_ptr failure() const { return failure_; }
    /// Called by fail(), for whoever else makes ranks wait.
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

    std::uint64_t segment_bytes_;
    bool crowded_;  ///< there are more ranks than processors
    std::vector<std::shared_ptr<ReservedMemory>> segments_;
    std::vector<Mailbox> mailboxes_;

    std::mutex barrier_mutex_;
    std::condition_variable barrier_done_;
    std::atomic<std::uint64_t> barrier_generation_ = 0;
    Rank barrier_arrived_ = 0;
    std::uint64_t barrier_id_ = 0;              ///< that of the first to come
    std::uint64_t differ_deadline_ns_ = 0;      ///< 0: all that have come do the same
    std::vector<CollectiveArrival> differing_;  ///< those that have told what they are in
    std::atomic<std::uint64_t> differed_generation_ = ~std::uint64_t{0};  ///< the last one that did
    std::optional<CollectiveError> difference_;                           ///< its error
    bool abandoned_ = false;     ///< not all have come to one in which ranks differed
    std::optional<Rank> ended_;  ///< a rank that has ended

    std::mutex failure_mutex_;
    std::exception_ptr failure_;
    std::atomic<bool> failed_ = false;
    std::function<void()> on_failure_;
};

}  // namespace nearfetch
