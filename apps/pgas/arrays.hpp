// SPDX-License-Identifier: Apache-2.0
#pragma once

// What programs on distributed arrays say about themselves at the end.

#include <bit>
#include <nearfetch/array.hpp>
#include <set>

#include "common/random.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

/// Of the own elements: they and their places, in any order.
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

/// What this rank needs of other ranks' elements, in one message from each of these: no version can do with
/// less.
class Needed {
  public:
    /// What others have of a box. Boxes that are added have no index in common.
    template <class T, std::size_t N>
    void add(const BlockArray<T, N>& array, const Box<N>& box) {
        for_each_index(intersection(box, array.bounds()), [&](const Index<N>& i) {
            if (array.own(i) != nullptr) return;
            owners_.insert(array.owner(i));
            bytes_ += sizeof(T);
        });
    }
    /// When all of it is needed so many times.
    LeastTraffic traffic(int times = 1) const {
        const auto count = static_cast<std::uint64_t>(times);
        return {.get_messages = count * owners_.size(), .get_bytes = count * bytes_};
    }

  private:
    std::set<Rank> owners_;
    std::uint64_t bytes_ = 0;
};

}  // namespace nearfetch::programs
