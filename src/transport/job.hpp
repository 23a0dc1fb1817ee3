// SPDX-License-Identifier: Apache-2.0
#pragma once

// An SPMD program as one of its ranks sees it: who else there is, the memory that others reach, and what
// threads need beside GETs and PUTs. Whatever starts the ranks makes one of these for each (launch_inproc,
// launch_mpi) and hands it to the program.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "transport/collective.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

/// Where a rank receives: a number from 0 to 32766 that its threads agree on.
using Port = std::uint32_t;
inline constexpr Port port_max = 32766;

/// What a rank was sent. Messages from one rank to a port of another arrive in the order in which they were
/// sent.
struct Message {
    Rank source = 0;
    std::vector<std::byte> bytes;
};

class Job {
  public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;

    virtual Rank rank() const noexcept = 0;
    virtual Rank ranks() const noexcept = 0;
    /// This rank's memory that others reach, at the addresses 0 to its size; the same size everywhere. Zero
    /// at the start, aligned to 4096 bytes.
    virtual std::span<std::byte> segment() noexcept = 0;
    /// Keeps the segment's memory, but nothing else of the job, for those who hold it; nullptr where it ends
    /// with the job.
    virtual std::shared_ptr<void> memory() { return nullptr; }

    /// An endpoint for the calling thread, which gives it back before it ends.
    virtual std::unique_ptr<Transport> endpoint() = 0;
    /// Whether threads beside the one that was started with the rank may have endpoints.
    virtual bool threads() const noexcept = 0;

    // The following are for any thread that has an endpoint. What fails throws Error.

    /// Done when it returns. \param compare for compare_swap, which stores `operand` when it is what is there
    /// \pre address is a multiple of 8 inside the segment \return what was there before
    virtual std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                                 std::uint64_t compare) = 0;
    /// Returns when the bytes may be changed again; does not wait for the receiver. Also to its own rank.
    virtual void send(Rank target, Port port, std::span<const std::byte> bytes) = 0;
    /// The message that came first to that port. \param wait for one; \return false when there is none (never
    /// after wait). One thread per port at a time.
    virtual bool receive(Port port, Message& message, bool wait) = 0;
    /// Process synchronisation only: nobody leaves before all have come. One thread per rank at a time.
    /// \throws CollectiveError in all ranks that have come, when they come with calls of different ids. It is
    /// over in all ranks then, as if it had been complete; unless a rank does not come within a second: then
    /// it, and all that follow, can never be complete.
    virtual void barrier(const CollectiveCall& call) = 0;
    void barrier() { barrier(CollectiveCall()); }
    /// The program computes for so long: virtual time passes; on the wall's clock the processor is busy.
    virtual void compute(std::uint64_t ns) = 0;
    /// Whether time is virtual: nothing takes any that is not said (compute) or the network's.
    virtual bool virtual_time() const noexcept = 0;

    /// Starts a thread of this rank. What `body` throws is thrown by join(), or, when nobody joins, is
    /// as if the rank's program had thrown it.
    class Thread {
      public:
        virtual ~Thread() = default;
        /// Waits for its end. To be called once, by the thread that started it or one that it synchronised
        /// with.
        virtual void join() = 0;
    };
    /// \pre threads()
    virtual std::unique_ptr<Thread> start_thread(std::function<void()> body) = 0;
};

}  // namespace nearfetch
