// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random programs of one process on a cached window, as lists of operations, under MPI's rules: no
// conflicting accesses within an epoch. The runner flushes between conflicting operations, so any part of a
// list is a program, and a failing one can be shrunk.

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/types.hpp"

namespace nearfetch::simulation {

struct RangeOp {
    enum class Kind : std::uint8_t {
        get,
        get_runs,        ///< a datatype with gaps
        get_refused,     ///< refused by the library
        get_request,     ///< with a request to wait for
        finish_request,  ///< waits for one
        free_request,    ///< frees one: only a flush completes it
        abandon_request,
        flush,
        flush_local,
        flush_all,
        flush_fails,  ///< the library reports an error; a later flush may complete it
        arrive,       ///< outstanding transfers of a target arrive without notice
        put,
        puts,  ///< many small adjacent ones
        accumulate,
        change,  ///< by another process
        poll,    ///< a get, a flush, and the same get again, perhaps after changes that only it can detect
        record,  ///< a header, and then the record that follows it, from the same displacement
        state,   ///< changes the setting `bypass`
        prefetch,
        invalidate,
        lock,           ///< a get in a lock epoch of its own, whose lock may be elided
        neighbour_get,  ///< by another process of the node (neighbour.hpp)
        neighbour_flush,
        neighbour_acquire,
    };
    std::uint32_t id = 0;
    Kind kind = Kind::get;
    Rank target = 0;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
};

struct RangeProgram {
    static constexpr Rank ranks = 3;
    static constexpr std::uint64_t memory_bytes = 4096;

    std::uint64_t chance = 0;  ///< seed of random decisions while it runs
    Settings settings;
    std::vector<RangeOp> ops;
};

RangeProgram make_range_program(std::uint64_t seed);

/// The program's settings, and one operation, as text.
std::string to_text(const RangeProgram& program);
std::string to_text(const RangeOp& op);

}  // namespace nearfetch::simulation
