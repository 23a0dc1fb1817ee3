// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checked accesses to the segments of ranks.

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/job.hpp"

namespace nearfetch::pgas {

/// \param what the access, for the message
/// \throws Error unless the rank exists and one of its segments has the bytes
void check_access(Job& job, const char* what, Rank rank, std::uint64_t address, std::size_t bytes);

/// This rank's own bytes. \throws Error unless they are in one segment
std::byte* local(Job& job, std::uint64_t address, std::size_t bytes);

/// Names the bytes in messages.
std::string bytes_at(Rank rank, std::uint64_t address, std::size_t bytes);

}  // namespace nearfetch::pgas
