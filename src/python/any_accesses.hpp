// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the elements of an array with run-time element size are read, written and updated.

#include <cstddef>
#include <cstdint>
#include <nearfetch/detail/array/combining.hpp>
#include <span>
#include <vector>

#include "python/any_elements.hpp"

namespace nearfetch::python {

/// Which elements: those of single indices, else of a box, at regular distances if there are steps.
struct Places {
    AnyBox box;
    std::vector<std::int64_t> steps;
    Indices indices;
};

class AnyAccesses : public AnyElements {
  public:
    // Packed elements. \throws Error as DistributedArray
    virtual void get(const Places& places, std::span<std::byte> to) const = 0;
    virtual void put(const Places& places, std::span<const std::byte> from) = 0;
    virtual void get_from_owners(const AnyBox& box, std::span<std::byte> to) const = 0;

    virtual void combine(Indices indices, std::span<const std::byte> values,
                         const detail::Combining& combining) = 0;
    /// Runs `code` at an element's owner, as ScatteredAccess::update(). \param before where the old value
    /// goes; it has the size of an element
    virtual void update(Indices i, detail::Code code, std::span<const std::byte> values,
                        std::span<std::byte> before) = 0;

    /// Adds to own and prefetched elements, or to none. \throws Error if an element is neither
    virtual void contribute(Indices indices, std::span<const std::byte> values,
                            const detail::Combining& sum) = 0;
    virtual void accumulate_ghosts(const detail::Combining& sum) = 0;
};

}  // namespace nearfetch::python
