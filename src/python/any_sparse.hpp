// SPDX-License-Identifier: Apache-2.0
#pragma once

// A sparse matrix with run-time element size.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nearfetch/sparse.hpp>
#include <span>

#include "python/any_elements.hpp"

namespace nearfetch::python {

/// Arguments of a matrix: this rank's rows, in compressed sparse rows.
struct SparsePlan {
    std::size_t element_bytes = 0;
    std::int64_t rows = 0, columns = 0;
    SparseRows<const std::byte> own;
};

class AnySparse : public AnyElements {
  public:
    virtual std::int64_t non_zeros() const = 0;
    virtual SparseRows<std::byte> local() = 0;
    virtual bool contains(Indices i) const = 0;
    virtual void add(Indices indices) = 0;
};

/// Collective. \throws Error for unsupported sizes, and as SparseMatrix
std::unique_ptr<AnySparse> make_any_sparse(const SparsePlan& plan);

}  // namespace nearfetch::python
