// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/mixed.hpp"
#include "base/types.hpp"

namespace nearfetch {

/// A number for each window and target, to which the number of a part of its memory may be added.
constexpr std::uint64_t memory_of(std::uint32_t window, Rank target) noexcept {
    return mixed(static_cast<std::uint64_t>(window) << 32 | static_cast<std::uint32_t>(target));
}

}  // namespace nearfetch
