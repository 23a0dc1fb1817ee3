// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory of a window's node buffer: one for the window's processes of a node.
//
// It is in no file system. One process makes it (memfd_create), and the others open its descriptor by the
// system's files of that process, which only the same user may. So it is gone with the last process that has
// it mapped, whatever ended them; there is nothing that a dead job could leave, and no /dev/shm to be full.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/types.hpp"

namespace nearfetch {

/// What tells this process's node from others'. \param node_ranks the setting
std::uint64_t this_node(std::uint64_t node_ranks) noexcept;

class NodeSegment {
  public:
    /// Whether there is something to share: a node with several ranks, and another one.
    /// \param nodes of each rank, by this_node()
    static bool is_of_use(std::span<const std::uint64_t> nodes);
    /// Collective over `comm`. \param nodes of each of its ranks, by this_node()
    /// \param record_bytes as NodeBuffer has it; of the node's first one
    /// \return nullptr on all ranks of a node, if one of them cannot map it, or is alone there
    static std::unique_ptr<NodeSegment> make(MPI_Comm comm, std::span<const std::uint64_t> nodes,
                                             std::uint64_t record_bytes);
    ~NodeSegment();
    NodeSegment(const NodeSegment&) = delete;
    NodeSegment& operator=(const NodeSegment&) = delete;

    std::byte* data() const noexcept { return data_; }

  private:
    static std::unique_ptr<NodeSegment> make_in(MPI_Comm node, std::uint64_t record_bytes) noexcept;
    NodeSegment(std::byte* data, std::uint64_t bytes) noexcept : data_(data), bytes_(bytes) {}

    std::byte* data_;
    std::uint64_t bytes_;
};

}  // namespace nearfetch
