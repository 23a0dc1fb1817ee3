// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages name what a program can call. So what they name depends on the program's language.

#include <cstdint>

namespace nearfetch {

enum class Language : std::uint8_t { cpp, python };

namespace detail {
inline Language language = Language::cpp;
}  // namespace detail

/// Sets the language of this library's messages. For the start, before there are threads.
inline void set_language(Language language) noexcept { detail::language = language; }

/// The same words for programs in each language.
struct Words {
    const char* cpp;
    const char* python;
};
inline const char* in_words(const Words& words) noexcept {
    return detail::language == Language::python ? words.python : words.cpp;
}

}  // namespace nearfetch
