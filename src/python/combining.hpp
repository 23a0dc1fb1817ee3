// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nearfetch/detail/array/combining.hpp>
#include <string_view>

namespace nearfetch::python {

/// An operation as numpy defines it for a dtype of this kind (dtype.kind).
/// \param op sum, prod, min or max \throws Error for another one, and if numpy or C++ has none
detail::Combining combining(std::string_view op, char kind, std::size_t bytes);

}  // namespace nearfetch::python
