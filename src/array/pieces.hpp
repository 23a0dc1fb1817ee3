// SPDX-License-Identifier: Apache-2.0
#pragma once

// A slice that arrives piece by piece, so that little of it is in memory twice where it cannot be fetched to
// its place.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nearfetch/detail/array/slices.hpp>
#include <span>

namespace nearfetch::detail {

/// Called with some elements, and the place of their first byte in the packed slice.
using TakePiece = std::function<void(std::uint64_t at, std::span<const std::byte> piece)>;

/// Fetches all of a slice of another rank, around the cache. \throws Error when a message failed: some pieces
/// were taken
void get_runs(const Slice& slice, Packer packer, Code pack, const TakePiece& take);

}  // namespace nearfetch::detail
