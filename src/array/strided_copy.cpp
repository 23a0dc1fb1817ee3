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

/// \param copy_one copy_one(to, from) copies an element
template <class CopyOne>
void copy_plane(std::byte* to, const std::byte* from, const Dimension& outer, const Dimension& inner,
                std::int64_t edge, const CopyOne& copy_one) noexcept {
    for (std::int64_t first = 0; first < inner.extent; first += edge) {
        const std::int64_t end = std::min(first + edge, inner.extent);
        for (std::int64_t row = 0; row < outer.extent; ++row)
            for (std::int64_t i = first; i < end; ++i)
                copy_one(to + row * outer.to + i * inner.to, from + row * outer.from + i * inner.from);
    }
}

template <std::size_t Bytes>
void copy_plane_of(std::byte* to, const std::byte* from, const Dimension& outer,
                   const Dimension& inner) noexcept {
    copy_plane(to, from, outer, inner, edge_of(Bytes),
               [](std::byte* there, const std::byte* here) { std::memcpy(there, here, Bytes); });
}

void copy_plane(std::byte* to, const std::byte* from, const Dimension& outer, const Dimension& inner,
                std::uint64_t element_bytes) noexcept {
    switch (element_bytes) {
        case 1:
            return copy_plane_of<1>(to, from, outer, inner);
        case 2:
            return copy_plane_of<2>(to, from, outer, inner);
        case 4:
            return copy_plane_of<4>(to, from, outer, inner);
        case 8:
            return copy_plane_of<8>(to, from, outer, inner);
        case 16:
            return copy_plane_of<16>(to, from, outer, inner);
        default:
            copy_plane(
                to, from, outer, inner, edge_of(element_bytes),
                [&](std::byte* there, const std::byte* here) { std::memcpy(there, here, element_bytes); });
    }
}

/// A copy's dimensions with several elements: at the destination the innermost one is the last.
class Dimensions {
  public:
    Dimensions(const Steps& to, const Steps& from, const Index<4>& extent) {
        for (std::size_t d = 0; d < 4; ++d)
            if (extent[d] > 1) all_[count_++] = {extent[d], to[d], from[d]};
        std::stable_sort(all_.begin(), all_.begin() + count_,
                         [](const Dimension& a, const Dimension& b) { return a.to > b.to; });
        merge();
    }

    int count() const noexcept { return count_; }
    const Dimension& operator[](int n) const noexcept { return all_[static_cast<std::size_t>(n)]; }
    /// Takes out the last one. An extent of 1 if there is none.
    Dimension take_last() noexcept { return count_ == 0 ? Dimension() : (*this).at(--count_); }
    /// Takes out the one whose neighbours are closest at the source.
    Dimension take_closest() noexcept {
        if (count_ == 0) return {};
        const auto end = all_.begin() + count_;
        const auto closest = std::min_element(all_.begin(), end, [](const Dimension& a, const Dimension& b) {
            return std::abs(a.from) < std::abs(b.from);
        });
        const Dimension taken = *closest;
        std::move(closest + 1, end, closest);
        --count_;
        return taken;
    }

  private:
    Dimension& at(int n) noexcept { return all_[static_cast<std::size_t>(n)]; }
    /// Neighbours in two dimensions that are at regular distances in both places are in one.
    void merge() noexcept {
        for (int n = count_ - 2; n >= 0; --n) {
            Dimension& outer = at(n);
            const Dimension& inner = at(n + 1);
            if (outer.to != inner.to * inner.extent || outer.from != inner.from * inner.extent) continue;
            outer = {outer.extent * inner.extent, inner.to, inner.from};
            std::move(all_.begin() + n + 2, all_.begin() + count_, all_.begin() + n + 1);
            --count_;
        }
    }

    std::array<Dimension, 4> all_;
    int count_ = 0;
};

/// Calls visit(to, from) for each position in these dimensions.
template <class Visit>
void for_each_position(const Dimensions& of, int n, std::byte* to, const std::byte* from,
                       const Visit& visit) noexcept {
    if (n == of.count()) return visit(to, from);
    for (std::int64_t i = 0; i < of[n].extent; ++i)
        for_each_position(of, n + 1, to + i * of[n].to, from + i * of[n].from, visit);
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
    Dimensions others(to_steps, from_steps, extent);
    const Dimension inner = others.take_last();
    const auto step = static_cast<std::int64_t>(element_bytes);
    if (inner.extent == 1 || (inner.to == step && inner.from == step)) {
        const std::uint64_t bytes = element_bytes * static_cast<std::uint64_t>(inner.extent);
        for_each_position(others, 0, to, from,
                          [&](std::byte* there, const std::byte* here) { copy_bytes(there, here, bytes); });
        return;
    }
    const Dimension outer = others.take_closest();
    for_each_position(others, 0, to, from, [&](std::byte* there, const std::byte* here) {
        copy_plane(there, here, outer, inner, element_bytes);
    });
}

}  // namespace nearfetch::detail
