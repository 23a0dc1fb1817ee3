// SPDX-License-Identifier: Apache-2.0
#pragma once

// A distributed array whose element size, dimensions and distribution are known at run time only. Elements
// are bytes here; what they mean (numpy's dtype) the Python side knows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nearfetch/array_observe.hpp>
#include <nearfetch/array_prefetch.hpp>
#include <span>
#include <vector>

#include "python/adding.hpp"
#include "python/rank_state.hpp"

namespace nearfetch::python {

using Indices = std::span<const std::int64_t>;

/// What an array is made from; one number per dimension.
struct Plan {
    std::size_t element_bytes = 0;
    std::vector<std::int64_t> lower, upper;
    std::vector<Rank> grid;           ///< empty: the balanced one
    std::vector<std::int64_t> block;  ///< empty: 1 each
};

struct AnyBox {
    std::vector<std::int64_t> lower, upper;
};

enum class Pattern : std::uint8_t { stencil, row_wise, column_wise, transpose, all_to_all };

/// For the thread of its rank. Indices and boxes have as many numbers as the array has dimensions.
class AnyArray : public Owned {
  public:
    virtual std::size_t element_bytes() const noexcept = 0;
    virtual std::vector<std::int64_t> lower() const = 0;
    virtual std::vector<std::int64_t> upper() const = 0;
    virtual std::vector<Rank> grid() const = 0;
    virtual Rank owner(Indices i) const = 0;
    /// Of what this rank owns: its shape, its elements, and which indices it has of a dimension, as ranges.
    virtual std::vector<std::int64_t> local_shape() const = 0;
    virtual std::span<std::byte> local() const = 0;
    virtual detail::IndexRanges local_indices(std::size_t dimension) const = 0;

    virtual void read(Indices i, void* to) const = 0;
    virtual void write(Indices i, const void* from) = 0;
    /// Elements one by one. \param indices of all of them, one after the other
    virtual void read_many(Indices indices, std::span<std::byte> to) const = 0;
    /// Boxes, packed.
    virtual void get(const AnyBox& box, std::span<std::byte> to) const = 0;
    virtual void put(const AnyBox& box, std::span<const std::byte> from) = 0;
    virtual void fill(const void* value) = 0;
    /// \throws Error when the other one has another shape or element size
    virtual void assign(const AnyArray& from) = 0;
    /// What each rank says, in the order of the ranks. Collective; as many bytes on all of them.
    virtual void gather(std::span<const std::byte> own, std::byte* to) = 0;
    /// Other bounds, and another grid unless that is empty. \throws Error as DistributedArray does
    virtual void resize(const Plan& plan) = 0;
    /// Adds to own and prefetched elements, or to nothing. \throws Error if one of them is neither
    virtual void contribute(Indices indices, std::span<const std::byte> values, Add add) = 0;
    virtual void accumulate_ghosts(Add add) = 0;

    virtual void prefetch(Pattern pattern, std::int64_t depth, bool corners, const Prefetch& how) = 0;
    virtual void prefetch_custom(const std::vector<std::vector<AnyBox>>& table, const Prefetch& how) = 0;
    virtual void observe(std::uint64_t most_bytes) = 0;
    virtual Observation observed() const = 0;
    virtual Observation prefetch_observed(const Prefetch& how) = 0;
    virtual void update_prefetch() = 0;
    virtual PrefetchTransfer update_prefetch_async() = 0;
    virtual PrefetchTransfer prefetch_stencil_async(std::int64_t depth, bool corners,
                                                    const Prefetch& how) = 0;
    virtual void evict_prefetch() = 0;
    virtual bool is_prefetched(Indices i) const = 0;
};

enum class Dealt : std::uint8_t { block, cyclic, block_cyclic };

/// Collective. \throws Error for sizes and dimensions that there are none of, and what DistributedArray
/// throws
std::unique_ptr<AnyArray> make_any_array(Dealt how, const Plan& plan);

}  // namespace nearfetch::python
