// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations: the GETs and PUTs that the cache asks for, and their state until they are done.
//
// The network never accesses a page. Fetched bytes land in the operation's buffer and are merged into pages
// later. Bytes to write are copied to the buffer first. So a page may be read, written and evicted during its
// operations, one message can serve several pages, and a transport needs only (rank, offset, size, memory).
// The copy is made while the next GET travels, if possible. Bulk gets and puts use the program's memory in
// place of the buffer.
//
// The number of operations is fixed, which also throttles the network.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "base/types.hpp"
#include "cache/page_cache/page.hpp"

namespace nearfetch {

struct GetRequest;
struct PutRequest;

/// Unique for ever; Operation objects are reused.
using OperationId = std::uint64_t;

struct Operation {
    enum class Kind : std::uint8_t { get, put };
    enum class State : std::uint8_t {
        idle,
        planned,  ///< to be started
        held,     ///< deferred: to be started when its predecessor is complete (PageCache::next_due)
        started,
        unmerged,  ///< a complete GET that is not yet in its pages
        failed,    ///< a PUT of dirty bytes, to be started again
    };

    // For the transport.
    Kind kind = Kind::get;
    Rank target = 0;
    std::uint64_t offset = 0;  ///< in the target's part
    std::uint64_t size_bytes = 0;
    std::byte* buffer = nullptr;  ///< destination or source of the bytes
    OperationId id = 0;
    std::uint64_t handle = 0;  ///< for the engine and the transport

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
    /// Whether it still is the operation of that id, and is outstanding. It is while it is being started,
    /// too.
    bool is_outstanding(OperationId of) const noexcept {
        return id == of && (state_ == State::started || state_ == State::held || state_ == State::planned);
    }

  private:
    friend class PageCache;
    friend class OperationTable;

    State state_ = State::idle;
    bool bulk_ = false;         ///< uses the program's memory
    bool speculative_ = false;  ///< only for a prefetch or read-ahead
    bool awaited_ = false;      ///< a request waited for it before it was complete
    std::uint8_t mark_ = 0;     ///< trigger mark for its pages: see Page::mark
    std::uint32_t slot_ = 0;    ///< index in the table's list of its kind
    std::byte* own_ = nullptr;
    // Line masks, counted from the line of `offset`.
    LineMask wanted_ = 0;    ///< to be admitted to pages; later the lines that are Page::arriving for it
    LineMask merge_ = 0;     ///< those of wanted_ that were not overwritten or invalidated
    LineMask delivery_ = 0;  ///< missing lines of `get_`
    Stamp stamp_ = 0;        ///< clock when it was planned
    Stamp acquired_ = 0;     ///< last acquire of the requesting task
    std::uint64_t started_ticks_ = 0;
    GetRequest* get_ = nullptr;  ///< the request that waits for it
    PutRequest* put_ = nullptr;
};

class OperationTable {
  public:
    /// \param memory count * bytes_each bytes
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
        if (kind == Operation::Kind::put) put_region_bits_ |= region_bits_of(target, range);
        return op;
    }
    /// It is no longer outstanding, but needed until end().
    void finish(Operation& op) noexcept {
        auto& list = active_[static_cast<std::size_t>(op.kind)];
        list[op.slot_] = list.back();
        list[op.slot_]->slot_ = op.slot_;
        list.pop_back();
        op.state_ = Operation::State::unmerged;
    }
    void end(Operation& op) noexcept {
        if (op.state_ != Operation::State::unmerged) finish(op);
        op.state_ = Operation::State::idle;
        spare_.push_back(&op);
    }

    /// The oldest PUT with bytes of the range; nullptr: none.
    Operation* put_at(Rank target, ByteRange range) const noexcept {
        if ((put_region_bits_ & region_bits_of(target, range)) == 0) return nullptr;
        put_region_bits_ = 0;
        Operation* first = nullptr;
        for (Operation* op : puts()) {
            put_region_bits_ |= region_bits_of(op->target, op->range());
            if (op->target == target && op->range().overlaps(range) &&
                (first == nullptr || op->id < first->id))
                first = op;
        }
        return first;
    }
    /// The oldest operation.
    Operation* oldest() const noexcept {
        Operation* first = nullptr;
        for (const auto& list : active_)
            for (Operation* op : list)
                if (first == nullptr || op->id < first->id) first = op;
        return first;
    }

  private:
    /// A Bloom filter: a bit for each 4 KiB of the range. Ranges without a common bit are disjoint.
    static std::uint64_t region_bits_of(Rank target, ByteRange range) noexcept {
        const std::uint64_t first = range.begin >> 12, last = (range.end - 1) >> 12;
        const std::uint64_t place = std::uint64_t{1} << (mixed_name(target, first) >> 58);
        if (first == last) return place;
        if (last - first > 1) return ~std::uint64_t{0};
        return place | std::uint64_t{1} << (mixed_name(target, last) >> 58);
    }

    std::vector<Operation> operations_;
    std::vector<Operation*> spare_;
    std::vector<Operation*> active_[2];          ///< by kind
    mutable std::uint64_t put_region_bits_ = 0;  ///< of outstanding PUTs, and some completed ones
    OperationId last_id_ = 0;
};

}  // namespace nearfetch
