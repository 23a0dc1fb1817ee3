// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parses `a[i, j]` for single elements; the Python side handles other keys.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <nearfetch/detail/base/error.hpp>
#include <span>
#include <vector>

namespace nearfetch::python {

/// Becomes an IndexError in Python.
class OutOfBounds : public Error {
  public:
    using Error::Error;
};

class Keys {
  public:
    Keys(std::vector<std::int64_t> lower, std::vector<std::int64_t> upper);

    std::size_t dimensions() const noexcept { return lower_.size(); }
    /// Resolves an index of a dimension. \throws OutOfBounds
    std::int64_t resolve(std::int64_t i, std::size_t dimension) const;
    /// \param room space for one number per dimension
    /// \return the index; empty: the key is not a single index. \throws OutOfBounds
    std::span<const std::int64_t> index_of(nanobind::handle key, std::array<std::int64_t, 4>& room) const;

  private:
    bool number_of(nanobind::handle word, std::size_t dimension, std::int64_t& number) const;

    std::vector<std::int64_t> lower_, upper_;
    bool from_zero_ = true;
};

}  // namespace nearfetch::python
