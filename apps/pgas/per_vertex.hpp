// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nearfetch/pgas.hpp>

namespace nearfetch::programs {

/// A block distribution of vertices over the ranks.
class VertexBlocks {
  public:
    explicit VertexBlocks(std::int64_t vertices)
        : vertices_(vertices), block_((vertices + ranks() - 1) / ranks()) {}

    std::int64_t vertices() const { return vertices_; }
    std::int64_t block() const { return block_; }
    Rank owner(std::int64_t v) const { return static_cast<Rank>(v / block_); }
    std::int64_t place(std::int64_t v) const { return v % block_; }
    /// The calling rank's vertices.
    std::int64_t begin() const { return std::min(rank() * block_, vertices_); }
    std::int64_t end() const { return std::min(begin() + block_, vertices_); }

  private:
    std::int64_t vertices_;
    std::int64_t block_;
};

/// An array with one element per vertex, at the vertex's owner.
template <class T>
class PerVertex {
  public:
    explicit PerVertex(const VertexBlocks& blocks)
        : blocks_(blocks), parts_(allocate<T>(static_cast<std::size_t>(blocks.block()))) {}

    GlobalPtr<T> at(std::int64_t v) const { return parts_.at_rank(blocks_.owner(v)) + blocks_.place(v); }
    GlobalRef<T> operator[](std::int64_t v) const { return *at(v); }

  private:
    VertexBlocks blocks_;
    GlobalPtr<T> parts_;
};

}  // namespace nearfetch::programs
