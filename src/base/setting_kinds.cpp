// SPDX-License-Identifier: Apache-2.0
#include "base/setting_kinds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace nearfetch {

namespace {

constexpr std::uint64_t most_bytes = 1ull << 46;
constexpr std::string_view mode_names[] = {"off", "transparent", "acquire", "always-cache", "user-defined"};
constexpr std::string_view bypass_names[] = {"off", "on", "sampling", "always", "passthrough"};

std::string number(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::string_view units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes) + std::string(units[unit]);
}

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string joined(std::span<const std::string_view> names) {
    std::string all;
    for (const std::string_view name : names)
        all += (all.empty() ? "" : " ") + std::string(name);
    return all;
}

template <class T>
std::optional<T> parse_number(std::string_view text) noexcept {
    T value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool fits(const BytesKind& kind, std::uint64_t value) {
    if (kind.power_of_two_to != 0 && !std::has_single_bit(value)) return false;
    return value >= kind.least && value <= (kind.power_of_two_to != 0 ? kind.power_of_two_to : most_bytes);
}

std::optional<bool> parse_switch(std::string_view text) {
    if (is_choice("on true yes 1", text)) return true;
    if (is_choice("off false no 0", text)) return false;
    return std::nullopt;
}

/// Stores the number of `text` among the names. \return false if it is none of them
template <class Enum>
bool store_name(std::span<const std::string_view> names, std::string_view text, Enum& value) {
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return false;
    value = static_cast<Enum>(found - names.begin());
    return true;
}

}  // namespace

std::string_view mode_name(Mode mode) noexcept { return mode_names[static_cast<std::size_t>(mode)]; }

bool is_choice(std::string_view choices, std::string_view text) {
    if (text.empty() || text.find(' ') != std::string_view::npos) return false;
    const std::string padded = " " + std::string(choices) + " ";
    return padded.find(" " + std::string(text) + " ") != std::string::npos;
}

std::string allowed_text(const SettingKind& kind) {
    return std::visit(
        Overloaded{
            [](const BytesKind& k) {
                if (k.power_of_two_to != 0)
                    return "a power of two from " + bytes_text(k.least) + " to " +
                           bytes_text(k.power_of_two_to);
                return "a size from " + bytes_text(k.least) + " to " + bytes_text(most_bytes) +
                       " in B, KiB, MiB, GiB, TiB, KB, MB or GB, for example 4MiB";
            },
            []<class T>(const CountKind<T>& k) {
                return "a whole number from " + std::to_string(k.least) + " to " + std::to_string(k.most);
            },
            [](const RatioKind& k) { return "a number from " + number(k.least) + " to " + number(k.most); },
            [](const SwitchKind&) { return std::string("on off"); },
            [](const ModeKind&) { return joined(mode_names); },
            [](const BypassKind&) { return joined(bypass_names); },
            [](const ChoiceKind& k) { return std::string(k.choices); },
            [](const TextKind& k) { return std::string(k.allowed); },
        },
        kind);
}

std::string value_text(const SettingKind& kind, const Settings& s) {
    return std::visit(
        Overloaded{
            [&](const BytesKind& k) { return bytes_text(k.member(s)); },
            [&]<class T>(const CountKind<T>& k) { return std::to_string(k.member(s)); },
            [&](const RatioKind& k) { return number(k.member(s)); },
            [&](const SwitchKind& k) { return std::string(k.member(s) ? "on" : "off"); },
            [&](const ModeKind&) { return std::string(mode_name(s.mode)); },
            [&](const BypassKind&) { return std::string(bypass_names[static_cast<std::size_t>(s.bypass)]); },
            [&](const ChoiceKind& k) { return k.member(s); },
            [&](const TextKind& k) { return k.member(s); },
        },
        kind);
}

bool store_setting(const SettingKind& kind, Settings& s, std::string_view text) {
    return std::visit(Overloaded{
                          [&](const BytesKind& k) {
                              const auto value = parse_bytes(text);
                              if (!value || !fits(k, *value)) return false;
                              k.member(s) = *value;
                              return true;
                          },
                          [&]<class T>(const CountKind<T>& k) {
                              const auto value = parse_number<std::uint64_t>(text);
                              if (!value || *value < k.least || *value > k.most) return false;
                              k.member(s) = static_cast<T>(*value);
                              return true;
                          },
                          [&](const RatioKind& k) {
                              const auto value = parse_number<double>(text);
                              if (!value || !(*value >= k.least && *value <= k.most)) return false;
                              k.member(s) = *value;
                              return true;
                          },
                          [&](const SwitchKind& k) {
                              const auto on = parse_switch(text);
                              if (on) k.member(s) = *on;
                              return on.has_value();
                          },
                          [&](const ModeKind&) { return store_name(mode_names, text, s.mode); },
                          [&](const BypassKind&) {
                              const auto on = parse_switch(text);
                              if (on) s.bypass = *on ? Bypass::on : Bypass::off;
                              return on || store_name(bypass_names, text, s.bypass);
                          },
                          [&](const ChoiceKind& k) {
                              if (!is_choice(k.choices, text)) return false;
                              k.member(s) = std::string(text);
                              return true;
                          },
                          [&](const TextKind& k) {
                              k.member(s) = std::string(text);
                              return true;
                          },
                      },
                      kind);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, value);
    if (failed != std::errc{}) return std::nullopt;
    std::string_view unit(end, static_cast<std::size_t>(last - end));
    while (!unit.empty() && unit.front() == ' ')
        unit.remove_prefix(1);
    constexpr std::pair<std::string_view, std::uint64_t> units[] = {
        {"", 1},           {"B", 1},           {"KB", 1000},        {"KiB", 1ull << 10}, {"MB", 1000000},
        {"MiB", 1 << 20},  {"GB", 1000000000}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}, {"K", 1ull << 10},
        {"M", 1ull << 20}, {"G", 1ull << 30}};
    for (const auto& [name, factor] : units)
        if (unit == name) {
            if (value > std::numeric_limits<std::uint64_t>::max() / factor) return std::nullopt;
            return value * factor;
        }
    return std::nullopt;
}

}  // namespace nearfetch
