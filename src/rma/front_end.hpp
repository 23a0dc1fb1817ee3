// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a front end and a window's engine hand each other.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "rma/target.hpp"

namespace nearfetch {

/// A get as the front end received it.
struct Get {
    Rank target = 0;
    std::span<const ByteRun> runs;  ///< in the order in which the bytes are sent
    std::uint64_t size_bytes = 0;
    RequestId request = 0;
    bool may_lead = true;  ///< with a request: the front end is going to see when that completes
};

/// A get as the hot paths see it.
struct RangeGet {
    Rank target = 0;
    std::uint64_t offset = 0;     ///< of its first byte in the target's window
    std::uint64_t size = 0;       ///< bytes
    std::byte* origin = nullptr;  ///< where it is one run of bytes; null: it is not, or nobody knows
    RequestId request = 0;
};

/// Starts the network's part of one get: all of it, as the program asked, or the missing runs only.
class GetStarter {
  public:
    virtual int start_whole() = 0;
    virtual int start_runs(std::span<const ByteRun> runs) = 0;
    /// Of a get with a request that starts nothing, as all that is missing is on its way: the leader that
    /// was begun at that moment brings it, which set_arrival_reporter()'s reporter says. Whose gets have no
    /// requests is not asked.
    virtual int start_waiting(Moment /*leader*/) { return -1; }

  protected:
    ~GetStarter() = default;
};

/// What has become of a get.
enum class Begun : std::uint8_t {
    served,   ///< it is complete
    started,  ///< its starter was called
    leader,   ///< the same, at now(), and gets with other requests may wait for what this one brings
    waiting,  ///< for what is on its way: with a request, for a leader
};

/// What became of an access without its starter.
enum class Served : std::uint8_t {
    hit,     ///< all of it: the bytes are there, the flush was elided
    bypass,  ///< it has been counted, and goes to the library as it is
    miss,    ///< nothing
};

/// Starts a put as the program asked.
class PutStarter {
  public:
    virtual int start() = 0;

  protected:
    ~PutStarter() = default;
};

/// Whether a flush has to enter the library.
enum class Flush : std::uint8_t {
    needed,
    needed_bypassed,  ///< needed, but nothing cached waits for it: then complete_bypassed_flush()
    elided,           ///< nothing is outstanding
    elided_progress,  ///< nothing is outstanding, but it is time to serve others (WindowTransfers::progress)
};

}  // namespace nearfetch
