// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the processes of a node have fetched, in memory that all of them have mapped: the second level under
// each process's range cache.
//
//   header | gets in flight | shards: lock, head | index: buckets of 8 slots | per shard a log of records
//
// A record is a fetched range with its bytes, and says when its get was issued. Records are only appended. A
// slot is one word: the place of a record in its shard's log, counted without end, and a few bits of the
// range's hash. So a reader takes no lock: it reads the slot, copies the bytes, and asks the log's head
// whether they have been overwritten meanwhile. Then they are not there.
//
// Writers of a shard take turns by a lock that is only tried: who does not get it gives up. The lock is a
// robust one: if its owner dies, the next one gets it. The dead process has left nothing that has to be
// repaired, because a slot is written last, in one piece.
//
// What is being fetched is noted in a table of words, one for many keys: the last one has it. It is a hint,
// by which another process may wait for an offer. That may never come.
//
// The log is a ring: who is overwritten is the oldest. A record that is found shortly before that is to be
// offered again (Found::soon_lost). Memory belongs to the processor whose process writes a page of it first.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace nearfetch {

/// When a get was issued: nanoseconds of a clock that the processes of a node share.
using NodeTime = std::uint64_t;

class NodeBuffer {
  public:
    enum class Found : std::uint8_t {
        nothing,
        bytes,
        soon_lost,  ///< the bytes, and they are about to be overwritten
    };

    /// Memory for so many bytes of records, which the index adds an eighth to.
    static std::uint64_t memory_bytes(std::uint64_t record_bytes) noexcept;
    /// Makes an empty one. \pre the memory is zero, at a multiple of 64, as large as memory_bytes() says
    /// \return false: the system has no locks that are shared and robust
    static bool create(std::span<std::byte> memory, std::uint64_t record_bytes) noexcept;
    /// Uses what create() has made, in this process or another one. \pre the memory is mapped as long as this
    /// lives
    explicit NodeBuffer(std::byte* memory) noexcept;

    /// What a range is looked up by, together with its target: where it begins, as a rule.
    using Key = std::uint64_t;

    /// Copies the range's bytes out of the record of that key, if it has them all, and was issued no earlier
    /// than `since`. Where nothing is found, `to` may have been written to.
    /// \param issued is set when bytes are found
    Found find(Rank target, Key key, ByteRange range, NodeTime since, std::byte* to,
               NodeTime& issued) const noexcept;
    /// Keeps a range that was fetched by a get issued at that time, in place of another one of its key.
    /// \return false: it is too large, or another process is writing to the shard
    bool offer(Rank target, Key key, ByteRange range, NodeTime issued, const std::byte* from) noexcept;

    /// A get of that key was issued at that time, and its bytes are going to be offered.
    void note_flight(Rank target, Key key, NodeTime issued) const noexcept;
    /// When the last one was issued that is known of, to a quarter of a microsecond; 0: none is known.
    NodeTime last_flight(Rank target, Key key) const noexcept;

    /// The largest range that is kept.
    std::uint64_t largest_bytes() const noexcept;

  private:
    struct Header;
    struct Shard;
    struct Bucket;
    struct Record;
    class Lookup;
    using Word = std::atomic<std::uint64_t>;

    static std::uint64_t hash_of(Rank target, Key key) noexcept;
    Lookup locate(Rank target, Key key) const noexcept;
    Word& flight_of(std::uint64_t hash) const noexcept;
    static Word* slot_for(const Lookup& lookup, const Record& record) noexcept;
    static void append(const Lookup& lookup, const Record& record, const std::byte* from,
                       Word& slot) noexcept;

    Header* header_;
    Word* flights_;
    Shard* shards_;
    Bucket* buckets_;
    std::byte* logs_;
};

}  // namespace nearfetch
