// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `a[i, j]` names where that is a single element; all else is for the Python side.

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
    /// The number that an index of a dimension stands for. \throws OutOfBounds
    std::int64_t resolve(std::int64_t i, std::size_t dimension) const;
    /// \param room for as many numbers as there are dimensions
    /// \return these, or none: the key names something else. \throws OutOfBounds
    std::span<const std::int64_t> index_of(nanobind::handle key, std::array<std::int64_t, 4>& room) const;

  private:
    bool number_of(nanobind::handle word, std::size_t dimension, std::int64_t& number) const;

    std::vector<std::int64_t> lower_, upper_;
    bool from_zero_ = true;
};

}  // namespace nearfetch::python
