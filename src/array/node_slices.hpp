// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices that ranks of one node fetch together: who comes first fetches a slice, and the others copy it from
// the node's memory (pgas/node_sharing.hpp).

#include <cstdint>
#include <nearfetch/detail/array/slices.hpp>
#include <span>

namespace nearfetch::detail {

/// The same as get_slices() past the cache, which it is where ranks of a node share nothing. Slices are
/// shared in fragments. A fragment that another rank is fetching is waited for, as long as two fetches take.
/// \return bytes that other ranks have fetched
std::uint64_t get_node_slices(std::span<const SliceMove> moves, Packer packer, const SlicePacking& packing,
                              const OverlapWork& overlap_work = {});

}  // namespace nearfetch::detail
