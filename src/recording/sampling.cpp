// SPDX-License-Identifier: Apache-2.0
#include "recording/sampling.hpp"

#include <utility>

#include "recording/hash.hpp"

namespace nearfetch {

bool Sampling::is_kept(const Event& event) {
    if (event.is_access()) {
        if (mixed(memory_of(event.window, event.target) + event.offset / block_bytes) % all >= share_)
            return false;
        windows_[event.window].has_accesses = true;
        return true;
    }
    WindowState& window = windows_[event.window];
    if (event.completes()) return std::exchange(window.has_accesses, false);
    switch (event.kind) {
        case EventKind::lock:
            if (event.flag || window.lock) return true;
            window.lock = event;
            return false;
        case EventKind::unlock:
            window.has_accesses = false;
            if (!window.lock || window.lock->target != event.target) return true;
            window.lock.reset();
            return false;
        default:
            return true;
    }
}

std::optional<Event> Sampling::lock_before(const Event& event) {
    if (event.kind == EventKind::acquire || event.kind == EventKind::text) return std::nullopt;
    std::optional<Event> lock = std::exchange(windows_[event.window].lock, std::nullopt);
    // Its gap is among those that are added to the next event.
    if (lock) lock->gap_ns = 0;
    return lock;
}

}  // namespace nearfetch
