// SPDX-License-Identifier: Apache-2.0
#pragma once

// A file of events: a line that names the format, then each event as numbers of 7 bits a byte, the lowest
// first. The head of an event is its kind and its flag. What does not change from one access to the next is
// 0, so that the file compresses well. A file that ends early (its process was killed) is read as far as it
// goes.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nearfetch::event_format {

inline constexpr std::string_view title = "nearfetch events 1\n";
/// Of a number.
inline constexpr std::size_t most_bytes = 10;
/// Of an event, beside its head and its values.
inline constexpr std::size_t numbers = 7;
inline constexpr unsigned char flag_bit = 0x80;

/// Differences of either sign as small numbers.
constexpr std::uint64_t folded(std::uint64_t difference) noexcept {
    return difference << 1 ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unfolded(std::uint64_t number) noexcept { return number >> 1 ^ (0 - (number & 1)); }

}  // namespace nearfetch::event_format
