// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch::testing {

// While `refusing`, operator new counts down and throws once, at zero.
extern bool refusing;
extern std::uint64_t allocations_until_refusal;
extern std::uint64_t refused_allocations;
extern std::uint64_t allocated_bytes;  ///< by operator new, all together

}  // namespace nearfetch::testing
