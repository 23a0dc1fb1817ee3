// SPDX-License-Identifier: Apache-2.0
#pragma once

// An SPMD program as one rank sees it: the other ranks, the shared segments, and what threads need besides
// GETs and PUTs. The launcher (launch_inproc, launch_mpi) makes one for each rank.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transport/collective.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

/// A receive port: a number from 0 to 32766.
using Port = std::uint32_t;
inline constexpr Port port_max = 32766;

/// What became of adding a segment.
struct AddedSegment {
    std::uint64_t address = 0;  ///< its first
    std::string refused;        ///< why there is none; empty if there is
};

/// A received message. Messages from one rank to one port arrive in the order of sending.
struct Message {
    Rank source = 0;
    std::vector<std::byte> bytes;
};

/// Memory that the ranks of this node share.
struct NodeMemory {
    std::byte* data = nullptr;
    int descriptor = -1;        ///< of the file that it is from its beginning
    std::vector<bool> is_here;  ///< of each rank: whether it is on this node
};

/// The memory of a job as one rank sees it.
class JobMemory {
  public:
    JobMemory() = default;
    JobMemory(const JobMemory&) = delete;
    JobMemory& operator=(const JobMemory&) = delete;
    virtual ~JobMemory() = default;

    /// This rank's memory from that address to the end of its segment; empty if no segment has the address.
    /// Segments have the same addresses in all ranks. They begin zeroed, at a place aligned to 4096 bytes.
    virtual std::span<std::byte> segment(std::uint64_t address) noexcept = 0;
    /// The first one, which the job begins with.
    std::span<std::byte> segment() noexcept { return segment(0); }
    /// Adds a segment of so many bytes in each rank. Collective, with the same number.
    /// \return the same in all ranks
    virtual AddedSegment add_segment(std::uint64_t bytes) = 0;
    /// Gives the memory of an added segment back. Collective. \pre it is idle in all ranks, and nobody starts
    /// anything there
    virtual void remove_segment(std::uint64_t address) = 0;
    /// Whether no transfer of this rank is outstanding in that segment.
    virtual bool is_idle(std::uint64_t /*address*/) const noexcept { return true; }
    /// Keeps this rank's memory at that place beyond its segment; nullptr if that is impossible.
    virtual std::shared_ptr<void> keep(const std::byte* /*place*/) { return nullptr; }
    /// nullptr: this node's ranks share none.
    virtual const NodeMemory* node_memory() const noexcept { return nullptr; }
};

class Job : public JobMemory {
  public:
    virtual Rank rank() const noexcept = 0;
    virtual Rank ranks() const noexcept = 0;
    /// An endpoint for the calling thread. It may be handed on to another one of the rank.
    virtual std::unique_ptr<Transport> endpoint() = 0;
    /// Whether threads other than the rank's first may have endpoints.
    virtual bool threads() const noexcept = 0;

    // The following are for any thread with an endpoint. Failures throw Error.

    /// Complete when it returns. \param compare for compare_swap: stores `operand` if this is the value
    /// \pre address is a multiple of 8 inside the segment \return the value before
    virtual std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                                 std::uint64_t compare) = 0;
    /// Adds without waiting; in effect at the latest when finish_additions() returns. Additions are atomic
    /// with each other and with atomic() of the same operation. \pre as for atomic()
    /// \param op add or add_double
    virtual void start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) = 0;
    /// Waits for all additions of this rank.
    virtual void finish_additions() = 0;
    /// Returns when the bytes may be changed; does not wait for the receiver. A rank may send to itself.
    virtual void send(Rank target, Port port, std::span<const std::byte> bytes) = 0;
    /// The oldest message to that port. \param wait blocks until there is one \return false if there is none
    /// (never with wait). One thread per port at a time.
    virtual bool receive(Port port, Message& message, bool wait) = 0;
    /// Process synchronisation only: waits for all ranks. One thread per rank at a time.
    /// \throws CollectiveError in all ranks that have arrived, if their calls have different ids. The barrier
    /// is then over, as if complete. If a rank does not arrive within a second, this and later barriers can
    /// never complete.
    virtual void barrier(const CollectiveCall& call) = 0;
    void barrier() { barrier(CollectiveCall()); }
    /// Simulates computation: virtual time passes; in wall-clock time the processor is busy.
    virtual void compute(std::uint64_t ns) = 0;
    /// Whether time is virtual: only compute() and the network take time.
    virtual bool virtual_time() const noexcept = 0;

    /// Starts a thread of this rank. An exception of `body` is thrown by join(); without a join it counts as
    /// the rank's.
    class Thread {
      public:
        virtual ~Thread() = default;
        /// Waits for the end. Once, by the thread that started it or one synchronised with that.
        virtual void join() = 0;
    };
    /// Threads whose body has ended are used again. \pre threads()
    virtual std::unique_ptr<Thread> start_thread(std::function<void()> body) = 0;
    /// Threads of the operating system that start_thread() has made.
    virtual std::uint64_t threads_made() const { return 0; }
};

}  // namespace nearfetch
