// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nearfetch {

/// So that so many more fit without memory. By doubling, if it has to grow. \throws std::bad_alloc
template <class T>
void grow(std::vector<T>& list, std::size_t more) {
    const std::size_t least = list.size() + more;
    if (least > list.capacity()) list.reserve(std::max(least, 2 * list.capacity()));
}

}  // namespace nearfetch
