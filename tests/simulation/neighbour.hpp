// SPDX-License-Identifier: Apache-2.0
#pragma once

// Another process of the node, which reads the same targets: what it has fetched may serve the process whose
// program runs. It synchronises with nobody.

#include <memory>
#include <vector>

#include "../rma/rig.hpp"
#include "cache/node_buffer/node_buffer.hpp"
#include "fault.hpp"
#include "range_program.hpp"

namespace nearfetch::simulation {

class Neighbour {
  public:
    using Memory = std::vector<std::vector<unsigned char>>;

    /// \pre settings.node_buffer_bytes is above 0
    Neighbour(const Settings& settings, Rank ranks, std::uint64_t memory_bytes);

    /// What both share.
    NodeBuffer buffer() noexcept { return NodeBuffer(lines_.front().bytes); }

    /// One of its own operations. \param memory of the targets, as it is now
    void execute(const RangeOp& op, const Memory& memory, Fault fault);

  private:
    void get(Rank target, ByteRange range);

    struct alignas(64) Line {
        std::byte bytes[64];
    };
    /// What it asked for last.
    struct Last {
        Rank target = 0;
        ByteRange range{};
        std::vector<std::byte> bytes;
    };

    ProcessState process_;
    std::vector<Line> lines_;
    testing::Rig rig_;
    std::vector<std::vector<std::byte>> origins_;  ///< of gets that are not complete
    Last last_;
};

}  // namespace nearfetch::simulation
