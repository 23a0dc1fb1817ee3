// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages between ranks, and the waiting for others.
//
// Whoever waits for anything takes what messages there are, whatever their port: libraries keep a bounded
// number of messages that nobody has asked for (MPICH over TCP 64 per connection), and behind these stands
// all else that comes the same way, GETs of the segment and the barrier's own messages among it.
//
// Nobody waits for a message's bytes: those of large ones may come no sooner than the sender enters MPI again
// (Open MPI over TCP), and it may compute for long.

#include <mpi.h>
#include <sched.h>

#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "transport/job.hpp"

namespace nearfetch {

/// Beside those of the program: of what ranks wait in.
inline constexpr Port notice_port = port_max + 1;

class MpiJobMessages {
  public:
    explicit MpiJobMessages(MPI_Comm comm) noexcept : comm_(comm) {}

    /// Does not wait for the receiver. \throws Error when MPI fails. \pre at most INT_MAX bytes
    void send(Rank target, Port port, std::span<const std::byte> bytes);
    /// Does not wait. \return whether there was one
    bool receive(Port port, Message& message);
    /// Takes what has arrived; lets MPI serve the other ranks.
    void serve();
    /// Collective, at the end of the program: takes what nobody has received, until no message is under way,
    /// which MPI would wait for.
    void finish();

  private:
    struct Sent {
        MPI_Request request;
        std::vector<std::byte> bytes;
    };
    struct Arriving {
        MPI_Request request = MPI_REQUEST_NULL;
        Port port = 0;
        Message message = {};
    };
    bool forget_sent();
    bool accept_one();
    void put_in_inbox();

    MPI_Comm comm_;
    std::mutex inbox_mutex_;        ///< also held from a probe to its receive, so that messages stay in order
    std::list<Arriving> arriving_;  ///< as they were found; MPI writes the bytes, so they stay where they are
    std::map<Port, std::deque<Message>> inbox_;
    std::mutex sent_mutex_;
    std::list<Sent> sent_;  ///< not complete; MPI uses the bytes, so they stay where they are
};

/// Ranks may outnumber the cores: who waits for long lets others run between its looks.
class Patience {
  public:
    void wait(MpiJobMessages& messages) {
        ++looks_;
        if (looks_ % 16 == 0) messages.serve();
        if (looks_ > 200) sched_yield();
    }

  private:
    unsigned looks_ = 0;
};

}  // namespace nearfetch
