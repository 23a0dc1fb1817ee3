// SPDX-License-Identifier: Apache-2.0
#pragma once

// The setting check_hits: hits that are fetched again (rma/hit_validator.hpp), named by the calls that made
// them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/window.hpp"
#include "rma/hit_validator.hpp"

namespace nearfetch {

/// Checks a hit that the program's call has just been given.
void check_hit(Window& window, int target, std::uint64_t offset, std::span<const std::byte> served);
/// The same, if it belongs to the sample.
inline void check_if_due(Window& window, int target, std::uint64_t offset, const void* served,
                         std::uint64_t size) {
    if (window.cache().gets().is_check_due()) [[unlikely]]
        check_hit(window, target, offset, {static_cast<const std::byte*>(served), size});
}

/// Says on standard error what was stale, once for each place in the program, and for a few places only.
void report_stale_hit(const Window& window, const StaleHit& stale) noexcept;

}  // namespace nearfetch
