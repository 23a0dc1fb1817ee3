// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers as people read them.

#include <cstdint>
#include <string>

namespace nearfetch {

/// "12,345"
std::string readable_count(std::uint64_t count);
/// "1.5 GiB"
std::string readable_bytes(std::uint64_t bytes);
/// "12 s", "3.1 s", "250 ms", "40 us"
std::string readable_time(double seconds);
/// "84 %"; "0.3 %"; never "0 %" or "100 %" where that is not exact
std::string readable_share(double part, double whole);

}  // namespace nearfetch
