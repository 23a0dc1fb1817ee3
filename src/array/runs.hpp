// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices as runs of bytes, and as messages say which they mean.

#include <algorithm>
#include <cstring>
#include <nearfetch/detail/array/slices.hpp>
#include <span>
#include <vector>

namespace nearfetch::detail {

/// What a message asks an owner for, or brings: of the slice all, or what the text behind it says. In a PUT
/// the elements follow.
struct Order {
    Slice slice;
    std::uint64_t text_bytes = 0;
};

/// Elements that lie side by side at the owner: where in its part, where in what is packed, how many; in
/// bytes.
struct Run {
    std::uint64_t there;
    std::uint64_t here;
    std::uint64_t bytes;
};

/// A slice as runs.
class Runs {
  public:
    /// \param text of a set of the slice's elements; empty: all
    explicit Runs(const Slice& slice, std::span<const std::byte> text = {}) : slice_(slice), text_(text) {
        bytes_ = slice.element_bytes * static_cast<std::uint64_t>(slice.extent[3]);
        for (; first_ > 0 && slice.extent[first_] == slice.part[first_]; --first_)
            bytes_ *= static_cast<std::uint64_t>(slice.extent[first_ - 1]);
    }
    explicit Runs(const SliceMove& move) : Runs(move.slice, text_of(move)) {}
    /// Calls visit(run) for each, in their order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        std::uint64_t packed = 0;
        if (!text_.empty()) {
            IndexSet::for_each_run(text_, [&](std::int64_t first, std::int64_t count) {
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
    static std::span<const std::byte> text_of(const SliceMove& move) {
        return move.only != nullptr ? move.only->text() : std::span<const std::byte>();
    }

  private:
    /// The first index of each run of all that the slice has.
    Box<4> outer() const {
        Box<4> box(slice_.lower, slice_.lower);
        for (std::size_t d = 0; d < 4; ++d)
            box.upper[d] += d < first_ ? slice_.extent[d] : 1;
        return box;
    }

    const Slice& slice_;
    std::span<const std::byte> text_;
    std::uint64_t bytes_;
    std::size_t first_ = 3;  ///< of the dimensions that a run goes through
};

/// An order, and what follows it.
inline std::vector<std::byte> message_of(const Slice& slice, std::span<const std::byte> text,
                                         std::span<const std::byte> elements) {
    const Order order{slice, text.size()};
    std::vector<std::byte> message(sizeof order + text.size() + elements.size());
    std::memcpy(message.data(), &order, sizeof order);
    std::ranges::copy(text, message.begin() + sizeof order);
    std::ranges::copy(elements, message.end() - static_cast<std::ptrdiff_t>(elements.size()));
    return message;
}

}  // namespace nearfetch::detail
