// SPDX-License-Identifier: Apache-2.0
#include "report/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace nearfetch {

namespace {

std::string with_digits(double value, int digits) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

/// With two figures where it is small.
std::string figures(double value) { return with_digits(value, value < 9.95 ? 1 : 0); }

}  // namespace

std::string readable_count(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3; at -= 3)
        text.insert(at - 3, ",");
    return text;
}

std::string readable_bytes(std::uint64_t bytes) {
    if (bytes < 1024) return std::to_string(bytes) + " B";
    auto value = static_cast<double>(bytes) / 1024;
    const char* unit = "KMGT";
    for (; value >= 1024 && unit[1] != '\0'; ++unit)
        value /= 1024;
    return with_digits(value, 1) + " " + *unit + "iB";
}

std::string readable_time(double seconds) {
    const double size = std::abs(seconds);
    if (size == 0) return "0 s";
    if (size >= 1) return (seconds < 0 ? "-" : "") + figures(size) + " s";
    if (size >= 1e-3) return (seconds < 0 ? "-" : "") + figures(size * 1e3) + " ms";
    return (seconds < 0 ? "-" : "") + figures(size * 1e6) + " us";
}

std::string readable_share(double part, double whole) {
    if (whole <= 0 || part <= 0) return "0 %";
    const double percent = 100 * part / whole;
    if (percent < 0.1) return "less than 0.1 %";
    if (percent < 9.95) return with_digits(percent, 1) + " %";
    if (part < whole && percent > 99)
        return with_digits(std::min(std::floor(percent * 10) / 10, 99.9), 1) + " %";
    return with_digits(percent, 0) + " %";
}

}  // namespace nearfetch
