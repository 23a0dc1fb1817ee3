// SPDX-License-Identifier: Apache-2.0
#pragma once

// What values settings may have: of each kind its text, what is allowed, and how a text is stored.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/settings.hpp"

namespace nearfetch {

/// Where a value is stored: in Settings or in its page cache configuration.
template <class T>
class SettingField {
  public:
    constexpr SettingField(T Settings::* member) : member_(member) {}
    constexpr SettingField(T PageCacheConfig::* member) : of_page_cache_(member) {}
    template <class MaybeConst>
    auto& operator()(MaybeConst& s) const {
        return member_ != nullptr ? s.*member_ : s.page_cache.*of_page_cache_;
    }

  private:
    T Settings::* member_ = nullptr;
    T PageCacheConfig::* of_page_cache_ = nullptr;
};

struct BytesKind {
    SettingField<std::uint64_t> member;
    std::uint64_t least;
    std::uint64_t power_of_two_to = 0;  ///< limit, if the value is a power of two in place of a size
};
template <class T>
struct CountKind {
    SettingField<T> member;
    std::uint64_t least;
    std::uint64_t most;
};
template <class T, class Struct>
CountKind(T Struct::*, std::uint64_t, std::uint64_t) -> CountKind<T>;
struct RatioKind {
    SettingField<double> member;
    double least;
    double most;
};
struct SwitchKind {
    SettingField<bool> member;
};
struct ModeKind {};
struct BypassKind {};
struct ChoiceKind {
    SettingField<std::string> member;
    std::string_view choices;  ///< separated by blanks
};
struct TextKind {
    SettingField<std::string> member;
    std::string_view allowed;
};
using SettingKind = std::variant<BytesKind, CountKind<std::uint64_t>, CountKind<std::uint32_t>, RatioKind,
                                 SwitchKind, ModeKind, BypassKind, ChoiceKind, TextKind>;

std::string allowed_text(const SettingKind& kind);
std::string value_text(const SettingKind& kind, const Settings& s);
/// Stores a value of this kind. \return false if `text` is not one
bool store_setting(const SettingKind& kind, Settings& s, std::string_view text);
/// Whether it is one of these, which blanks separate.
bool is_choice(std::string_view choices, std::string_view text);

}  // namespace nearfetch
