// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random programs of one process on a cached window, as lists of operations, under MPI's rules for them: no
// conflicting accesses within an epoch. Where operations would conflict the runner flushes between them, so
// any part of such a list is a program, too, and one that fails can be shrunk.

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/types.hpp"

namespace nearfetch::simulation {

struct RangeOp {
    enum class Kind : std::uint8_t {
        get,
        get_runs,        ///< a datatype with holes
        get_refused,     ///< the library refuses to start it
        get_request,     ///< with a request to wait for
        finish_request,  ///< waits for one
        free_request,    ///< frees one: only a flush completes it
        abandon_request,
        flush,
        flush_local,
        flush_all,
        flush_fails,  ///< the library reports an error; a later flush may complete it
        arrive,       ///< what is under way from a target arrives, and nobody is told
        put,
        puts,  ///< many small neighbours
        accumulate,
        change,  ///< by another process
        poll,    ///< a get, a flush, and the same get again, perhaps after changes that only it tells of
        record,  ///< a header, and then the record that it begins, from the same displacement
        state,   ///< the setting `bypass` changes
        prefetch,
        invalidate,
        lock,  ///< of a target alone: a get in an epoch of its own, whose lock may be kept back
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

    std::uint64_t chance = 0;  ///< seed of all that chance decides while it runs
    Settings settings;
    std::vector<RangeOp> ops;
};

RangeProgram make_range_program(std::uint64_t seed);

/// The program's settings, and one operation, for people.
std::string to_text(const RangeProgram& program);
std::string to_text(const RangeOp& op);

}  // namespace nearfetch::simulation
