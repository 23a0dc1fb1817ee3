// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fetches slices in fragments, where they cannot be fetched in place. So only little of a slice is in memory
// twice.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nearfetch/detail/array/slices.hpp>
#include <span>
#include <vector>

namespace nearfetch::detail {

/// Limit of a fragment, unless it is a set.
constexpr std::uint64_t fragment_bytes = 64 * 1024;

/// Called with some elements, packed, and the offset of their first byte in the packed slice.
using TakeFragment =
    std::function<void(const SliceMove& fragment, std::uint64_t at, std::span<const std::byte> elements)>;

/// Calls visit(fragment) for consecutive fragments of a slice. A set is one fragment.
void for_each_fragment(const SliceMove& move, const std::function<void(const SliceMove&)>& visit);

/// Fetches all of a remote slice, past the cache; owners stay passive.
class FragmentGets {
  public:
    /// Starts the first ones.
    FragmentGets(const SliceMove& move, TakeFragment take);
    /// \throws Error when a transfer failed; some fragments may have been delivered
    void finish();

  private:
    struct Fragment {
        SliceMove move;
        std::uint64_t at;
        std::unique_ptr<std::byte[]> memory;  ///< of elements in transit
        std::vector<Transfer> transfers;
    };
    void start_some();

    TakeFragment take_;
    std::deque<Fragment> fragments_;
    std::size_t started_ = 0;
};

/// Fetches all of a remote slice, bypassing the cache. \throws Error when a message failed; some fragments
/// may have been delivered
void get_fragments(const Slice& slice, Packer packer, const SlicePacking& packing, const TakeFragment& take);

}  // namespace nearfetch::detail
