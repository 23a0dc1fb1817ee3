// SPDX-License-Identifier: Apache-2.0
#include "pgas/segment.hpp"

#include "base/error.hpp"
#include "base/types.hpp"

namespace nearfetch::pgas {

void check_access(Job& job, const char* what, Rank rank, std::uint64_t address, std::size_t bytes) {
    if (rank < 0 || rank >= job.ranks())
        throw Error(std::string(what) + ": rank " + std::to_string(rank),
                    "the program has the ranks 0 to " + std::to_string(job.ranks() - 1), "use one of them");
    const ByteRange segment{0, job.segment().size()};
    if (!segment.contains(address, bytes))
        throw Error(std::string(what) + ": " + bytes_at(rank, address, bytes),
                    "its segment has " + std::to_string(segment.size()) + " bytes",
                    "allocate() what is accessed, or raise LaunchOptions::segment_bytes");
}

std::byte* local(Job& job, std::uint64_t address, std::size_t bytes) {
    check_access(job, "local access", job.rank(), address, bytes);
    return job.segment().data() + address;
}

std::string bytes_at(Rank rank, std::uint64_t address, std::size_t bytes) {
    return std::to_string(bytes) + " bytes at address " + std::to_string(address) + " of rank " +
           std::to_string(rank);
}

}  // namespace nearfetch::pgas
