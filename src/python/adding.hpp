// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace nearfetch::python {

/// Adds elements of a run-time type, of any alignment.
using Add = void (*)(void* sum, const void* value);

/// Addition as numpy defines it for a dtype of this kind (dtype.kind). \throws Error if numpy or C++ has none
Add adding(char kind, std::size_t bytes);

}  // namespace nearfetch::python
