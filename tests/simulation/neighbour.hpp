// SPDX-License-Identifier: Apache-2.0
#pragma once

// Another process of the node, which reads the same targets: what it has fetched may serve the process whose
// program runs. It synchronises with nobody.

#include <vector>

#include "../rma/rig.hpp"
#include "fault.hpp"
#include "range_program.hpp"
#include "replay/own_node_buffer.hpp"

namespace nearfetch::simulation {

class Neighbour {
  public:
    using Memory = std::vector<std::vector<unsigned char>>;

    /// \pre settings.node_buffer_bytes is above 0
    Neighbour(const Settings& settings, Rank ranks, std::uint64_t memory_bytes);

    /// What both share.
    NodeBuffer buffer() noexcept { return shared_.buffer(); }

    /// One of its own operations. \param memory of the targets, as it is now
    void execute(const RangeOp& op, const Memory& memory, Fault fault);

  private:
    void get(Rank target, ByteRange range);

    /// What it asked for last.
    struct Last {
        Rank target = 0;
        ByteRange range{};
        std::vector<std::byte> bytes;
    };

    ProcessState process_;
    OwnNodeBuffer shared_;
    testing::Rig rig_;
    std::vector<std::vector<std::byte>> origins_;  ///< of gets that are not complete
    Last last_;
};

}  // namespace nearfetch::simulation
