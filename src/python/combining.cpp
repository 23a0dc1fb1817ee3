// SPDX-License-Identifier: Apache-2.0
#include "python/combining.hpp"

#include <complex>
#include <cstdint>
#include <nearfetch/detail/base/error.hpp>
#include <string>
#include <type_traits>

namespace nearfetch::python {

namespace {

struct Sum {
    template <class T>
    auto operator()(const T& a, const T& b) const {
        return a + b;
    }
};
struct Product {
    template <class T>
    auto operator()(const T& a, const T& b) const {
        // Narrow unsigned numbers would become signed ones, and these may not overflow.
        if constexpr (std::is_unsigned_v<T>)
            return static_cast<std::uint64_t>(a) * b;
        else
            return a * b;
    }
};
// As numpy's minimum and maximum: NaN if there is one.
struct Minimum {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return a != a || a < b ? a : b;
    }
};
struct Maximum {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return a != a || a > b ? a : b;
    }
};

/// The operation for the type of so many bytes; none if there is no such type.
template <class Op, class... T>
detail::Combining of_size(std::size_t bytes) {
    detail::Combining found;
    (void)((sizeof(T) == bytes && (found = detail::combining_of<T, Op>(), true)) || ...);
    return found;
}

/// \tparam Op a sum or product: the same for signed and unsigned numbers, because signed ones wrap around too
template <class Op>
detail::Combining arithmetic(char kind, std::size_t bytes) {
    switch (kind) {
        case 'i':
        case 'u':
            return of_size<Op, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(bytes);
        case 'f':
            return of_size<Op, float, double, long double>(bytes);
        case 'c':
            // The parts of a long double one are units of a wide array. Many are added part by part.
            if constexpr (std::is_same_v<Op, Sum>)
                if (bytes == 2 * sizeof(long double)) {
                    detail::Combining parts = detail::combining_of<long double, Op>();
                    parts.one = detail::combining_of<std::complex<long double>, Op>().one;
                    return parts;
                }
            return of_size<Op, std::complex<float>, std::complex<double>>(bytes);
        case 'b':
            return of_size<Op, bool>(bytes);
        default:
            return {};
    }
}

/// \tparam Op one that needs an order
template <class Op>
detail::Combining ordered(char kind, std::size_t bytes) {
    switch (kind) {
        case 'i':
            return of_size<Op, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(bytes);
        case 'u':
            return of_size<Op, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(bytes);
        case 'f':
            return of_size<Op, float, double, long double>(bytes);
        case 'b':
            return of_size<Op, bool>(bytes);
        default:
            return {};
    }
}

}  // namespace

detail::Combining combining(std::string_view op, char kind, std::size_t bytes) {
    detail::Combining found;
    if (op == "sum")
        found = arithmetic<Sum>(kind, bytes);
    else if (op == "prod")
        found = arithmetic<Product>(kind, bytes);
    else if (op == "min")
        found = ordered<Minimum>(kind, bytes);
    else if (op == "max")
        found = ordered<Maximum>(kind, bytes);
    else
        throw Error("op=\"" + std::string(op) + "\"", "elements are combined by sum, prod, min or max",
                    "use one of these");
    if (found.combine == nullptr)
        throw Error(std::string(op) + " of elements of kind '" + std::string(1, kind) + "', " +
                        std::to_string(bytes) + " bytes each",
                    "numbers are combined: bool, whole, float32, float64, longdouble and, without an order, "
                    "complex ones",
                    "use such a dtype");
    return found;
}

}  // namespace nearfetch::python
