// SPDX-License-Identifier: Apache-2.0
#pragma once

// A trace through a whole window, without MPI: what a program under the interposer gets, with read-ahead,
// pending entries and flushes. Replay drives the cache alone.
//
// The program blocks: it flushes each get before the next one. All targets are on other nodes and serve at
// once. The network is the model's, and the runs of one operation are fetched side by side. It moves no
// bytes, so what the program receives means nothing. Where processes share they see that all memory is 0.
//
// What the network takes is exact, and counted for what is really started, read-ahead included. The window's
// clock stands still but while it waits for the network. So its decisions are the same in each run and on
// every machine. To its cost model its own work is free: with bypass=on no target would ever be bypassed.
//
// The software's own time is the processor's, so that other processes do not count. It lacks what readings of
// its tick counter take: a few for each miss, none for a hit.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/settings.hpp"
#include "base/ticks.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "replay/replayed_window.hpp"
#include "replay/trace.hpp"
#include "transport/model/network_model.hpp"

namespace nearfetch {

class WindowReplay {
  public:
    /// \param settings of the window; the mode, too
    /// \param trace outlives this; a target exposes the memory up to the last byte that it reads
    /// \throws Error as RangeCache does
    WindowReplay(const Settings& settings, const NetworkModel& network, const Trace& trace);

    /// All of the trace, once.
    /// \throws Error if there is no memory for the cache
    void run();
    /// Its next get and the flush. \return false: there was none left
    bool step();
    /// Before the first get: other processes of the node share what they fetch. All targets are of other
    /// nodes.
    void share(const NodeBuffer& buffer) {
        is_shared_ = true;
        window_.cache().open_node_level(buffer);
    }

    RangeCacheCounters counters() { return window_.cache().counters(); }
    /// What the program waits for the network, in all.
    std::uint64_t network_ns() const noexcept { return network_ns_; }
    /// Processor time of run().
    std::uint64_t software_ns() const noexcept { return software_ns_; }
    /// The most that the cache took, bytes.
    std::uint64_t memory_bytes() const noexcept { return process_.memory.most_taken(); }

  private:
    const Trace& trace_;
    std::size_t next_ = 0;
    NetworkModel network_;
    bool is_shared_ = false;
    std::uint64_t slowest_ns_ = 0;  ///< of what was started
    ProcessState process_;
    CountedTransfers transfers_;
    ReplayedWindow window_;
    SimulatedTicks clock_{0, 0};
    std::uint64_t network_ns_ = 0;
    std::uint64_t software_ns_ = 0;
    std::vector<std::byte> origin_;  ///< where the program gets to
};

}  // namespace nearfetch
