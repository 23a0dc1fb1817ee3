// SPDX-License-Identifier: Apache-2.0
#pragma once

// Storage without fragmentation: a log in a ring, as in log-structured file systems (M. Rosenblum and
// J. Ousterhout, *The design and implementation of a log-structured file system*, 1992).
//
// Payloads lie side by side in the order in which they were appended. Between the newest and the oldest one
// is the gap; an append takes memory from its beginning. To widen it, the caller asks for the oldest payload,
// and either releases it or keeps it: then it moves to the beginning of the gap and is the newest. So all
// space is usable, and whatever the sizes, the work for a byte of room is bounded by how much the caller
// keeps.
//
// What is released elsewhere is free, but usable only when it is the oldest. A payload that may not move is
// passed: it stays, and the gap goes on behind it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "base/reserved_memory.hpp"
#include "base/xorshift.hpp"

namespace nearfetch {

class LogStorage {
  public:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::uint64_t unit_bytes = 8;  ///< payloads begin at multiples

    /// Where a payload lies.
    struct Place {
        std::byte* data = nullptr;  ///< nullptr: nowhere
        std::uint32_t number = 0;   ///< of its record in the log
    };
    /// What its owner knows of a payload.
    struct Payload {
        std::uint64_t bytes = 0;
        /// Wanted offset in a CPU cache line. Short payloads have only its remainder by the unit.
        std::uint8_t skew = 0;
    };
    /// Those who have payloads here, by number.
    class Owners {
      public:
        virtual Payload payload_of(std::uint32_t owner) const noexcept = 0;
        virtual bool is_pinned(std::uint32_t owner) const noexcept = 0;
        virtual void moved(std::uint32_t owner, Place place) noexcept = 0;

      protected:
        ~Owners() = default;
    };

    /// \throws Error when address space or memory is exhausted
    LogStorage(std::uint64_t bytes, std::uint64_t bytes_max, Owners& owners);

    /// Whether append() finds room.
    bool fits(Payload payload) const noexcept { return record_bytes(head_, payload) <= gap_; }
    /// \return nowhere if there is no room, or no memory for the record
    Place append(std::uint32_t owner, Payload payload) noexcept;
    void release(std::uint32_t number) noexcept;

    /// The owner of the oldest payload; none if there is none. Adds what is free before it to the gap, but
    /// `ring_end` if the gap now goes up to the ring's end: what does not fit there, will after the next
    /// call.
    std::uint32_t oldest() noexcept;
    static constexpr std::uint32_t ring_end = none - 1;
    /// Makes the oldest payload the newest: moves it, or passes it if it is pinned. \pre oldest() was one
    /// \return false, with nothing changed, when memory for the record is exhausted
    bool keep_oldest() noexcept;
    /// The owner of a random payload; perhaps none.
    std::uint32_t at_random(Xorshift& random) const noexcept;
    /// Calls visit(owner) for the oldest few.
    template <class Visitor>
    void for_oldest(std::size_t count, Visitor&& visit) const {
        for (std::size_t n = 0; n < count && n < records_.size(); ++n)
            if (records_[n].owner != none) visit(records_[n].owner);
    }

    /// Changes the size to whole units. Grown memory is usable when the log has gone round. To shrink, calls
    /// evict(owner), which has to release(), for the oldest ones for which there is no room, and moves the
    /// others.
    /// \return false, with nothing changed, if it shrinks and anything is pinned, or memory is exhausted
    bool resize(std::uint64_t bytes, const std::function<void(std::uint32_t owner)>& evict);

    /// Number of payloads.
    std::uint64_t payloads() const noexcept { return live_; }
    std::uint64_t size_bytes() const noexcept { return wanted_; }
    /// Bytes without a payload.
    std::uint64_t free_bytes() const noexcept { return wanted_ - live_bytes_; }
    /// Whether all of the size is usable.
    bool has_grown() const noexcept { return size_ == wanted_; }
    /// What a payload takes; 0 if it is another owner's.
    std::uint64_t taken_bytes(std::uint32_t number, std::uint32_t owner) const noexcept {
        const Record& record = records_[number - first_number_];
        return record.owner == owner ? record.units * unit_bytes : 0;
    }
    /// Those of them that are not in the gap.
    std::uint64_t scattered_bytes() const noexcept { return size_ - live_bytes_ - gap_; }
    /// Checks everything. Aborts with a message on a fault.
    void check_invariants() const;

  private:
    struct Record {
        std::uint32_t owner = none;  ///< none: nothing is there
        std::uint32_t units = 0;     ///< with the padding before the payload
    };

    static std::uint64_t padding(std::uint64_t at, Payload payload) noexcept;
    static std::uint64_t record_bytes(std::uint64_t at, Payload payload) noexcept;
    std::uint64_t gap_end() const noexcept { return head_ + gap_; }
    void push(std::uint32_t owner, std::uint64_t bytes);
    void pop_oldest() noexcept;
    void collect() noexcept;
    bool cross_end() noexcept;
    void restart() noexcept;
    bool shrink(std::uint64_t wanted, const std::function<void(std::uint32_t owner)>& evict);

    Owners& owners_;
    ReservedMemory memory_;
    std::deque<Record> records_;      ///< from the oldest on
    std::uint32_t first_number_ = 0;  ///< of the oldest record
    std::uint64_t head_ = 0;          ///< the gap's beginning
    std::uint64_t gap_ = 0;           ///< its bytes
    std::uint64_t tail_ = 0;          ///< where the oldest record is: behind the gap, or at 0
    std::uint64_t size_ = 0;          ///< of the ring
    std::uint64_t wanted_ = 0;        ///< what it will be when the log has gone round
    std::uint64_t live_bytes_ = 0;    ///< of records with an owner
    std::uint64_t live_ = 0;          ///< number of them
};

}  // namespace nearfetch
