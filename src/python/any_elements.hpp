// SPDX-License-Identifier: Apache-2.0
#pragma once

// What arrays and sparse matrices have in common whose element size and dimensions are known at run time
// only. Elements are bytes here; what they mean (numpy's dtype) the Python side knows.

#include <cstddef>
#include <cstdint>
#include <nearfetch/detail/array/prefetch.hpp>
#include <span>
#include <vector>

#include "python/rank_state.hpp"

namespace nearfetch::python {

/// One number per dimension; of several indices, one after the other.
using Indices = std::span<const std::int64_t>;

struct AnyBox {
    std::vector<std::int64_t> lower, upper;
};

/// Row r is about rank r.
using AnyTable = std::vector<std::vector<AnyBox>>;

/// For the thread of its rank. Indices and boxes have as many numbers as there are dimensions.
class AnyElements : public Owned {
  public:
    virtual Rank owner(Indices i) const = 0;

    virtual void read(Indices i, void* to) const = 0;
    virtual void write(Indices i, const void* from) = 0;
    /// Elements one by one.
    virtual void read_many(Indices indices, std::span<std::byte> to) const = 0;
    /// What each rank says, in the order of the ranks. Collective; as many bytes on all of them.
    /// \param what the function that it is for
    virtual void gather(const char* what, std::span<const std::byte> own, std::byte* to) = 0;

    virtual void prefetch_custom(const AnyTable& table, const Prefetch& how) = 0;
    virtual void prefetch_all_to_all(const Prefetch& how) = 0;
    virtual void update_prefetch() = 0;
    virtual PrefetchTransfer update_prefetch_async() = 0;
    virtual void evict_prefetch() = 0;
    virtual bool is_prefetched(Indices i) const = 0;
};

}  // namespace nearfetch::python
