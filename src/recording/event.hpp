// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a process does to its windows: accesses, and calls that may synchronise, in their order. This is what
// `nearfetch record` writes, and what a replay of the process needs to know.

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

enum class EventKind : std::uint8_t {
    text,        ///< `size`: its number; `values`: its characters
    world,       ///< the first one: `target` is the rank; `values`: ranks; `size`: ns since 1970
    window,      ///< made; `target` is the own rank; `values`: ranks, and bytes and page phase of each
    window_end,  ///< it is about to be freed
    get,         ///< `values`: offset and size of each run, if there are several
    put,         ///< the same; no `size`: it may be anywhere
    update,      ///< an accumulate; the same
    atomic,      ///< the same of one that fetches
    read,        ///< an atomic that only fetches
    wait,        ///< requests of accesses of `target` have completed
    flush,       ///< `flag`: only locally
    flush_all,   ///< the same
    lock,        ///< `flag`: exclusive
    unlock,
    lock_all,
    unlock_all,
    fence,  ///< `flag`: no epoch follows
    start,  ///< `values`: the targets
    complete,
    sync,
    acquire,   ///< by a call whose name is the text of number `size`
    sampling,  ///< from here on blocks whose hash is below `size` are recorded (sampling.hpp)
    end,       ///< of the process; `size`: ns since its beginning; `values`: Rereads, in their order
};

struct Event {
    EventKind kind = EventKind::end;
    bool flag = false;
    std::uint32_t window = 0;  ///< counted from 0 in the order in which windows are made
    Rank target = 0;
    std::uint64_t gap_ns = 0;   ///< since the end of the event before
    std::uint64_t took_ns = 0;  ///< the library's call
    std::uint64_t offset = 0;   ///< bytes into the target's window: of the first byte
    std::uint64_t size = 0;     ///< bytes, of all runs together
    std::vector<std::uint64_t> values{};

    bool is_access() const noexcept { return kind >= EventKind::get && kind <= EventKind::read; }
    bool completes() const noexcept {
        return kind == EventKind::flush || kind == EventKind::flush_all || kind == EventKind::wait;
    }
};

/// The acquires of a process up to now.
struct AcquireCount {
    std::uint32_t all = 0;
    std::uint32_t others = 0;  ///< not by locks

    /// Any event, in their order.
    void note(EventKind kind) noexcept {
        if (kind != EventKind::lock && kind != EventKind::lock_all && kind != EventKind::acquire) return;
        ++all;
        if (kind == EventKind::acquire) ++others;
    }
};

/// What gets of the same bytes have shown: whether these stay as they were.
struct Rereads {
    std::uint64_t same = 0;
    std::uint64_t changed_unordered = 0;  ///< this process had acquired nothing in between: a race
    std::uint64_t changed_by_locks = 0;   ///< it had acquired by locks alone
    std::uint64_t changed = 0;            ///< it had acquired by another call

    std::uint64_t checked() const noexcept { return same + changed_unordered + changed_by_locks + changed; }
    void add(const Rereads& other) noexcept {
        same += other.same;
        changed_unordered += other.changed_unordered;
        changed_by_locks += other.changed_by_locks;
        changed += other.changed;
    }
};

}  // namespace nearfetch
