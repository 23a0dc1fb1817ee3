// SPDX-License-Identifier: Apache-2.0
#pragma once

// A distributed array with run-time element size, dimensions and distribution.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nearfetch/detail/array/observe.hpp>
#include <span>
#include <vector>

#include "python/any_accesses.hpp"
#include "python/any_gather.hpp"

namespace nearfetch::python {

/// Arguments of an array; one number per dimension.
struct Plan {
    std::size_t element_bytes = 0;
    AnyBox bounds;
    std::vector<Rank> grid;           ///< empty: a balanced grid
    std::vector<std::int64_t> block;  ///< empty: 1 each
    HaloRoom halo = {};
};

/// What a gather has.
enum class Items : bool { elements, rows };

enum class Pattern : std::uint8_t { stencil, row_wise, column_wise, transpose };

class AnyArray : public AnyAccesses {
  public:
    virtual std::vector<Rank> grid() const = 0;
    /// How many indices a rank owns in each dimension.
    virtual std::vector<std::int64_t> local_shape(Rank rank) const = 0;
    /// Of this rank: the elements, and the index ranges of a dimension.
    virtual std::span<std::byte> local() const = 0;
    /// The elements with a halo around them, in place. \throws Error as DistributedArray
    virtual std::span<std::byte> with_halo(std::int64_t depth, bool periodic) = 0;
    virtual detail::IndexRanges local_indices(std::size_t dimension) const = 0;

    virtual void fill(const void* value) = 0;
    /// \param axes order of the dimensions here, as in DistributedArray
    /// \throws Error for another shape or element size, and for invalid axes
    virtual void assign(const AnyArray& from, std::span<const std::size_t> axes) = 0;
    /// Changes bounds, and the grid unless empty. \throws Error as DistributedArray
    virtual void resize(const Plan& plan) = 0;

    /// \param stencil for the pattern of that name
    PrefetchPattern prefetch(Pattern pattern, const Stencil& stencil, const Prefetch& how);
    virtual PrefetchPattern prefetch_stencil(const Stencil& stencil, const Prefetch& how) = 0;
    /// What differs from own elements in one index only.
    virtual PrefetchPattern prefetch_lines(std::size_t dimension, const Prefetch& how) = 0;
    /// Own elements with their first two indices exchanged. \pre there are two
    virtual PrefetchPattern prefetch_transposed(const Prefetch& how) = 0;
    virtual void observe(std::uint64_t most_bytes) = 0;
    virtual Observation observed() const = 0;
    virtual Observation prefetch_observed(const Prefetch& how) = 0;
    virtual PrefetchTransfer prefetch_stencil_async(const Stencil& stencil, const Prefetch& how) = 0;
    /// The array outlives it. Indices of rows are without the last number. \throws Error as Gather
    virtual std::unique_ptr<AnyGather> make_gather(Indices indices, Items items = Items::elements) const = 0;
};

enum class DistributionKind : std::uint8_t { block, cyclic, block_cyclic };

/// Collective. \throws Error for unsupported sizes and dimensions, and as DistributedArray
std::unique_ptr<AnyArray> make_any_array(DistributionKind kind, const Plan& plan);

}  // namespace nearfetch::python
