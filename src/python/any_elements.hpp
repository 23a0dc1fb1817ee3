// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of arrays and sparse matrices with run-time element size and dimensions. Elements are bytes
// here; the Python side knows their dtype.

#include <cstddef>
#include <cstdint>
#include <nearfetch/detail/array/prefetch.hpp>
#include <span>
#include <vector>

#include "python/rank_state.hpp"

namespace nearfetch::python {

/// One number per dimension; several indices are concatenated.
using Indices = std::span<const std::int64_t>;

struct AnyBox {
    std::vector<std::int64_t> lower, upper;
};

/// Row r belongs to rank r.
using AnyTable = std::vector<std::vector<AnyBox>>;

/// For the thread of its rank. Indices and boxes have one number per dimension.
class AnyElements : public Owned {
  public:
    virtual Rank owner(Indices i) const = 0;

    virtual void read(Indices i, void* to) const = 0;
    virtual void write(Indices i, const void* from) = 0;
    /// Elements of any order.
    virtual void read_many(Indices indices, std::span<std::byte> to) const = 0;
    /// Gathers each rank's bytes in rank order. Collective; the same size on all ranks.
    /// \param what name of the collective function
    virtual void gather(const char* what, std::span<const std::byte> own, std::byte* to) = 0;

    virtual PrefetchPattern prefetch_custom(const AnyTable& table, const Prefetch& how) = 0;
    virtual PrefetchPattern prefetch_all_to_all(const Prefetch& how) = 0;
    virtual void update_prefetch() = 0;
    virtual PrefetchTransfer update_prefetch_async() = 0;
    virtual void evict_prefetch() = 0;
    virtual void evict_prefetch(PrefetchPattern pattern) = 0;
    virtual bool is_prefetched(Indices i) const = 0;
};

}  // namespace nearfetch::python
