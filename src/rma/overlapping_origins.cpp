// SPDX-License-Identifier: Apache-2.0

// Gets that are under way into the same buffer. What such a program finds there is open (MPI-4.0, section
// 12.7), and it does not look; but whoever reads the same places later, into a buffer of its own, must not be
// served what one get has brought for another. So a get that wants its bytes where others are on their way to
// is not kept, nor are these.
//
// The same holds for gets of several windows, unless the program has several threads in MPI: then only those
// of one window are compared.
//
// To know that costs a get that goes to the network one comparison where nothing is under way, and two where
// gets fill a buffer from its beginning to its end: all origins that may be in use lie in one span of
// addresses. Only a get within that span looks at what is under way, and not at more than the last few
// hundred of each target, so that thousands of gets into places all over a large buffer do not wait for one
// another's comparisons; nor at any of them if the last that were found want the same place: a bandwidth test
// has a thousand of them there. A hit does not look: a program that has one copied to where a get is under
// way is not helped.

#include <algorithm>

#include "rma/window_cache.hpp"

namespace nearfetch {

namespace {

constexpr std::size_t most_compared = 256;

/// The last ones of a list, without more.
template <class List, class Visitor>
void visit_last(List& list, const Visitor& visit) {
    std::size_t left = std::min(list.size(), most_compared);
    for (auto one = list.rbegin(); left != 0; ++one, --left)
        visit(*one);
}

bool overlap(const ByteRun& run, const std::byte* origin, std::uint64_t size) noexcept {
    Origins origins;
    origins.add({0, size, const_cast<std::byte*>(origin)});
    return origins.overlap(run.origin, run.size);
}

}  // namespace

OriginsOfProcess origins_of_process;

void OriginsOfProcess::add(WindowCache* window) noexcept try {
    windows.push_back(window);
} catch (const std::bad_alloc&) {
    // Then it does not know of others' gets, nor they of its own.
}

void OriginsOfProcess::remove(const WindowCache* window) noexcept {
    std::erase(windows, window);
    if (windows.empty()) all = {};
}

/// The same as overlaps_origin() with the gets of other windows.
bool WindowCache::overlaps_other_windows(const ByteRun& run) noexcept {
    bool shares = false;
    for (WindowCache* const other : origins_of_process.windows)
        if (other != this && other->origins_.all.overlap(run.origin, run.size))
            shares = other->invalidate_origin(run) || shares;
    return shares;
}

/// Whether bytes are on their way to where this get wants its own. Then neither will be kept.
bool WindowCache::overlaps_origin(std::span<const ByteRun> runs) noexcept {
    bool shares = false;
    for (const ByteRun& run : runs) {
        if (!is_origin_in_use(run.origin, run.size)) [[likely]]
            continue;
        if (overlaps_other_windows(run)) shares = true;
        if (!origins_.all.overlap(run.origin, run.size)) continue;
        if (origins_.shared.cover(run)) {
            shares = true;
        } else if (invalidate_origin(run)) {
            origins_.shared = {};
            if (run.origin != nullptr) origins_.shared.add(run);
            shares = true;
        }
    }
    return shares;
}

bool WindowCache::invalidate_origin(const ByteRun& run) noexcept {
    bool found = false;
    const auto look_at_flight = [&](Entry* entry) {
        // What arrives in the cache's own memory is what it should be.
        if (entry->source() == entry->data() || !overlap(run, entry->source(), entry->size())) return;
        invalidate_in_flight(*entry);
        found = true;
    };
    const auto look_at_waiter = [&](Waiter& waiter) {
        if (!overlap(run, waiter.origin, waiter.size)) return;
        found = true;
        // As without a cache, the later get is the one whose bytes stay.
        const std::byte* const end = waiter.origin + waiter.size;
        const bool known = run.origin != nullptr;
        if (known && run.origin <= waiter.origin && end <= run.origin + run.size) waiter.size = 0;
    };
    for (const Rank target : origins_.targets) {
        Target& t = at(target);
        if (!t.origins.overlap(run.origin, run.size)) continue;
        found = found || t.late.overlap(run.origin, run.size);
        visit_last(t.in_flight, look_at_flight);
        visit_last(t.waiters, look_at_waiter);
        std::size_t left = most_compared;
        for (auto one = t.in_flight_of.begin(); one != t.in_flight_of.end() && left != 0; ++one, --left)
            look_at_flight(one->second);
        left = most_compared;
        for (auto one = t.waiters_of.begin(); one != t.waiters_of.end() && left != 0; ++one, --left)
            visit_last(one->second, look_at_waiter);
    }
    return found;
}

/// A get is under way.
void WindowCache::note_origins(Target& t, std::span<const ByteRun> runs) noexcept {
    if (!threaded_ && origins_.targets.empty()) origins_of_process.add(this);
    if (t.origins.none())
        origins_.targets.push_back(rank_of(t));  // the constructor reserved a place for each target
    for (const ByteRun& run : runs) {
        t.origins.add(run);
        origins_.all.add(run);
        if (!threaded_) origins_of_process.all.add(run);
    }
}

/// Bytes may come there until the next flush of the target.
void WindowCache::note_late(Target& t, std::span<const ByteRun> runs) noexcept {
    note_origins(t, runs);
    list(rank_of(t), t);
    for (const ByteRun& run : runs)
        t.late.add(run);
}

void WindowCache::note_late(Rank target, const ByteRun& origins) noexcept {
    const Guard guard = lock();
    note_late(at(target), {&origins, 1});
}

/// If no bytes are on their way any more.
void WindowCache::release_origins(Target& t) noexcept {
    if (t.origins.none() || t.uses_origins()) return;
    t.origins = {};
    origins_.shared = {};
    std::erase(origins_.targets, rank_of(t));
    if (origins_.targets.empty()) no_origins_in_use();
}

/// The same for all targets.
void WindowCache::release_origins() noexcept {
    const std::size_t released = std::erase_if(origins_.targets, [this](Rank target) {
        if (at(target).uses_origins()) return false;
        at(target).origins = {};
        return true;
    });
    if (released == 0) return;
    origins_.shared = {};
    if (origins_.targets.empty()) no_origins_in_use();
}

void WindowCache::no_origins_in_use() noexcept {
    origins_.all = {};
    if (!threaded_) origins_of_process.remove(this);
}

}  // namespace nearfetch
