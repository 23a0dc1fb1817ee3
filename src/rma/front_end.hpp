// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a front end and a window's cache hand each other.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

struct StaleHit;

/// Names a request-based get until it completes; 0 is "no request".
using RequestId = std::uint64_t;

/// The moment before a completing call enters the library: it completes what was started until then.
using Moment = std::uint64_t;

/// Instead of a target: all of the window's group.
inline constexpr Rank all_targets = -1;

/// What a call completes.
enum class FlushKind : std::uint8_t {
    local,  ///< flush_local: gets, and the origin buffers of updates
    full,   ///< flush, unlock, fence, ...: everything
};

/// Of memory's pages: the smallest that any machine has.
inline constexpr std::uint64_t memory_page_bytes = 4096;

/// What is known of a target's memory.
struct TargetMemory {
    std::uint64_t extent_bytes = 0;  ///< that it exposes; 0: not known
    /// How far into a page of memory it begins, bytes.
    std::uint64_t page_phase = 0;
    /// Only the program says that it is there: nothing may be fetched of pages that nobody has asked for.
    bool is_declared = false;
    /// The library may deliver at once.
    bool is_on_this_node = false;

    friend bool operator==(const TargetMemory&, const TargetMemory&) noexcept = default;
};

/// A get as the front end received it.
struct Get {
    Rank target = 0;
    std::span<const ByteRun> runs;  ///< in the order in which the bytes are sent
    std::uint64_t size_bytes = 0;
    RequestId request = 0;
    bool may_lead = true;  ///< with a request: the front end is going to see when that completes
};

/// A get as the fast paths see it.
struct RangeGet {
    Rank target = 0;
    std::uint64_t offset = 0;     ///< of its first byte in the target's window
    std::uint64_t size = 0;       ///< bytes
    std::byte* origin = nullptr;  ///< where it is one run of bytes; null: it is not, or nobody knows
    RequestId request = 0;

    ByteRange range() const noexcept { return {offset, offset + size}; }
};

/// Starts the network's part of one get: all of it, as the program asked, or the missing runs only.
class GetStarter {
  public:
    virtual int start_whole() = 0;
    virtual int start_runs(std::span<const ByteRun> runs) = 0;
    /// Of a get with a request that starts nothing, as all that is missing is on its way: the leader that
    /// was begun at that moment brings it, which WindowListener::arrived() says. Whose gets have no requests
    /// is not asked.
    virtual int start_waiting(Moment /*leader*/) { return -1; }

  protected:
    ~GetStarter() = default;
};

/// Starts a put as the program asked.
class PutStarter {
  public:
    virtual int start() = 0;

  protected:
    ~PutStarter() = default;
};

/// Who is told what a window finds out by itself.
class WindowListener {
  public:
    /// A checked hit was stale.
    virtual void stale_hit(const StaleHit&) noexcept {}
    /// There is no memory for a cache: the window goes on without one. \param why ends in an advice
    virtual void no_cache(const char* /*why*/) noexcept {}
    /// A request that was Begun::waiting is complete.
    virtual void arrived(RequestId) noexcept {}

  protected:
    ~WindowListener() = default;
};

/// What has become of a get.
enum class Begun : std::uint8_t {
    served,     ///< it is complete
    from_node,  ///< the same, and some of it has been fetched by another process of this node
    started,    ///< its starter was called
    leader,     ///< the same, at now(), and gets with other requests may wait for what this one brings
    waiting,    ///< for what is on its way: with a request, for a leader
};
constexpr bool is_complete(Begun begun) noexcept { return begun <= Begun::from_node; }

/// What became of an access without its starter.
enum class Served : std::uint8_t {
    hit,     ///< all of it: the bytes are there, the flush was elided
    bypass,  ///< it has been counted, and goes to the library as it is
    miss,    ///< nothing
};

/// Whether a flush has to enter the library.
enum class Flush : std::uint8_t {
    needed,
    needed_bypassed,  ///< needed, but nothing cached waits for it: then complete_bypassed_flush()
    elided,           ///< nothing is outstanding
    elided_progress,  ///< nothing is outstanding, but it is time to serve others (WindowTransfers::progress)
};

}  // namespace nearfetch
