// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices as runs of bytes, and the messages that describe them.

#include <algorithm>
#include <cstring>
#include <nearfetch/detail/array/slices.hpp>
#include <span>
#include <vector>

namespace nearfetch::detail {

/// Header of a message to an owner. An encoded set follows it, unless the slice is complete; in a PUT also
/// the elements.
struct PackRequest {
    Slice slice;
    std::uint64_t set_bytes = 0;
};

/// Bytes that are contiguous at the owner. Offsets in the owner's part and in the packed slice, in bytes.
struct Run {
    std::uint64_t part_offset;
    std::uint64_t packed_offset;
    std::uint64_t bytes;
};

/// The runs of a slice.
class Runs {
  public:
    /// \param encoded_set a set of the slice's elements; empty: all
    explicit Runs(const Slice& slice, std::span<const std::byte> encoded_set = {})
        : slice_(slice), encoded_set_(encoded_set) {
        bytes_ = slice.element_bytes * static_cast<std::uint64_t>(slice.extent[3]);
        for (; first_ > 0 && slice.extent[first_] == slice.part[first_]; --first_)
            bytes_ *= static_cast<std::uint64_t>(slice.extent[first_ - 1]);
    }
    explicit Runs(const SliceMove& move) : Runs(move.slice, encoded_set_of(move)) {}
    /// Calls visit(run) for each, in their order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        std::uint64_t packed = 0;
        if (!encoded_set_.empty()) {
            IndexSet::for_each_run(encoded_set_, [&](std::int64_t first, std::int64_t count) {
                const std::uint64_t bytes = slice_.element_bytes * static_cast<std::uint64_t>(count);
                visit(Run{slice_.element_bytes * static_cast<std::uint64_t>(first), packed, bytes});
                packed += bytes;
            });
            return;
        }
        for_each_index(outer(), [&](const Index<4>& i) {
            std::int64_t offset = 0;
            for (std::size_t d = 0; d < 4; ++d)
                offset = offset * slice_.part[d] + i[d];
            visit(Run{static_cast<std::uint64_t>(offset) * slice_.element_bytes, packed, bytes_});
            packed += bytes_;
        });
    }
    /// Calls copy(run) for each, and charges it.
    template <class Copy>
    void copy_each(const Copy& copy) const {
        std::uint64_t lines = 0;
        for_each([&](const Run& run) {
            copy(run);
            lines += whole_lines(run.bytes);
        });
        charge_copy(lines);
    }
    static std::span<const std::byte> encoded_set_of(const SliceMove& move) {
        return move.only != nullptr ? move.only->encoded() : std::span<const std::byte>();
    }

  private:
    /// The first index of each run.
    Box<4> outer() const {
        Box<4> box(slice_.lower, slice_.lower);
        for (std::size_t d = 0; d < 4; ++d)
            box.upper[d] += d < first_ ? slice_.extent[d] : 1;
        return box;
    }

    const Slice& slice_;
    std::span<const std::byte> encoded_set_;
    std::uint64_t bytes_;
    std::size_t first_ = 3;  ///< first dimension that a run spans
};

/// All that this rank has of the slice's array. \pre this rank is the owner
inline std::byte* own_part(const Slice& slice) {
    const auto elements =
        static_cast<std::uint64_t>(slice.part[0] * slice.part[1] * slice.part[2] * slice.part[3]);
    return local(slice.address, elements * slice.element_bytes);
}

/// Header, set and elements as one message.
inline std::vector<std::byte> make_pack_message(const Slice& slice, std::span<const std::byte> encoded_set,
                                                std::span<const std::byte> elements) {
    const PackRequest request{slice, encoded_set.size()};
    std::vector<std::byte> message(sizeof request + encoded_set.size() + elements.size());
    std::memcpy(message.data(), &request, sizeof request);
    std::ranges::copy(encoded_set, message.begin() + sizeof request);
    std::ranges::copy(elements, message.end() - static_cast<std::ptrdiff_t>(elements.size()));
    return message;
}

}  // namespace nearfetch::detail
