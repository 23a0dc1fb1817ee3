// SPDX-License-Identifier: Apache-2.0
#include "mpi/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/node_memory.hpp"

namespace nearfetch {

namespace {

/// The processes that the launcher has started on this node; 0 if it does not say.
int launched_here() noexcept {
    int ranks = 0;
    for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
        if (const char* const text = std::getenv(name))
            std::from_chars(text, text + std::strlen(text), ranks);
    return ranks;
}

}  // namespace

void MemoryLimit::configure(std::uint64_t memory_bytes) {
    is_given_ = memory_bytes != 0;
    node_bytes_ = node_memory_bytes();
    if (is_given_)
        budget_.set_limit(memory_bytes);
    else
        meet(std::max(launched_here(), 1));
}

void MemoryLimit::meet(int ranks_here) {
    if (is_given_ || ranks_here <= ranks_here_) return;
    ranks_here_ = ranks_here;
    budget_.set_limit(share_of_node(node_bytes_, ranks_here));
}

std::string MemoryLimit::origin() const {
    if (is_given_) return "memory_bytes";
    return "an eighth of what this node has for each of " + std::to_string(ranks_here_) +
           (ranks_here_ == 1 ? " process" : " processes");
}

}  // namespace nearfetch
