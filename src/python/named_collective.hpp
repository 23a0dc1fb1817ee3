// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace nearfetch::python {

/// Defines the class by which functions written in Python are collective, with a name and arguments.
void define_collective(nanobind::module_& module);

}  // namespace nearfetch::python
