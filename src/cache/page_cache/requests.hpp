// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the engine wants done, and how far it has come. A request is the caller's and stays where it is until
// PageCache says that it is done; then it may go.
//
// What may be fetched around a range is said by each request. A line that is cut off by that is cached like
// any other, so two readable ranges of one target must not share a line.

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "cache/page_cache/operation.hpp"

namespace nearfetch {

/// Offsets in parts, which may be addresses, end here: what is worked out around them does not overflow.
constexpr std::uint64_t offsets_end = std::uint64_t{1} << 62;

/// What has to happen next for a request.
struct Step {
    enum class Kind : std::uint8_t {
        done,
        start,  ///< start `operation`, say started() before any other call, and ask again
        wait,   ///< wait until `operation` is complete (PageCache::in_flight says no), and ask again
    };
    Kind kind = Kind::done;
    Operation* operation = nullptr;
    OperationId id = 0;
};

/// What had been begun last when a request first had to wait for somebody else's operation. What is begun
/// later must not hold it up, too.
struct Turn {
    OperationId last = 0;  ///< 0: it has not had to wait yet
    bool is_before(const Operation& op) const noexcept { return last != 0 && op.id > last; }
};

/// A task's own time; several share a thread's cache (000, section III-B). A new one has acquired nothing: it
/// may see what others fetched before, unless it says acquire() first.
struct TaskClock {
    Stamp acquired = 0;
};

struct GetRequest {
    GetRequest(Rank target_rank, std::uint64_t offset_in_segment, std::uint64_t bytes, std::byte* destination,
               ByteRange readable_range, std::uint64_t now_ticks = 0) noexcept
        : target(target_rank),
          offset(offset_in_segment),
          size_bytes(bytes),
          to(destination),
          readable(readable_range),
          ticks(now_ticks),
          next_(offset_in_segment) {}

    Rank target;
    std::uint64_t offset;
    std::uint64_t size_bytes;
    std::byte* to;
    ByteRange readable;   ///< what may be fetched around it: the part
    std::uint64_t ticks;  ///< when the program asked; 0: not known
    bool around = false;  ///< as a large one, whatever its size: straight to where it is wanted
    int status = 0;       ///< of the first GET that failed; the bytes are then not all there

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
    /// Whether operations under way are going to use the request: it has to stay.
    bool outstanding() const noexcept { return outstanding_ != 0; }

  private:
    friend class PageCache;
    std::uint64_t next_;  ///< what lies before is there, or has its operation
    std::uint32_t outstanding_ = 0;
    bool fetched_ = false;
    bool waited_ = false;
    std::uint8_t mark_ = 0;  ///< a stream to be read ahead for
    OperationId late_ = 0;   ///< the prefetch that was waited for last
    Turn turn_;
};

struct PutRequest {
    PutRequest(Rank target_rank, std::uint64_t offset_in_segment, std::uint64_t bytes,
               const std::byte* source) noexcept
        : target(target_rank), offset(offset_in_segment), size_bytes(bytes), from(source), next_(offset) {}

    Rank target;
    std::uint64_t offset;
    std::uint64_t size_bytes;
    const std::byte* from;
    int status = 0;  ///< of a large put that failed; small ones are written back later

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
    /// Whether its operation is under way: the request has to stay.
    bool outstanding() const noexcept { return outstanding_ != 0; }

  private:
    friend class PageCache;
    std::uint64_t next_;
    std::uint32_t outstanding_ = 0;
    Turn turn_;
};

/// Asks for a range ahead of its use. Never waits: what cannot be started now is left out.
struct PrefetchRequest {
    PrefetchRequest(Rank target_rank, ByteRange wanted, ByteRange readable_range) noexcept
        : target(target_rank), range(wanted), readable(readable_range), next_(wanted.begin) {}

    Rank target;
    ByteRange range;
    ByteRange readable;

  private:
    friend class PageCache;
    std::uint64_t next_;
};

/// Written bytes become complete at their targets: everything's, or those of one range.
struct ReleaseRequest {
    ReleaseRequest() noexcept = default;
    ReleaseRequest(Rank target_rank, ByteRange scope) noexcept : target(target_rank), range(scope) {}

    Rank target = every_target;
    ByteRange range;
    static constexpr Rank every_target = -1;

  private:
    friend class PageCache;
    bool begun_ = false;
    bool cleaned_ = false;
    std::uint64_t last_page_ = 0;  ///< pages that became dirty later are not its concern
    OperationId last_put_ = 0;     ///< PUTs up to that one are waited for
    Turn turn_;
};

}  // namespace nearfetch
