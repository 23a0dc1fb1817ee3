// SPDX-License-Identifier: Apache-2.0
#pragma once

// Requests to the page cache, and their progress. A request belongs to the caller and may not move until
// PageCache says that it is done.
//
// Each get has its readable range: what may be fetched along with it. It clips the rounding to lines and the
// read-ahead, and covers the get itself. Of a line that it cuts only the fetched bytes are valid (CutLines).

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "cache/page_cache/operation.hpp"

namespace nearfetch {

/// Limit of offsets, which may be addresses; arithmetic around them does not overflow.
constexpr std::uint64_t offsets_end = std::uint64_t{1} << 62;

/// Tells a cache what it may add to an access, where that is not known beforehand. It is asked for what is
/// not resident, and each time anew, because other tasks may unregister memory.
class ReadableMemory {
  public:
    /// The bytes that may be fetched along with the range; perhaps less than the range, if no more is known.
    virtual ByteRange around(Rank target, ByteRange range) const noexcept = 0;

  protected:
    ~ReadableMemory() = default;
};

/// The next step of a request.
struct Step {
    enum class Kind : std::uint8_t {
        done,
        start,  ///< start `operation`, call started(), and ask again; others may use the cache meanwhile
        wait,   ///< wait until `operation` is complete (is_outstanding()), and ask again
    };
    Kind kind = Kind::done;
    Operation* operation = nullptr;
    OperationId id = 0;

    /// Whether the operation is still outstanding.
    bool is_outstanding() const noexcept { return operation->is_outstanding(id); }
};

/// The last operation begun when a request first had to wait. Later ones must not delay it.
struct WaitTicket {
    OperationId last = 0;  ///< 0: it has not waited yet
    bool is_before(const Operation& op) const noexcept { return last != 0 && op.id > last; }
};

/// A task's clock; several tasks share a thread's cache (000, section III-B). A new clock has acquired
/// nothing, so the task may see older fetches unless it acquires first.
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
    ByteRange readable;         ///< what may be fetched; asked for if the cache has a ReadableMemory
    std::uint64_t ticks;        ///< start of the request; 0: unknown
    bool bypass_pages = false;  ///< treated as bulk, whatever its size
    bool reads_ahead = true;    ///< false: its caller knows what it will read
    int status = 0;             ///< of the first failed GET; the bytes are then incomplete

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
    /// Whether outstanding operations use the request: it may not move.
    bool outstanding() const noexcept { return outstanding_ != 0; }

  private:
    friend class PageCache;
    std::uint64_t next_;  ///< all before it is delivered, or has its operation
    std::uint32_t outstanding_ = 0;
    bool fetched_ = false;
    bool waited_ = false;
    std::uint8_t mark_ = 0;  ///< a stream to read ahead for
    OperationId late_ = 0;   ///< the prefetch it waited for last
    WaitTicket ticket_;
};

struct PutRequest {
    PutRequest(Rank target_rank, std::uint64_t offset_in_segment, std::uint64_t bytes,
               const std::byte* source) noexcept
        : target(target_rank), offset(offset_in_segment), size_bytes(bytes), from(source), next_(offset) {}

    Rank target;
    std::uint64_t offset;
    std::uint64_t size_bytes;
    const std::byte* from;
    int status = 0;  ///< of a failed bulk put; small puts are written back later

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
    /// Whether its operation is outstanding: the request may not move.
    bool outstanding() const noexcept { return outstanding_ != 0; }

  private:
    friend class PageCache;
    std::uint64_t next_;
    std::uint32_t outstanding_ = 0;
    WaitTicket ticket_;
};

/// Prefetches a range. Never waits: what cannot start now is dropped.
struct PrefetchRequest {
    PrefetchRequest(Rank target_rank, ByteRange wanted, ByteRange readable_range) noexcept
        : target(target_rank), range(wanted), readable(readable_range), next_(wanted.begin) {}

    Rank target;
    ByteRange range;
    ByteRange readable;
    bool is_hint = true;  ///< of the program; counted

  private:
    friend class PageCache;
    std::uint64_t next_;
};

/// Waits for what is outstanding in a range, and forgets what is cached of it.
struct DrainRequest {
    DrainRequest(Rank target_rank, ByteRange scope, bool discards_writes) noexcept
        : target(target_rank), range(scope), discards(discards_writes) {}

    Rank target;
    ByteRange range;
    bool discards;      ///< dirty bytes, too, and what PUTs failed to write; else they stay
    bool done = false;  ///< false at the end: a failed PUT could not be cut, for want of an operation

  private:
    friend class PageCache;
    OperationId last_ = 0;  ///< waits for operations up to this one
};

/// Completes dirty bytes at their targets: all, or those of a range.
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
    std::uint64_t last_page_ = 0;  ///< pages that became dirty later are not included
    OperationId last_put_ = 0;     ///< waits for PUTs up to this one
    WaitTicket ticket_;
};

}  // namespace nearfetch
