// SPDX-License-Identifier: Apache-2.0
#pragma once

// What ranks of a node have fetched of distributed arrays: small slices in a node buffer
// (cache/node_buffer/node_buffer.hpp), which are copied, and large ones as versions, which are shared in
// place (cache/node_buffer/version_store.hpp).
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
#include "base/private_pages.hpp"
#include "cache/node_buffer/node_buffer.hpp"
#include "cache/node_buffer/version_store.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

/// Thread-safe.
class NodeSharing {
  public:
    struct Sizes {
        std::uint64_t record_bytes;   ///< of small slices
        std::uint64_t version_bytes;  ///< of large ones
    };
    static std::uint64_t memory_bytes(const Sizes& sizes) noexcept;
    /// \pre as of NodeBuffer::create() and VersionStore::create()
    static bool create(std::span<std::byte> memory, const Sizes& sizes) noexcept;

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
    using Name = VersionStore::Name;

    /// Whether fetches from a rank are looked up: it is on another node, and sharing has not been useless.
    bool serves(Rank rank) noexcept;
    /// A fetch by this rank took so long.
    void took(std::uint64_t ns) noexcept;

    // Small slices:

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

    // Slices of at least VersionStore::least_bytes:

    enum class Wait : bool { no, yes };
    /// A version that another rank has fetched, or is fetching, recently enough; else a new one.
    /// \param wait whether one that is being fetched will do
    VersionStore::Answer take(const Name& name, Wait wait) noexcept;
    /// Whether it pays to go on waiting.
    bool is_awaited(const VersionStore::Arrival& arrival) const noexcept;
    /// The caller has fetched a version that take() has begun.
    void complete(const VersionStore::Version& version) noexcept;
    /// Of the versions of all ranks of the node, in whole units.
    std::uint64_t version_bytes() const noexcept { return store_.used_bytes(); }
    /// Where it is to be mapped from.
    FilePlace file_place(const VersionStore::Version& version) const noexcept;

  private:
    struct Shared;
    void raise(NodeTime when) noexcept;
    void count_offer() noexcept;
    NodeTime wait_limit_ns() const noexcept { return 2 * fetch_ns_.load(std::memory_order_relaxed); }
    // Of fetches that are issued within the nanosecond of an acquire nobody knows the order: they are too
    // early.
    NodeTime earliest() const noexcept { return since_.load(std::memory_order_acquire) + 1; }

    const NodeMemory& memory_;
    Shared& shared_;
    NodeBuffer buffer_;
    VersionStore store_;
    std::atomic<NodeTime> since_;
    std::atomic<std::uint64_t> fetch_ns_;
    // Whether sharing pays is looked at after each interval of offers.
    std::atomic<std::uint64_t> offers_{0};
    std::atomic<std::uint64_t> found_before_{0};
    std::atomic<std::uint64_t> paused_{0};  ///< fetches that are still not looked up
    std::atomic<std::uint64_t> pause_;
};

}  // namespace nearfetch::pgas
