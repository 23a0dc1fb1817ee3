// SPDX-License-Identifier: Apache-2.0
#pragma once

// What ranks of a node have fetched of distributed arrays, in a node buffer
// (cache/node_buffer/node_buffer.hpp).
//
// Consistency, as for windows (docs/node-level.md): what another rank has fetched serves this one if the
// fetch was issued after this rank's last acquire, and after its own last update was complete. A barrier is
// an acquire of all ranks, and each fetch after it has what all of them wrote before. So it counts from the
// moment at which the first rank of the node has left it: ranks that leave it later use what the first one
// fetches.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "cache/node_buffer/node_buffer.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

/// Thread-safe.
class NodeSharing {
  public:
    static std::uint64_t memory_bytes(std::uint64_t record_bytes) noexcept;
    /// \pre as of NodeBuffer::create()
    static bool create(std::span<std::byte> memory, std::uint64_t record_bytes) noexcept;

    /// \pre create() has made the memory, in this process or another one
    explicit NodeSharing(const NodeMemory& memory) noexcept;

    /// An acquire, or the completion of updates: what was issued until now serves no more.
    void acquired() noexcept { raise(steady_ns()); }
    /// This rank is going to wait at a barrier. \param number of barriers before it in this program
    void reaches_barrier(std::uint64_t number) noexcept;
    /// It has left it: an acquire, at the moment at which the first rank of the node has left it.
    void left_barrier(std::uint64_t number) noexcept;

    /// Names bytes of a rank. They are the same for the same slice, and for no other one but by chance
    /// (2^-100).
    struct Name {
        Rank rank;
        NodeBuffer::Key key;
        std::uint64_t begin;
        std::uint64_t bytes;
    };

    /// Whether fetches from a rank are looked up: it is on another node, and sharing has not been useless.
    bool serves(Rank rank) noexcept;
    /// Copies what another rank has fetched. \return whether it is there, and recent enough
    bool find(const Name& name, std::byte* to) noexcept;
    /// A fetch of this is started now.
    void announce(const Name& name, NodeTime issued) noexcept {
        buffer_.note_flight(name.rank, name.key, issued);
    }
    /// What it has brought.
    void offer(const Name& name, NodeTime issued, const std::byte* from) noexcept;
    /// Until when it pays to wait for what another rank is fetching: as long as two fetches take; 0: it does
    /// not.
    NodeTime may_wait_until(const Name& name) const noexcept;
    /// A fetch by this rank took so long.
    void took(std::uint64_t ns) noexcept;
    /// The largest piece that is kept, bytes.
    std::uint64_t largest_bytes() const noexcept { return buffer_.largest_bytes(); }

  private:
    struct Shared;
    void raise(NodeTime when) noexcept;

    const NodeMemory& memory_;
    Shared& shared_;
    NodeBuffer buffer_;
    std::atomic<NodeTime> since_;
    std::atomic<std::uint64_t> fetch_ns_;
    // Whether sharing pays is looked at after each interval of offers.
    std::atomic<std::uint64_t> offers_{0};
    std::atomic<std::uint64_t> found_before_{0};
    std::atomic<std::uint64_t> paused_{0};  ///< fetches that are still not looked up
    std::atomic<std::uint64_t> pause_;
};

}  // namespace nearfetch::pgas
