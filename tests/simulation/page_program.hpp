// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random SPMD programs on page caches, as lists of operations. Any part of a list is a program, so a failing
// one can be shrunk. Random decisions during an operation depend on the program's seed and the operation's
// number, so other operations are unaffected.
//
// Two kinds of programs. In a racy one anybody reads and writes anywhere. In a race-free one memory is cut
// into ranges, independent of lines and pages. Between barriers a range belongs to one task or is only read,
// so a read has one allowed value per byte.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "nearfetch/detail/base/page_cache_config.hpp"

namespace nearfetch::simulation {

struct PageOp {
    enum class Kind : std::uint8_t {
        get,
        put,
        start_get,
        start_put,
        test,  ///< tests one that was started
        wait,  ///< waits for one that was started
        prefetch,
        acquire,
        release,
        acquire_range,
        release_range,
        atomic,         ///< bypasses the cache, between a release and an acquire of its bytes
        fenced_atomic,  ///< bypasses the cache, between a release and an acquire of everything
        outside,        ///< a get or put out of bounds
        barrier,        ///< release by all, then acquire by all
    };
    std::uint32_t id = 0;
    Kind kind = Kind::get;
    std::uint8_t rank = 0;
    std::uint8_t task = 0;
    Rank target = 0;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;

    ByteRange range() const noexcept { return {offset, offset + size_bytes}; }
};

struct PageProgram {
    std::uint64_t chance = 0;  ///< seed of random decisions while it runs
    PageCacheConfig config;
    std::uint8_t ranks = 2;
    std::uint8_t tasks = 1;  ///< per rank; they share its engine
    std::uint64_t memory_bytes = 0;
    std::vector<ByteRange> regions;  ///< the accessible ranges of each rank's memory
    bool race_free = false;
    bool flaky = false;        ///< the transport refuses starts, and operations fail
    bool slow = false;         ///< some operations are overtaken by many others
    bool self_direct = false;  ///< a rank's own memory is not accessed through its cache
    std::vector<PageOp> ops;
};

PageProgram make_page_program(std::uint64_t seed);

/// The program's settings, and one operation, as text.
std::string to_text(const PageProgram& program);
std::string to_text(const PageOp& op);

/// The value that the operation writes to byte `i`; mostly unique.
constexpr std::uint8_t value_of(std::uint32_t op, std::uint64_t i) noexcept {
    return static_cast<std::uint8_t>(op * 37 + i * 11 + 1);
}

}  // namespace nearfetch::simulation
