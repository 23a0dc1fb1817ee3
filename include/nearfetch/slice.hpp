// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices: what of an array one rank has, cut to a box or to a set of elements. For array.hpp and the prefetch
// buffer; nothing here is for programs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nearfetch/index_set.hpp>
#include <nearfetch/types.hpp>

namespace nearfetch::detail {

/// A box in the local numbers of the owner. Four dimensions, those that an array does not have being of
/// extent 1 and in front. Packed, its elements lie side by side in their order.
struct Slice {
    Rank owner = 0;
    std::uint64_t address = 0;  ///< of the owner's part of the array
    std::uint64_t element_bytes = 0;
    std::array<std::int64_t, 4> part{1, 1, 1, 1};  ///< the shape of that
    std::array<std::int64_t, 4> lower{};
    std::array<std::int64_t, 4> extent{1, 1, 1, 1};

    std::int64_t elements() const noexcept { return extent[0] * extent[1] * extent[2] * extent[3]; }
    std::uint64_t bytes() const noexcept { return element_bytes * static_cast<std::uint64_t>(elements()); }
    /// Of the same part.
    bool contains(const Slice& other) const noexcept {
        bool inside = owner == other.owner && address == other.address;
        for (std::size_t d = 0; d < 4; ++d)
            inside = inside && lower[d] <= other.lower[d] &&
                     other.lower[d] + other.extent[d] <= lower[d] + extent[d];
        return inside;
    }
    friend bool operator==(const Slice&, const Slice&) = default;
};

/// Whose work it is to pack and unpack what does not lie side by side.
enum class Packer : std::uint8_t {
    owner,      ///< the owner's, in one message
    requester,  ///< the caller's: the owner stays passive (LAPPS, 5.3.2) unless that took very many messages
};

/// Bytes of what a slice has, or of these elements of it.
inline std::uint64_t bytes_of(const Slice& slice, const IndexSet* only) noexcept {
    return only == nullptr ? slice.bytes() : slice.element_bytes * static_cast<std::uint64_t>(only->size());
}

/// What an access reads of a slice that was prefetched: with manual consistency nothing else.
struct PrefetchedSlice {
    Slice slice;
    /// Of what the slice has, these elements only, numbered from the beginning of the owner's part, and
    /// packed in that order; or nullptr: all. \pre else the slice is the whole part
    std::unique_ptr<const IndexSet> only;
    std::byte* data = nullptr;  ///< packed; aligned to 64 bytes
    bool consistent = true;     ///< automatically
    Packer packer = Packer::owner;
    std::array<std::int64_t, 4> first{};  ///< index of its first element, where the others follow it

    std::uint64_t bytes() const noexcept { return bytes_of(slice, only.get()); }

    // Of an element in what is packed, counted in elements; -1 when the slice does not have it.

    /// \param number how many of the owner's elements come before it
    template <std::size_t N>
    std::int64_t position(const std::array<std::int64_t, N>& local, std::int64_t number) const noexcept {
        return only == nullptr ? position_from(slice.lower, local) : only->position(number);
    }
    /// By its index. \pre of a contiguous distribution, and all of a box
    template <std::size_t N>
    std::int64_t position_of(const std::array<std::int64_t, N>& index) const noexcept {
        return position_from(first, index);
    }

  private:
    template <std::size_t N>
    std::int64_t position_from(const std::array<std::int64_t, 4>& begin,
                               const std::array<std::int64_t, N>& wanted) const noexcept {
        std::uint64_t at = 0;
        bool inside = true;
        for (std::size_t d = 0; d < N; ++d) {
            // Differences of whatever the program asks for.
            const std::uint64_t i =
                static_cast<std::uint64_t>(wanted[d]) - static_cast<std::uint64_t>(begin[4 - N + d]);
            const auto extent = static_cast<std::uint64_t>(slice.extent[4 - N + d]);
            inside = inside && i < extent;
            at = at * extent + i;
        }
        return inside ? static_cast<std::int64_t>(at) : -1;
    }
};

}  // namespace nearfetch::detail
