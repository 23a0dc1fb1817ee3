// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <nearfetch/error.hpp>

#include "python/any_array.hpp"

namespace nearfetch::python {

/// Becomes an IndexError in Python.
class OutOfBounds : public Error {
  public:
    using Error::Error;
};

void define_arrays(nanobind::module_& module);
void define_sparse(nanobind::module_& module);

}  // namespace nearfetch::python
