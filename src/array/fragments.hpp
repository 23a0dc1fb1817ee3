// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fetches a slice in fragments, for slices that cannot be fetched in place. So only little of a slice is in
// memory twice.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nearfetch/detail/array/slices.hpp>
#include <span>

namespace nearfetch::detail {

/// Called with some elements, and the offset of their first byte in the packed slice.
using TakeFragment = std::function<void(std::uint64_t at, std::span<const std::byte> fragment)>;

/// Calls visit(fragment) for consecutive fragments of a packed slice, of 64 KiB or less. A set is one
/// fragment.
void for_each_fragment(const SliceMove& move, const std::function<void(const SliceMove&)>& visit);

/// Fetches all of a remote slice, bypassing the cache. \throws Error when a message failed; some fragments
/// may have been delivered
void get_fragments(const Slice& slice, Packer packer, const SlicePacking& packing, const TakeFragment& take);

}  // namespace nearfetch::detail
