// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices that ranks of one node fetch together: who comes first fetches a slice. The others copy a small one
// from the node's memory, and use a large one there (pgas/node_sharing.hpp).

#include <cstdint>
#include <functional>
#include <nearfetch/detail/array/slices.hpp>
#include <span>

#include "base/private_pages.hpp"
#include "cache/node_buffer/version_store.hpp"

namespace nearfetch::detail {

/// A slice that a rank wants, and what has become of it.
struct WantedSlice {
    Slice slice;
    const IndexSet* only = nullptr;  ///< as in PrefetchedSlice
    /// Memory for its packed elements. Called where they are to be in memory of this rank. Empty: then they
    /// are not fetched.
    std::function<std::byte*()> own_memory = {};
    /// Of the place at which this rank is going to map a version.
    std::uint64_t offset_in_page = 0;

    /// Where the elements are, if they are not in memory of this rank.
    VersionStore::Version version = {};
    FilePlace place = {};  ///< of the version
};

/// The same as get_slices() past the cache, which it is where ranks of a node share nothing. What another
/// rank is fetching is waited for, as long as two fetches take.
/// \return bytes that other ranks have fetched
std::uint64_t get_node_slices(std::span<WantedSlice> wanted, Packer packer, const SlicePacking& packing,
                              const OverlapWork& overlap_work = {});

}  // namespace nearfetch::detail
