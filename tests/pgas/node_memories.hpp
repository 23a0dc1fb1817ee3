// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <vector>

#include "pgas/node_sharing.hpp"

namespace nearfetch {

/// Memory for nodes of so many ranks each, in one process.
class NodeMemories {
  public:
    /// \throws std::bad_alloc
    NodeMemories(Rank ranks, Rank ranks_of_a_node, const pgas::NodeSharing::Sizes& sizes)
        : bytes_(pgas::NodeSharing::memory_bytes(sizes)) {
        for (Rank first = 0; first < ranks; first += ranks_of_a_node) {
            const int descriptor = memfd_create("node", MFD_CLOEXEC);
            if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes_)) != 0)
                throw std::bad_alloc();
            void* const data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
            if (data == MAP_FAILED) throw std::bad_alloc();
            nodes_.push_back({static_cast<std::byte*>(data), descriptor, {}});
            if (!pgas::NodeSharing::create({nodes_.back().data, bytes_}, sizes)) throw std::bad_alloc();
            for (Rank rank = 0; rank < ranks; ++rank)
                nodes_.back().is_here.push_back(rank / ranks_of_a_node == first / ranks_of_a_node);
        }
    }
    ~NodeMemories() {
        for (const NodeMemory& node : nodes_) {
            munmap(node.data, bytes_);
            close(node.descriptor);
        }
    }
    NodeMemories(const NodeMemories&) = delete;
    NodeMemories& operator=(const NodeMemories&) = delete;

    const NodeMemory& of_node(std::size_t node) const { return nodes_.at(node); }
    const NodeMemory& of_rank(Rank rank) const {
        for (const NodeMemory& node : nodes_)
            if (node.is_here[static_cast<std::size_t>(rank)]) return node;
        throw std::bad_alloc();
    }

  private:
    std::uint64_t bytes_;
    std::vector<NodeMemory> nodes_;
};

}  // namespace nearfetch
