// SPDX-License-Identifier: Apache-2.0
#include "python/adding.hpp"

#include <complex>
#include <cstdint>
#include <cstring>
#include <nearfetch/detail/base/error.hpp>
#include <string>

namespace nearfetch::python {

namespace {

template <class T>
void add(void* sum, const void* value) {
    T a, b;
    std::memcpy(&a, sum, sizeof(T));
    std::memcpy(&b, value, sizeof(T));
    a = static_cast<T>(a + b);
    std::memcpy(sum, &a, sizeof(T));
}

/// The unsigned integer types of these sizes.
template <class... T>
Add of_size(std::size_t bytes) {
    Add found = nullptr;
    (void)((sizeof(T) == bytes && (found = &add<T>, true)) || ...);
    return found;
}

}  // namespace

Add adding(char kind, std::size_t bytes) {
    Add found = nullptr;
    // Unsigned, because signed numbers wrap around too.
    if (kind == 'i' || kind == 'u')
        found = of_size<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(bytes);
    if (kind == 'f') found = of_size<float, double, long double>(bytes);
    if (kind == 'c') found = of_size<std::complex<float>, std::complex<double>>(bytes);
    if (kind == 'b') found = of_size<bool>(bytes);
    if (found == nullptr)
        throw Error("contributions to elements of kind '" + std::string(1, kind) + "', " +
                        std::to_string(bytes) + " bytes each",
                    "numbers are what is added: bool, whole, float32, float64, longdouble and complex ones",
                    "use such a dtype");
    return found;
}

}  // namespace nearfetch::python
