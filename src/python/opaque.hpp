// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of which C++ knows only the size.

#include <array>
#include <cstddef>
#include <cstring>
#include <nearfetch/detail/base/error.hpp>
#include <string>
#include <type_traits>

namespace nearfetch::python {

/// An element of so many bytes.
template <std::size_t Bytes>
struct Opaque {
    std::array<std::byte, Bytes> bytes;
};

/// With any alignment.
template <std::size_t Bytes>
Opaque<Bytes> value_at(const void* from) {
    Opaque<Bytes> value;
    std::memcpy(&value, from, Bytes);
    return value;
}

/// Whether arrays are compiled for elements of that size.
constexpr bool is_compiled_for(std::size_t bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/// Calls make(integral constant) for a run-time size. \throws Error for an unsupported size
template <class Make>
auto with_element_bytes(std::size_t bytes, const Make& make) {
    switch (bytes) {
        case 1:
            return make(std::integral_constant<std::size_t, 1>());
        case 2:
            return make(std::integral_constant<std::size_t, 2>());
        case 4:
            return make(std::integral_constant<std::size_t, 4>());
        case 8:
            return make(std::integral_constant<std::size_t, 8>());
        case 16:
            return make(std::integral_constant<std::size_t, 16>());
        default:
            throw Error("elements of " + std::to_string(bytes) + " bytes",
                        "there are matrices of 1, 2, 4, 8 and 16", "use a dtype of such a size");
    }
}

}  // namespace nearfetch::python
