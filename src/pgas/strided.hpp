// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strided gets and puts: elements of equal size at regular distances on both sides, as one operation.
//
// A get goes through the cache. Elements that are resident are copied; the others are fetched in whole lines,
// many at a time. Where the elements of a row leave gaps of less than a line, the row is fetched in messages
// of many lines. A get that is large for the cache bypasses the pages, element by element. A put writes its
// small elements into the pages, as puts do.

#include <array>
#include <cstdint>

#include "pgas/page_engine.hpp"

namespace nearfetch {

struct StridedElements {
    static constexpr std::size_t dimensions_most = 8;

    /// Of one dimension; the first one varies fastest.
    struct Dimension {
        std::uint64_t count = 0;
        std::int64_t remote_bytes = 0;  ///< from one element to the next, at the target
        std::int64_t local_bytes = 0;   ///< the same in the program's memory
    };
    std::uint64_t element_bytes = 0;
    std::size_t dimensions = 0;
    std::array<Dimension, dimensions_most> of{};

    /// Fewer and larger elements, where they are contiguous on both sides.
    void merge() noexcept;
    /// Of all elements; at most the largest number.
    std::uint64_t total_bytes() const noexcept;
    /// Whether all elements from that address on can be addresses of a target, and of a program.
    bool fits(std::uint64_t address) const noexcept;
    /// From the first byte of all to the last, at the target. \pre fits(address)
    ByteRange reach(std::uint64_t address) const noexcept;
};

/// \pre elements.fits(address), and there is an element
/// \return 0 or the status of the first transfer that failed; then the bytes are incomplete
int get_strided(PageEngine& engine, const TaskClock& task, Rank target, std::uint64_t address,
                const StridedElements& elements, std::byte* to);
/// The elements overlap at the target only if they are the same there. \return as PageEngine::put()
int put_strided(PageEngine& engine, Rank target, std::uint64_t address, const StridedElements& elements,
                const std::byte* from);

}  // namespace nearfetch
