// SPDX-License-Identifier: Apache-2.0
#include "recording/sampling.hpp"

#include <utility>

namespace nearfetch {

std::uint64_t Sampling::hash(const Event& event) noexcept {
    std::uint64_t x = event.offset / block_bytes + (static_cast<std::uint64_t>(event.window) << 44) +
                      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(event.target)) << 24);
    // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (x ^ x >> 31) % all;
}

bool Sampling::is_kept(const Event& event) {
    if (event.is_access()) {
        if (hash(event) >= share_) return false;
        windows_[event.window].has_accesses = true;
        return true;
    }
    WindowState& window = windows_[event.window];
    switch (event.kind) {
        case EventKind::flush:
        case EventKind::flush_all:
        case EventKind::wait:
            return std::exchange(window.has_accesses, false);
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
