// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random SPMD programs as lists of steps, the same list on all ranks. A step is an access of one rank, or a
// synchronisation of two or all. Each rank executes those that concern it in the order of the list, so that
// no list deadlocks. Any part of a list is a program, too (random_meaning.hpp skips what has no sense any
// more), so that one that fails can be shrunk.

#include <algorithm>
#include <array>

#include "check.hpp"
#include "random_moves.hpp"

namespace random_programs {

using check::Random;

constexpr int most_ranks = 8;

/// The windows, by how their epochs are opened. The extra ones come and go within a program.
enum WindowId : int { allocated, created, locked, fenced, started, windows, extra = windows };
constexpr int extra_windows = 2;
constexpr int all_windows = windows + extra_windows;
constexpr const char* window_names[] = {"allocated", "created", "locked", "fenced",
                                        "started",   "extra 0", "extra 1"};
static_assert(std::size(window_names) == all_windows);
constexpr bool is_extra(int window) { return window >= extra; }
/// In a step that changes a setting: the window of flags.
constexpr int flag_window = all_windows;
/// Whether its epochs are passive.
constexpr bool is_passive(int window) { return window <= locked || is_extra(window); }

/// The last bytes of each rank's part are words that are only added to; not of the extra windows.
constexpr std::uint64_t sum_bytes = 64;

/// Ranks' parts differ in size, so that blocks that are read ahead meet different ends.
constexpr std::uint64_t part_bytes(int window, int rank) {
    constexpr std::uint64_t most[] = {1536, 65536, 4096, 2048, 2048, 2048, 2048};
    return most[window] - 64 * static_cast<std::uint64_t>(rank) - (window == created ? 1000 : 0);
}
constexpr std::uint64_t data_bytes(int window, int rank) {
    return part_bytes(window, rank) - (is_extra(window) ? 0 : sum_bytes);
}

enum class Kind : std::uint8_t {
    get,
    rget,
    put,
    rput,
    replace,      ///< accumulate with MPI_REPLACE
    read_atomic,  ///< MPI_NO_OP
    sum,
    fetch_sum,
    load,  ///< of the rank's own part
    store,
    flush,
    flush_all,
    flush_local,
    flush_local_all,
    wait,    ///< for all requests of the rank
    reopen,  ///< ends the epoch and begins another
    message,
    post_receive,  ///< of a message to come
    ssend,
    exchange,
    collective,
    begin_barrier,
    end_barrier,
    flag,       ///< raised and looked at by atomics, or put and polled
    lock_flag,  ///< raised and looked at under a lock
    fence,
    post_start,     ///< peer exposes its part of `started` to rank
    complete_wait,  ///< and that ends
    make_window,    ///< an extra one
    free_window,
    set_state,  ///< the setting `bypass` of a window
    kinds
};
constexpr const char* kind_names[] = {"get",
                                      "Rget",
                                      "put",
                                      "Rput",
                                      "accumulate REPLACE",
                                      "atomic read",
                                      "add",
                                      "fetch and add",
                                      "load",
                                      "store",
                                      "flush",
                                      "flush_all",
                                      "flush_local",
                                      "flush_local_all",
                                      "wait",
                                      "reopen",
                                      "message",
                                      "post receive",
                                      "ssend",
                                      "exchange",
                                      "collective",
                                      "begin ibarrier",
                                      "end ibarrier",
                                      "flag",
                                      "lock flag",
                                      "fence",
                                      "post/start",
                                      "complete/wait",
                                      "make window",
                                      "free window",
                                      "set state"};
static_assert(std::size(kind_names) == static_cast<std::size_t>(Kind::kinds));

/// How a flag that is put is looked at, by the variant's last digit; the others are atomics.
enum Poll : int { poll_by_flush = 5, poll_by_wait, poll_of_64_bytes, poll_in_allocated, poll_by_flush_all };
constexpr bool is_poll(int variant) { return variant % 10 >= poll_by_flush; }
/// Whether who raises it waits for the first look at it.
constexpr bool has_handshake(int variant) { return is_poll(variant) && variant / 10 % 2 != 0; }

constexpr bool is_access(Kind kind) { return kind <= Kind::store; }
constexpr bool is_completion(Kind kind) { return kind >= Kind::flush && kind <= Kind::reopen; }

/// Blocks of so many bytes with gaps between; without blocks one run of bytes.
struct Strides {
    std::uint64_t block = 0, gap = 0;
    bool reversed = false;  ///< the last block comes first in memory

    /// Where byte number `i` of `size_bytes` is, from the first address on.
    std::uint64_t place(std::uint64_t i, std::uint64_t size_bytes) const {
        if (block == 0) return i;
        const std::uint64_t last = (size_bytes - 1) / block, at = i / block;
        return (reversed ? last - at : at) * (block + gap) + i % block;
    }
    /// Bytes from the first address to the last.
    std::uint64_t span(std::uint64_t size_bytes) const {
        return block == 0 ? size_bytes : (size_bytes - 1) / block * (block + gap) + block;
    }
};

struct Step {
    std::uint32_t id = 0;
    Kind kind = Kind::get;
    Move move = Move::none;  ///< what it was made for
    int rank = 0;            ///< who does it; the sender, the root, who raises the flag
    int peer = 0;            ///< whose memory; the receiver, who looks at the flag
    int window = 0;          ///< for flags: where they are
    int variant = 0;
    bool look = false;  ///< at what a get has brought when it returns
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    Strides target, origin;

    /// Where its byte number `i` is.
    std::uint64_t place(std::uint64_t i) const { return offset + target.place(i, size_bytes); }
    std::uint64_t end() const { return place(size_bytes - 1) + 1; }
};

/// What step `id` writes to its byte number `i`: few write the same.
inline unsigned char value_of(std::uint32_t id, std::uint64_t i) {
    return check::pattern_byte(static_cast<int>(id), i, 21);
}

inline std::string to_text(const Step& step) {
    std::ostringstream text;
    text << '#' << step.id << " rank " << step.rank << ": " << kind_names[static_cast<int>(step.kind)];
    const auto blocks = [&](const char* where, const Strides& strides) {
        if (strides.block == 0) return;
        text << ", " << where << " of blocks of " << strides.block << " B, gaps of " << strides.gap << " B"
             << (strides.reversed ? ", reversed" : "");
    };
    if (is_access(step.kind)) {
        text << ' ' << step.size_bytes << " B at " << step.offset << " of " << step.peer << ", window "
             << window_names[step.window];
        blocks("target", step.target);
        blocks("origin", step.origin);
        if (step.look) text << ", looked at when it returns";
    } else if (is_completion(step.kind)) {
        text << ", window " << window_names[step.window] << ", target " << step.peer;
    } else {
        text << ", peer " << step.peer << ", at " << step.window;
    }
    text << ", variant " << step.variant;
    return text.str();
}

}  // namespace random_programs
