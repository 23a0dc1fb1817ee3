// SPDX-License-Identifier: Apache-2.0
#include "pgas/segment.hpp"

#include <span>

#include "base/error.hpp"

namespace nearfetch::pgas {

void check_access(Job& job, const char* what, Rank rank, std::uint64_t address, std::size_t bytes) {
    if (rank < 0 || rank >= job.ranks())
        throw Error(std::string(what) + ": rank " + std::to_string(rank),
                    "the program has the ranks 0 to " + std::to_string(job.ranks() - 1), "use one of them");
    if (job.segment(address).size() < bytes)
        throw Error(std::string(what) + ": " + bytes_at(rank, address, bytes),
                    "not all of them are in one segment of its memory", "allocate() what is accessed");
}

std::byte* local(Job& job, std::uint64_t address, std::size_t bytes) {
    const std::span<std::byte> there = job.segment(address);
    if (there.size() < bytes) check_access(job, "local access", job.rank(), address, bytes);
    return there.data();
}

std::string bytes_at(Rank rank, std::uint64_t address, std::size_t bytes) {
    return std::to_string(bytes) + " bytes at address " + std::to_string(address) + " of rank " +
           std::to_string(rank);
}

}  // namespace nearfetch::pgas
