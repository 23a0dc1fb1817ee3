// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random programs of several ranks that read and write each other's memory under locks, as lists of
// operations. Each rank does its own, in order; any part of a list is a program.

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/types.hpp"

namespace nearfetch::simulation {

struct LockOp {
    enum class Kind : std::uint8_t {
        read,        ///< gets in a shared epoch
        read_two,    ///< the same in two epochs at a time, of two targets
        read_flush,  ///< a flush in between, after which the program looks
        write,       ///< puts in an exclusive epoch
        count,       ///< gets, a flush, and puts of the same bytes in an exclusive epoch
        store,       ///< to the rank's own memory, in an exclusive epoch
        tell,        ///< puts into its mailbox at the target in a shared epoch, then sends a message
        hear,        ///< receives the last message that there is
        nap,         ///< many times as long as a lease
    };
    std::uint32_t id = 0;
    Kind kind = Kind::read;
    Rank rank = 0;
    Rank target = 0;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    /// It begins then, or after the rank's operation before it.
    std::uint64_t begin_ns = 0;
};

struct LockProgram {
    static constexpr Rank ranks = 3;
    static constexpr std::uint64_t shared_bytes = 256;
    /// Behind the shared bytes: one for each rank.
    static constexpr std::uint64_t mailbox_bytes = 8;

    std::uint64_t chance = 0;  ///< seed of random decisions while it runs
    Settings settings;
    std::uint64_t lease_ns = 0;
    std::uint64_t latency_ns = 0;   ///< one way, at most, unless a rank is stopped
    bool takes_locks_late = false;  ///< the library takes a lock with the first access of its epoch
    std::vector<LockOp> ops;
};

LockProgram make_lock_program(std::uint64_t seed);

/// The program's settings, and one operation, as text.
std::string to_text(const LockProgram& program);
std::string to_text(const LockOp& op);

}  // namespace nearfetch::simulation
