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

#include "rma/cached_window.hpp"

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

bool overlap(const Piece& piece, const std::byte* origin, std::uint64_t size) noexcept {
    Origins origins;
    origins.add({0, size, const_cast<std::byte*>(origin)});
    return origins.overlap(piece.origin, piece.size);
}

}  // namespace

OriginsOfProcess origins_of_process;

void OriginsOfProcess::add(CachedWindow* window) noexcept try {
    windows.push_back(window);
} catch (const std::bad_alloc&) {
    // Then it does not know of others' gets, nor they of its own.
}

void OriginsOfProcess::remove(const CachedWindow* window) noexcept {
    std::erase(windows, window);
    if (windows.empty()) all = {};
}

/// The same as shares_origin() with the gets of other windows.
bool CachedWindow::shares_with_others(const Piece& piece) noexcept {
    bool shares = false;
    for (CachedWindow* const other : origins_of_process.windows)
        if (other != this && other->origins_.all.overlap(piece.origin, piece.size))
            shares = other->doom_origin(piece) || shares;
    return shares;
}

/// Whether bytes are on their way to where this get wants its own. Then neither will be kept.
bool CachedWindow::shares_origin(std::span<const Piece> pieces) noexcept {
    bool shares = false;
    for (const Piece& piece : pieces) {
        if (!is_origin_in_use(piece.origin, piece.size)) [[likely]]
            continue;
        if (shares_with_others(piece)) shares = true;
        if (!origins_.all.overlap(piece.origin, piece.size)) continue;
        if (origins_.shared.cover(piece)) {
            shares = true;
        } else if (doom_origin(piece)) {
            origins_.shared = {};
            if (piece.origin != nullptr) origins_.shared.add(piece);
            shares = true;
        }
    }
    return shares;
}

bool CachedWindow::doom_origin(const Piece& piece) noexcept {
    bool found = false;
    const auto look_at_flight = [&](Entry* entry) {
        // What arrives in the cache's own memory is what it should be.
        if (entry->source() == entry->data() || !overlap(piece, entry->source(), entry->size())) return;
        doom(*entry);
        found = true;
    };
    const auto look_at_waiter = [&](Waiter& waiter) {
        if (!overlap(piece, waiter.origin, waiter.size)) return;
        found = true;
        // As without a cache, the later get is the one whose bytes stay.
        const std::byte* const end = waiter.origin + waiter.size;
        const bool known = piece.origin != nullptr;
        if (known && piece.origin <= waiter.origin && end <= piece.origin + piece.size) waiter.size = 0;
    };
    for (const Rank target : origins_.targets) {
        Target& t = at(target);
        if (!t.origins.overlap(piece.origin, piece.size)) continue;
        found = found || t.late.overlap(piece.origin, piece.size);
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
void CachedWindow::note_origins(Target& t, std::span<const Piece> pieces) noexcept {
    if (!threaded_ && origins_.targets.empty()) origins_of_process.add(this);
    if (t.origins.none())
        origins_.targets.push_back(rank_of(t));  // the constructor reserved a place for each target
    for (const Piece& piece : pieces) {
        t.origins.add(piece);
        origins_.all.add(piece);
        if (!threaded_) origins_of_process.all.add(piece);
    }
}

/// Bytes may come there until the next flush of the target.
void CachedWindow::note_late(Target& t, std::span<const Piece> pieces) noexcept {
    note_origins(t, pieces);
    list(rank_of(t), t);
    for (const Piece& piece : pieces)
        t.late.add(piece);
}

void CachedWindow::note_late(Rank target, const Piece& origins) noexcept {
    const Guard guard = lock();
    note_late(at(target), {&origins, 1});
}

/// If no bytes are on their way any more.
void CachedWindow::release_origins(Target& t) noexcept {
    if (t.origins.none() || t.uses_origins()) return;
    t.origins = {};
    origins_.shared = {};
    std::erase(origins_.targets, rank_of(t));
    if (origins_.targets.empty()) no_origins_in_use();
}

/// The same for all targets.
void CachedWindow::release_origins() noexcept {
    const std::size_t released = std::erase_if(origins_.targets, [this](Rank target) {
        if (at(target).uses_origins()) return false;
        at(target).origins = {};
        return true;
    });
    if (released == 0) return;
    origins_.shared = {};
    if (origins_.targets.empty()) no_origins_in_use();
}

void CachedWindow::no_origins_in_use() noexcept {
    origins_.all = {};
    if (!threaded_) origins_of_process.remove(this);
}

}  // namespace nearfetch
