// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reports of programs on distributed arrays.

#include <bit>
#include <nearfetch/array.hpp>
#include <set>

#include "common/random.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

/// Checksum of a box's elements and their indices, in any order. \param at at(index) is an element
template <std::size_t N, class At>
std::uint64_t checksum(const Box<N>& box, const Box<N>& bounds, const At& at) {
    std::uint64_t sum = 0;
    for_each_index(box, [&](const Index<N>& i) {
        std::uint64_t place = 0;
        for (std::size_t d = 0; d < N; ++d)
            place = place * static_cast<std::uint64_t>(bounds.extent(d)) +
                    static_cast<std::uint64_t>(i[d] - bounds.lower[d]);
        const auto value = at(i);
        if constexpr (std::is_integral_v<decltype(value)>)
            sum += apps::mixed(static_cast<std::uint64_t>(value) + place);
        else
            sum += apps::mixed(std::bit_cast<std::uint64_t>(value) + place);
    });
    return sum;
}
/// That of the own elements.
template <class T, std::size_t N>
std::uint64_t checksum(const BlockArray<T, N>& array) {
    return checksum(array.own_box(), array.bounds(), [&](const Index<N>& i) { return array[i]; });
}

/// The remote elements that this rank needs, in one message per owner: a lower bound for every version.
class Needed {
  public:
    /// Adds the remote part of a box. Boxes have to be disjoint.
    template <class T, std::size_t N>
    void add(const Layout<N>& layout, const Box<N>& box) {
        const Box<N> inside = intersection(box, layout.bounds());
        if (inside.empty()) return;
        detail::for_each_owner(layout, detail::product_of(inside), [&](Rank owner, const Box<N>& local) {
            if (owner == rank() || local.empty()) return;
            owners_.insert(owner);
            bytes_ += sizeof(T) * static_cast<std::uint64_t>(local.size());
        });
    }
    template <class T, std::size_t N>
    void add(const BlockArray<T, N>& array, const Box<N>& box) {
        add<T, N>(array.layout(), box);
    }
    /// The traffic if all of it is needed so many times.
    LeastTraffic traffic(int times = 1) const {
        const auto count = static_cast<std::uint64_t>(times);
        return {.get_messages = count * owners_.size(), .get_bytes = count * bytes_};
    }

  private:
    std::set<Rank> owners_;
    std::uint64_t bytes_ = 0;
};

}  // namespace nearfetch::programs
