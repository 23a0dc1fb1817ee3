// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reports of programs on distributed arrays.

#include <bit>
#include <nearfetch/array.hpp>
#include <set>

#include "common/random.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

/// Checksum of the own elements and their indices, in any order.
template <class T, std::size_t N>
std::uint64_t checksum(const BlockArray<T, N>& array) {
    std::uint64_t sum = 0;
    for_each_index(array.own_box(), [&](const Index<N>& i) {
        std::uint64_t place = 0;
        for (std::size_t d = 0; d < N; ++d)
            place = place * static_cast<std::uint64_t>(array.bounds().extent(d)) +
                    static_cast<std::uint64_t>(i[d] - array.bounds().lower[d]);
        const T value = array[i];
        if constexpr (std::is_integral_v<T>)
            sum += apps::mixed(static_cast<std::uint64_t>(value) + place);
        else
            sum += apps::mixed(std::bit_cast<std::uint64_t>(value) + place);
    });
    return sum;
}

/// The remote elements that this rank needs, in one message per owner: a lower bound for every version.
class Needed {
  public:
    /// Adds the remote part of a box. Boxes have to be disjoint.
    template <class T, std::size_t N>
    void add(const BlockArray<T, N>& array, const Box<N>& box) {
        for_each_index(intersection(box, array.bounds()), [&](const Index<N>& i) {
            if (array.own(i) != nullptr) return;
            owners_.insert(array.owner(i));
            bytes_ += sizeof(T);
        });
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
