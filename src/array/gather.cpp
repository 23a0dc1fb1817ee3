// SPDX-License-Identifier: Apache-2.0
#include <nearfetch/gather.hpp>
#include <string>

namespace nearfetch::detail {

void check_gathered(std::uint64_t elements) {
    if (elements > std::uint64_t{1} << 32)
        throw Error("Gather: " + std::to_string(elements) + " distinct elements", "positions have 32 bits",
                    "gather for a part of the indices at a time");
}

void gathered_is_resized() {
    throw Error("Gather: the array was resized",
                "who has its elements, and which there are, was looked up before",
                "make another Gather for the new bounds");
}

}  // namespace nearfetch::detail
