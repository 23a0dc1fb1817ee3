// SPDX-License-Identifier: Apache-2.0
#pragma once

// The setting check_hits: hits that are fetched again (rma/hit_validator.hpp), named by the calls that made
// them.

#include "mpi/window.hpp"
#include "rma/hit_validator.hpp"

namespace nearfetch {

/// Checks a hit that the program's call has just been given in one run of bytes.
void check_hit(Window& window, const RangeGet& get, Begun begun);
/// The same, if it belongs to the sample. \return whether it does
inline bool check_if_due(Window& window, const RangeGet& get, Begun begun = Begun::served) {
    if (!window.cache().gets().is_check_due()) [[likely]]
        return false;
    check_hit(window, get, begun);
    return true;
}

/// Says on standard error what was stale, once for each place in the program, and for a few places only.
void report_stale_hit(const Window& window, const StaleHit& stale) noexcept;

}  // namespace nearfetch
