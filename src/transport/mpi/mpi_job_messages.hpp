// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages between ranks, and waiting for other ranks.
//
// Every waiting function also receives messages, for any port. MPI libraries keep a bounded number of
// unexpected messages (MPICH over TCP: 64 per connection), and behind these everything else on the connection
// is blocked: GETs of the segment, and the barrier's messages.
//
// Nobody waits for the bytes of a message: large ones may arrive only when the sender enters MPI again (Open
// MPI over TCP), and it may compute for long.

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

/// Besides the program's ports: for the barrier's notices.
inline constexpr Port notice_port = port_max + 1;

class MpiJobMessages {
  public:
    explicit MpiJobMessages(MPI_Comm comm) noexcept : comm_(comm) {}

    /// Does not wait for the receiver. \throws Error when MPI fails. \pre at most INT_MAX bytes
    void send(Rank target, Port port, std::span<const std::byte> bytes);
    /// Does not wait. \return whether there was a message
    bool receive(Port port, Message& message);
    /// Receives what has arrived, and lets MPI serve other ranks.
    void serve();
    /// Collective, at the end of the program: receives remaining messages until none is in flight, because
    /// MPI_Finalize would wait for them.
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
    std::mutex inbox_mutex_;        ///< also held from a probe to its receive, to keep the order
    std::list<Arriving> arriving_;  ///< in the order of probes; MPI writes the bytes, so they do not move
    std::map<Port, std::deque<Message>> inbox_;
    std::mutex sent_mutex_;
    std::list<Sent> sent_;  ///< incomplete; MPI reads the bytes, so they do not move
};

/// Waits by polling, and yields after a while: ranks may outnumber the cores.
class SpinWait {
  public:
    void wait(MpiJobMessages& messages) {
        ++polls_;
        if (polls_ % 16 == 0) messages.serve();
        if (polls_ > 200) sched_yield();
    }

  private:
    unsigned polls_ = 0;
};

}  // namespace nearfetch
