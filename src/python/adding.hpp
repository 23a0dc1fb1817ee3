// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace nearfetch::python {

/// Adds elements whose type is known at run time only; any alignment.
using Add = void (*)(void* sum, const void* value);

/// As numpy adds elements of a dtype of this kind (dtype.kind). \throws Error where it does not, or C++ not
Add adding(char kind, std::size_t bytes);

}  // namespace nearfetch::python
