// SPDX-License-Identifier: Apache-2.0
#pragma once

// What random programs do on purpose because a cache may get it wrong: moves. They are counted, so that it
// is seen that each occurs, and each can be left out.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace random_programs {

enum class Move : std::uint8_t {
    none,
    typed,    ///< an Rget into a derived type: its bytes are looked at after a flush only
    reuse,    ///< the buffer of an access that is over is the next one's
    look,     ///< at the bytes of a get when it returns, where the library delivers at once
    change,   ///< of these bytes, before the get is complete
    poll,     ///< that brings other bytes than the look before: an acquire
    sizes,    ///< gets of one displacement with different sizes, one after the other
    blocks,   ///< a type with hundreds of blocks
    made,     ///< a window, in the middle of the program
    overlap,  ///< a window over the memory of another one
    state,    ///< the setting `bypass` of a window changes
    moves
};
constexpr std::size_t moves = static_cast<std::size_t>(Move::moves);
constexpr const char* move_names[] = {"",      "typed",  "reuse", "look",    "change", "poll",
                                      "sizes", "blocks", "made",  "overlap", "state"};
static_assert(std::size(move_names) == moves);

constexpr std::size_t index(Move move) { return static_cast<std::size_t>(move); }

/// How often each move was made.
using MoveCounts = std::array<std::uint64_t, moves>;
/// Moves that programs do not make.
using MovesOut = std::bitset<moves>;

/// \param names separated by commas \return whether all are known
inline bool read_moves(std::string_view names, MovesOut& out) {
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
        const auto* const found = std::find(std::begin(move_names), std::end(move_names), name);
        if (name.empty() || found == std::end(move_names)) return false;
        out.set(static_cast<std::size_t>(found - std::begin(move_names)));
    }
    return true;
}

}  // namespace random_programs
