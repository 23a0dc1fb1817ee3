// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nearfetch/detail/array/slices.hpp>

namespace nearfetch::detail {

/// Distances between the elements of a box that are contiguous in index order.
Steps packed_steps(const Index<4>& shape, std::uint64_t element_bytes) noexcept;

/// Whether elements at these distances are packed.
bool are_packed(const Steps& steps, const Slice& slice) noexcept;

/// Copies a box of elements. Where neighbours are side by side in different dimensions, as in a
/// transposition, it copies tiles, so that a line of memory is read and written once.
void copy_strided(std::byte* to, const Steps& to_steps, const std::byte* from, const Steps& from_steps,
                  const Index<4>& extent, std::uint64_t element_bytes) noexcept;

}  // namespace nearfetch::detail
