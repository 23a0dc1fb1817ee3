// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace nearfetch {

/// How many characters have to be put in, taken out or replaced to make one text of the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace nearfetch
