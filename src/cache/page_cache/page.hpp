// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

/// One bit per line of a page or operation; line 0 is bit 0.
using LineMask = std::uint64_t;

/// The bits [first, last].
constexpr LineMask line_mask(std::uint64_t first, std::uint64_t last) noexcept {
    return ((LineMask{2} << (last - first)) - 1) << first;
}

/// Shifts a mask that counts from line `from` to one that counts from line `to`.
constexpr LineMask recounted(LineMask lines, std::uint64_t from, std::uint64_t to) noexcept {
    return from >= to ? lines << (from - to) : lines >> (to - from);
}

/// 64 well mixed bits of a page's or region's name. One multiplication would map some strides (near multiples
/// of 2^64 / factor) to a single bucket.
constexpr std::uint64_t mixed_name(Rank target, std::uint64_t number) noexcept {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
    const std::uint64_t x = (number + (static_cast<std::uint64_t>(target) << 40)) * factor;
    return (x ^ (x >> 32)) * factor;
}

/// Metadata of a page; its bytes are in another array, at the same index. One CPU cache line.
struct alignas(64) Page {
    static constexpr std::uint32_t nothing = 0xffffffff;

    std::uint64_t number = ~std::uint64_t{0};  ///< offset / page_bytes
    Rank target = -1;
    std::uint32_t dirty = nothing;  ///< its entry of DirtyPages
    LineMask ready = 0;             ///< lines that a hit may use
    /// lines fetched speculatively and not used yet; disjoint from ready, so that the first use is noticed
    LineMask speculative = 0;
    LineMask arriving = 0;  ///< lines that an operation is fetching
    Stamp stamp = 0;        ///< no line was read earlier
    std::uint32_t older = nothing;
    std::uint32_t newer = nothing;
    std::uint8_t queue = 0;
    std::uint8_t uses = 0;  ///< uses since it entered its queue, up to most_uses; consecutive uses count once
    std::uint8_t mark = 0;  ///< trigger mark: the stream of ReadAhead to tell of the first use; 0: none
    std::uint8_t last_line = 0;  ///< line of the last miss
    std::uint8_t cut = 0;        ///< which of its two CutLines are there

    LineMask valid() const noexcept { return ready | speculative; }
};
static_assert(sizeof(Page) == 64);

}  // namespace nearfetch
