// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that processes of a node share, as the buffer of what they have fetched.
//
// It is in no file system. One process makes it (memfd_create), and the others open its descriptor by the
// system's files of that process, which only the same user may. So it is gone with the last process that has
// it mapped, whatever ended them; there is nothing that a dead job could leave, and no /dev/shm to be full.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace nearfetch {

/// What tells this process's node from others'. \param node_ranks the setting
std::uint64_t this_node(std::uint64_t node_ranks) noexcept;

class NodeSegment {
  public:
    /// Whether there is something to share: a node with several ranks, and another one.
    /// \param nodes of each rank, by this_node()
    static bool is_of_use(std::span<const std::uint64_t> nodes);
    /// Writes to new memory what all find there; false: there is to be none.
    using Prepare = std::function<bool(std::span<std::byte> memory)>;
    /// Collective over `comm`. \param nodes of each of its ranks, by this_node() \param bytes, prepare of the
    /// node's first rank \pre `prepare` throws nothing
    /// \return nullptr on all ranks of a node, if one of them cannot map it, or is alone there
    static std::unique_ptr<NodeSegment> make(MPI_Comm comm, std::span<const std::uint64_t> nodes,
                                             std::uint64_t bytes, const Prepare& prepare);
    ~NodeSegment();
    NodeSegment(const NodeSegment&) = delete;
    NodeSegment& operator=(const NodeSegment&) = delete;

    std::byte* data() const noexcept { return data_; }
    /// Of the file that the memory is; until close_file().
    int descriptor() const noexcept { return descriptor_; }
    /// The memory stays mapped.
    void close_file() noexcept;

  private:
    static std::unique_ptr<NodeSegment> make_in(MPI_Comm node, std::uint64_t bytes,
                                                const Prepare& prepare) noexcept;
    NodeSegment(std::byte* data, std::uint64_t bytes, int descriptor) noexcept
        : data_(data), bytes_(bytes), descriptor_(descriptor) {}

    std::byte* data_;
    std::uint64_t bytes_;
    int descriptor_;
};

}  // namespace nearfetch
