// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>

namespace nearfetch::apps {

/// Accepts 0 to 2^64 - 1 in digits. CLI11 alone would take -1 for 2^64 - 1.
inline CLI::Validator whole_number() {
    const auto check = [](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, status] = std::from_chars(text.data(), end, value);
        return status == std::errc{} && stop == end ? "" : "'" + text + "' is not a whole number from 0 on";
    };
    return CLI::Validator(check, "", "whole_number");
}

/// Accepts numbers from `low` to `high`. CLI11's own range lets "nan" pass.
inline CLI::Validator number_within(double low, double high) {
    const auto check = [low, high](std::string& text) -> std::string {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, status] = std::from_chars(text.data(), end, value);
        if (status == std::errc{} && stop == end && value >= low && value <= high) return "";
        std::ostringstream message;
        message << "'" << text << "' is not a number from " << low << " to " << high;
        return message.str();
    };
    return CLI::Validator(check, "", "number_within");
}

/// An option that takes a whole number of a range; without it the number stays as it is.
template <std::integral T>
void add_number(CLI::App& app, const std::string& name, T& value, std::type_identity_t<T> least,
                std::type_identity_t<T> most, const std::string& meaning) {
    app.add_option(name, value, meaning)->check(CLI::Range(least, most))->capture_default_str();
}

}  // namespace nearfetch::apps
