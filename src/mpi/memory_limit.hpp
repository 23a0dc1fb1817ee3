// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/memory_budget.hpp"

namespace nearfetch {

/// How much the caches of this process may take: what the setting says, or a part of the node's memory. How
/// many processes share the node is known from the launcher, or from the windows they have made together; so
/// the limit may fall later.
class MemoryLimit {
  public:
    explicit MemoryLimit(MemoryBudget& budget) noexcept : budget_(budget) {}

    /// \param memory_bytes the setting; 0: a part of the node's memory
    void configure(std::uint64_t memory_bytes);
    /// So many processes of this node have made a window together.
    void meet(int ranks_here);

    std::uint64_t bytes() const noexcept { return budget_.limit(); }
    std::uint64_t most_taken_bytes() const noexcept { return budget_.most_taken(); }
    /// Where the limit comes from.
    std::string origin() const;

  private:
    MemoryBudget& budget_;
    bool is_given_ = false;
    std::uint64_t node_bytes_ = 0;
    int ranks_here_ = 0;
};

}  // namespace nearfetch
