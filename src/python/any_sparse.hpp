// SPDX-License-Identifier: Apache-2.0
#pragma once

// A sparse matrix whose element size is known at run time only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nearfetch/array_prefetch.hpp>
#include <nearfetch/sparse.hpp>
#include <span>
#include <vector>

#include "python/rank_state.hpp"

namespace nearfetch::python {

/// What a matrix is made from; the rows are this rank's, in compressed sparse rows.
struct SparsePlan {
    std::size_t element_bytes = 0;
    std::int64_t rows = 0, columns = 0;
    SparseRows<const std::byte> own;
};

/// For the thread of its rank. Many indices stand one after the other, two numbers each.
class AnySparse : public Owned {
  public:
    using Table = std::vector<std::vector<Box<2>>>;

    virtual std::int64_t non_zeros() const = 0;
    virtual Rank owner(const Index<2>& i) const = 0;
    virtual SparseRows<std::byte> local() = 0;

    virtual void read(const Index<2>& i, void* to) const = 0;
    virtual void write(const Index<2>& i, const void* from) = 0;
    virtual bool contains(const Index<2>& i) const = 0;
    virtual void read_many(std::span<const std::int64_t> indices, std::span<std::byte> to) const = 0;
    virtual void add(std::span<const std::int64_t> indices) = 0;
    virtual void gather(std::span<const std::byte> own, std::byte* to) = 0;

    virtual void prefetch_custom(const Table& table, const Prefetch& how) = 0;
    virtual void prefetch_all_to_all(const Prefetch& how) = 0;
    virtual void update_prefetch() = 0;
    virtual PrefetchTransfer update_prefetch_async() = 0;
    virtual void evict_prefetch() = 0;
    virtual bool is_prefetched(const Index<2>& i) const = 0;
};

/// Collective. \throws Error for sizes that there are none of, and what SparseMatrix throws
std::unique_ptr<AnySparse> make_any_sparse(const SparsePlan& plan);

}  // namespace nearfetch::python
