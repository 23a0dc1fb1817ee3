// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace nearfetch::python {

void define_arrays(nanobind::module_& module);
void define_sparse(nanobind::module_& module);

}  // namespace nearfetch::python
