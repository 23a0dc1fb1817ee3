// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations: the GETs and PUTs that core wants to have done, and what it has to know until they are.
//
// The network never touches a page. What is fetched lands in the operation's own memory and is merged into
// the pages later; what is written back is copied there first. So a page may be written, read and even
// evicted while one of its operations is under way, one message can serve several pages that stand anywhere,
// and a transport has to understand nothing but (rank, offset, size, memory). The copy costs some 20 ns per
// page; of what somebody waited for, it is made when he has his bytes, best while the next GET travels. Large
// gets and puts use the program's memory in place of the operation's.
//
// There is a fixed number of them, which is also what throttles the network.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "base/types.hpp"
#include "cache/page_cache/page.hpp"

namespace nearfetch {

struct GetRequest;
struct PutRequest;

/// Names an operation for ever; an Operation itself is used again.
using OperationId = std::uint64_t;

struct Operation {
    enum class Kind : std::uint8_t { get, put };
    enum class State : std::uint8_t {
        idle,
        planned,  ///< to be started
        held,     ///< to be started when what it has to wait for is complete (PageCache::next_due)
        started,
        landed,  ///< a GET that is complete, but not in its pages yet
        failed,  ///< a PUT of written bytes that has to be started again
    };

    // What the transport has to know.
    Kind kind = Kind::get;
    Rank target = 0;
    std::uint64_t offset = 0;  ///< in the target's part
    std::uint64_t size_bytes = 0;
    std::byte* buffer = nullptr;  ///< where the bytes go, or come from
    OperationId id = 0;
    std::uint64_t handle = 0;  ///< the engine's, for what the transport needs

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }

  private:
    friend class PageCache;
    friend class OperationTable;

    State state_ = State::idle;
    bool bulk_ = false;       ///< moves the program's memory
    bool ahead_ = false;      ///< fetches for a hint or for read-ahead alone
    bool awaited_ = false;    ///< somebody waits for it since before it was complete
    std::uint8_t mark_ = 0;   ///< for the pages that it fills: see Page::mark
    std::uint32_t slot_ = 0;  ///< its place in the table's list of its kind
    std::byte* own_ = nullptr;
    // Lines, counted from that of `offset`.
    LineMask wanted_ = 0;  ///< to be admitted to pages; after that, the lines that are Page::arriving for it
    LineMask merge_ = 0;   ///< of these, those that nothing has overtaken
    LineMask delivery_ = 0;  ///< missing lines of `get_`
    Stamp stamp_ = 0;        ///< when it was planned
    Stamp acquired_ = 0;     ///< of the task that wanted it
    std::uint64_t started_ticks_ = 0;
    GetRequest* get_ = nullptr;  ///< who waits for it
    PutRequest* put_ = nullptr;
};

class OperationTable {
  public:
    /// \param memory of count * bytes_each bytes
    OperationTable(std::uint32_t count, std::uint64_t bytes_each, std::byte* memory) : operations_(count) {
        spare_.reserve(count);
        for (auto& list : active_)
            list.reserve(count);
        for (std::uint32_t i = count; i-- > 0;) {
            operations_[i].own_ = memory + i * bytes_each;
            spare_.push_back(&operations_[i]);
        }
    }

    std::size_t spare() const noexcept { return spare_.size(); }
    std::size_t in_flight() const noexcept { return gets().size() + puts().size(); }
    const std::vector<Operation*>& gets() const noexcept { return active_[0]; }
    const std::vector<Operation*>& puts() const noexcept { return active_[1]; }
    OperationId last_id() const noexcept { return last_id_; }

    /// \pre spare() > 0
    Operation& begin(Operation::Kind kind, Rank target, ByteRange range) noexcept {
        NF_EXPECT(!spare_.empty() && !range.empty());
        Operation& op = *spare_.back();
        spare_.pop_back();
        std::byte* const own = op.own_;
        op = Operation();
        op.own_ = op.buffer = own;
        op.kind = kind;
        op.target = target;
        op.offset = range.begin;
        op.size_bytes = range.size();
        op.id = ++last_id_;
        op.state_ = Operation::State::planned;
        auto& list = active_[static_cast<std::size_t>(kind)];
        op.slot_ = static_cast<std::uint32_t>(list.size());
        list.push_back(&op);
        if (kind == Operation::Kind::put) put_places_ |= places_of(target, range);
        return op;
    }
    /// It is under way no more, but needed until it is ended.
    void land(Operation& op) noexcept {
        auto& list = active_[static_cast<std::size_t>(op.kind)];
        list[op.slot_] = list.back();
        list[op.slot_]->slot_ = op.slot_;
        list.pop_back();
        op.state_ = Operation::State::landed;
    }
    void end(Operation& op) noexcept {
        if (op.state_ != Operation::State::landed) land(op);
        op.state_ = Operation::State::idle;
        spare_.push_back(&op);
    }

    /// The PUT that was begun first of those that have bytes of the range; nullptr: none.
    Operation* put_at(Rank target, ByteRange range) const noexcept {
        if ((put_places_ & places_of(target, range)) == 0) return nullptr;
        put_places_ = 0;
        Operation* first = nullptr;
        for (Operation* op : puts()) {
            put_places_ |= places_of(op->target, op->range());
            if (op->target == target && op->range().overlaps(range) &&
                (first == nullptr || op->id < first->id))
                first = op;
        }
        return first;
    }
    /// The operation that was begun first of all.
    Operation* oldest() const noexcept {
        Operation* first = nullptr;
        for (const auto& list : active_)
            for (Operation* op : list)
                if (first == nullptr || op->id < first->id) first = op;
        return first;
    }

  private:
    /// A bit for each 4 KiB that the range touches, or all of them. Ranges without a common bit are apart.
    static std::uint64_t places_of(Rank target, ByteRange range) noexcept {
        const std::uint64_t first = range.begin >> 12, last = (range.end - 1) >> 12;
        const std::uint64_t place = std::uint64_t{1} << (mixed_name(target, first) >> 58);
        if (first == last) return place;
        if (last - first > 1) return ~std::uint64_t{0};
        return place | std::uint64_t{1} << (mixed_name(target, last) >> 58);
    }

    std::vector<Operation> operations_;
    std::vector<Operation*> spare_;
    std::vector<Operation*> active_[2];     ///< by kind
    mutable std::uint64_t put_places_ = 0;  ///< of the PUTs under way, and of some that were
    OperationId last_id_ = 0;
};

}  // namespace nearfetch
