// SPDX-License-Identifier: Apache-2.0
#include "array/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/copy.hpp"

namespace nearfetch::detail {

namespace {

/// A dimension of a copy, with the distances of neighbours in bytes.
struct Dimension {
    std::int64_t extent = 1, to = 0, from = 0;
};

/// Edge of a tile in elements: some lines of memory, but few enough rows that all of them stay in a cache
/// whose sets are hit by each of them (rows are often powers of two apart).
constexpr std::int64_t edge_of(std::uint64_t element_bytes) {
    constexpr std::uint64_t line_bytes = 64, least = 8, most = 32;
    return static_cast<std::int64_t>(std::clamp(line_bytes / element_bytes, least, most));
}

/// \tparam Bytes of an element; 0: any
template <std::size_t Bytes>
void copy_plane(std::byte* to, const std::byte* from, Dimension outer, Dimension inner,
                std::uint64_t bytes) noexcept {
    constexpr std::int64_t edge = edge_of(Bytes == 0 ? 16 : Bytes);
    for (std::int64_t first = 0; first < inner.extent; first += edge)
        for (std::int64_t first_row = 0; first_row < outer.extent; first_row += edge) {
            const std::int64_t end = std::min(first + edge, inner.extent);
            const std::int64_t end_row = std::min(first_row + edge, outer.extent);
            for (std::int64_t row = first_row; row < end_row; ++row)
                for (std::int64_t i = first; i < end; ++i)
                    std::memcpy(to + row * outer.to + i * inner.to, from + row * outer.from + i * inner.from,
                                Bytes == 0 ? bytes : Bytes);
        }
}

using CopyPlane = void (*)(std::byte* to, const std::byte* from, Dimension outer, Dimension inner,
                           std::uint64_t bytes) noexcept;
CopyPlane copy_plane_for(std::uint64_t element_bytes) noexcept {
    switch (element_bytes) {
        case 1:
            return copy_plane<1>;
        case 2:
            return copy_plane<2>;
        case 4:
            return copy_plane<4>;
        case 8:
            return copy_plane<8>;
        case 16:
            return copy_plane<16>;
        default:
            return copy_plane<0>;
    }
}

using Dimensions = std::array<Dimension, 4>;

/// Takes out the dimension with several elements that has the least distance(dimension).
template <class Distance>
Dimension take_least(Dimensions& all, const Distance& distance) noexcept {
    const auto key = [&](const Dimension& one) { return std::pair(one.extent == 1, distance(one)); };
    return std::exchange(*std::ranges::min_element(all, {}, key), Dimension());
}

/// Where neighbours of two dimensions are at the same regular distances, they become one.
void merge(Dimensions& all) noexcept {
    for (Dimension& inner : all)
        for (bool again = true; std::exchange(again, false);)
            for (Dimension& outer : all) {
                if (&outer == &inner || outer.extent == 1 || inner.extent == 1) continue;
                if (outer.to != inner.to * inner.extent || outer.from != inner.from * inner.extent) continue;
                inner.extent *= std::exchange(outer, Dimension()).extent;
                again = true;
            }
}

/// Calls visit(to, from) for each position in these dimensions.
template <class Visit>
void for_each_position(const Dimensions& all, std::byte* to, const std::byte* from,
                       const Visit& visit) noexcept {
    for_each_index(Box<4>({}, {all[0].extent, all[1].extent, all[2].extent, all[3].extent}),
                   [&](const Index<4>& i) {
                       std::int64_t there = 0, here = 0;
                       for (std::size_t d = 0; d < 4; ++d) {
                           there += i[d] * all[d].to;
                           here += i[d] * all[d].from;
                       }
                       visit(to + there, from + here);
                   });
}

}  // namespace

Steps packed_steps(const Index<4>& shape, std::uint64_t element_bytes) noexcept {
    Steps steps;
    auto step = static_cast<std::int64_t>(element_bytes);
    for (std::size_t d = 4; d-- > 0; step *= shape[d])
        steps[d] = step;
    return steps;
}

bool are_packed(const Steps& steps, const Slice& slice) noexcept {
    const Steps packed = packed_steps(slice.extent, slice.element_bytes);
    bool all = true;
    for (std::size_t d = 0; d < 4; ++d)
        all = all && (slice.extent[d] == 1 || steps[d] == packed[d]);
    return all;
}

void copy_strided(std::byte* to, const Steps& to_steps, const std::byte* from, const Steps& from_steps,
                  const Index<4>& extent, std::uint64_t element_bytes) noexcept {
    if (std::ranges::any_of(extent, [](std::int64_t one) { return one <= 0; })) return;
    Dimensions others;
    for (std::size_t d = 0; d < 4; ++d)
        if (extent[d] > 1) others[d] = {extent[d], to_steps[d], from_steps[d]};
    merge(others);
    const Dimension inner = take_least(others, [](const Dimension& one) { return std::abs(one.to); });
    const auto step = static_cast<std::int64_t>(element_bytes);
    if (inner.extent == 1 || (inner.to == step && inner.from == step)) {
        const std::uint64_t bytes = element_bytes * static_cast<std::uint64_t>(inner.extent);
        for_each_position(others, to, from,
                          [&](std::byte* there, const std::byte* here) { copy_bytes(there, here, bytes); });
        return;
    }
    const Dimension outer = take_least(others, [](const Dimension& one) { return std::abs(one.from); });
    const CopyPlane copy_plane = copy_plane_for(element_bytes);
    for_each_position(others, to, from, [&](std::byte* there, const std::byte* here) {
        copy_plane(there, here, outer, inner, element_bytes);
    });
}

}  // namespace nearfetch::detail
