// SPDX-License-Identifier: Apache-2.0
#include "rma/overlapping_origins.hpp"

namespace nearfetch {

OverlappingOrigins::OverlappingOrigins(TargetTable& targets, bool threaded, FetchTable& fetches,
                                       OriginsOfProcess& process)
    : threaded_(threaded), table_(targets), fetches_(fetches), process_(process) {
    targets.keep_room_in(targets_);
}

OverlappingOrigins::~OverlappingOrigins() { leave_process(); }

void OverlappingOrigins::join_process() noexcept {
    if (threaded_) return;
    next_ = process_.first;
    process_.first = this;
}

void OverlappingOrigins::leave_process() noexcept {
    OverlappingOrigins** link = &process_.first;
    while (*link != nullptr && *link != this)
        link = &(*link)->next_;
    if (*link != nullptr) *link = next_;
    if (process_.first == nullptr && !threaded_) process_.all = {};
}

bool OverlappingOrigins::invalidate_in_other_windows(const ByteRun& run) noexcept {
    bool found = false;
    for (OverlappingOrigins* other = process_.first; other != nullptr; other = other->next_)
        if (other != this && other->all_.overlap(run.origin, run.size))
            found = other->invalidate(run) || found;
    return found;
}

bool OverlappingOrigins::invalidate_overlapping(std::span<const ByteRun> runs) noexcept {
    bool found = false;
    for (const ByteRun& run : runs) {
        if (!may_be_in_use(run.origin, run.size)) [[likely]]
            continue;
        if (invalidate_in_other_windows(run)) found = true;
        if (!all_.overlap(run.origin, run.size)) continue;
        if (shared_.cover(run)) {
            found = true;
        } else if (invalidate(run)) {
            shared_ = {};
            if (run.origin != nullptr) shared_.add(run);
            found = true;
        }
    }
    return found;
}

bool OverlappingOrigins::invalidate(const ByteRun& run) noexcept {
    bool found = false;
    for (const Rank target : targets_) {
        if (!at(target).all.overlap(run.origin, run.size)) continue;
        found = found || at(target).late.overlap(run.origin, run.size);
        found = fetches_.invalidate_origin(target, run) || found;
    }
    return found;
}

void OverlappingOrigins::add(Rank target, std::span<const ByteRun> runs) noexcept {
    if (targets_.empty()) join_process();
    TargetOrigins& mine = at(target);
    if (mine.all.none()) targets_.push_back(target);  // there is room for each that was accessed
    for (const ByteRun& run : runs) {
        mine.all.add(run);
        all_.add(run);
        if (!threaded_) process_.all.add(run);
    }
}

void OverlappingOrigins::add_late(Rank target, std::span<const ByteRun> runs) noexcept {
    add(target, runs);
    for (const ByteRun& run : runs)
        at(target).late.add(run);
}

void OverlappingOrigins::release(Rank target) noexcept {
    if (at(target).all.none() || in_use(target)) return;
    at(target).all = {};
    shared_ = {};
    std::erase(targets_, target);
    if (!targets_.empty()) return;
    all_ = {};
    leave_process();
}

void OverlappingOrigins::release_all() noexcept {
    const std::size_t released = std::erase_if(targets_, [this](Rank target) {
        if (in_use(target)) return false;
        at(target).all = {};
        return true;
    });
    if (released == 0) return;
    shared_ = {};
    if (!targets_.empty()) return;
    all_ = {};
    leave_process();
}

}  // namespace nearfetch
