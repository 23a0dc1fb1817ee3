// SPDX-License-Identifier: Apache-2.0
#pragma once

// The segments of a job by address. Each begins at a multiple of `reach_bytes`, so the upper bits of an
// address name its segment, and a lookup is a shift and a load.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.hpp"
#include "base/types.hpp"

namespace nearfetch {

/// \tparam Segment has `size_bytes`. One thread adds and removes; any may look up what it does not remove.
template <class Segment>
class SegmentTable {
  public:
    static constexpr unsigned reach_bits = 44;
    /// Segments are smaller, so that no two of them touch.
    static constexpr std::uint64_t reach_bytes = std::uint64_t{1} << reach_bits;
    static constexpr std::size_t most = 1024;

    SegmentTable() = default;
    SegmentTable(const SegmentTable&) = delete;
    SegmentTable& operator=(const SegmentTable&) = delete;
    ~SegmentTable() {
        for_each([this](std::uint64_t address, Segment&) { remove(address); });
    }

    /// The segment of these bytes; nullptr if they are not all in one.
    Segment* find(std::uint64_t address, std::uint64_t size = 1) const noexcept {
        const std::uint64_t slot = address >> reach_bits;
        if (slot >= most) return nullptr;
        Segment* const segment = slots_[slot].load(std::memory_order_acquire);
        if (segment == nullptr) return nullptr;
        return ByteRange{0, segment->size_bytes}.contains(offset(address), size) ? segment : nullptr;
    }
    /// The addresses of the segment that has that one; empty if there is none.
    ByteRange around(std::uint64_t address) const noexcept {
        const Segment* const segment = find(address);
        if (segment == nullptr) return {};
        const std::uint64_t begin = address - offset(address);
        return {begin, begin + segment->size_bytes};
    }
    /// An address within its segment.
    static std::uint64_t offset(std::uint64_t address) noexcept { return address & (reach_bytes - 1); }

    bool is_full() const noexcept { return free_slot() == most; }
    /// \pre not full, and smaller than reach_bytes \return its first address
    std::uint64_t add(std::unique_ptr<Segment> segment) noexcept {
        const std::size_t slot = free_slot();
        NF_EXPECT(slot < most && segment->size_bytes < reach_bytes);
        slots_[slot].store(segment.release(), std::memory_order_release);
        if (slot >= end_.load()) end_.store(slot + 1);
        return std::uint64_t{slot} << reach_bits;
    }
    void remove(std::uint64_t address) noexcept { delete slots_[address >> reach_bits].exchange(nullptr); }
    /// Calls visit(address, segment) in the order of addresses.
    template <class Visitor>
    void for_each(Visitor&& visit) const {
        for (std::size_t slot = 0; slot < end_.load(std::memory_order_acquire); ++slot)
            if (Segment* const segment = slots_[slot].load(std::memory_order_acquire))
                visit(std::uint64_t{slot} << reach_bits, *segment);
    }

  private:
    std::size_t free_slot() const noexcept {
        std::size_t slot = 0;
        while (slot < most && slots_[slot].load() != nullptr)
            ++slot;
        return slot;
    }

    std::array<std::atomic<Segment*>, most> slots_ = {};
    std::atomic<std::size_t> end_ = 0;  ///< all others are behind those in use
};

}  // namespace nearfetch
