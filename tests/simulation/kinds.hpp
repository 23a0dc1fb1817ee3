// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tables of kinds of operations that programs are made from.

#include <algorithm>
#include <cstdint>

namespace nearfetch::simulation {

template <class Kind>
struct KindInfo {
    Kind kind;
    std::uint64_t weight;  ///< how often it comes, before programs change that
    const char* name;
    bool writes = false;
};

/// \pre the table has that kind
template <class Table, class Kind>
const char* name_in(const Table& kinds, Kind kind) {
    return std::ranges::find(kinds, kind, &Table::value_type::kind)->name;
}

}  // namespace nearfetch::simulation
