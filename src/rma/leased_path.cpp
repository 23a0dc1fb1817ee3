// SPDX-License-Identifier: Apache-2.0
#include "rma/leased_path.hpp"

#include "base/assert.hpp"
#include "base/finally.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

void LeasedPath::begin(Rank target, int assertion) noexcept {
    s_.leased.begin(target, assertion, s_.leases.end_of(target), s_.process.acquires.count());
    s_.epochs.set(target, Epoch::leased);
}

int LeasedPath::record(Rank target, std::span<const ByteRun> runs) {
    LeasedEpoch& epoch = s_.leased;
    if (!epoch.is_open(target)) [[likely]]
        return 0;
    if (!epoch.has_room(runs.size())) return take_lock();
    epoch.add(runs);
    return 0;
}

/// Whether what the epoch has brought is one state: nobody has written, and the process has not been told of
/// anything, since its lock.
bool LeasedPath::is_still_true() noexcept {
    LeasedEpoch& epoch = s_.leased;
    if (epoch.is_overtaken() || s_.process.acquires.count() != epoch.acquires()) return false;
    if (ticks() < epoch.lease_end()) return true;
    s_.leases.look(epoch.target()) ? epoch.renew(s_.leases.end_of(epoch.target())) : epoch.overtake();
    return !epoch.is_overtaken();
}

int LeasedPath::open() {
    LeasedEpoch& epoch = s_.leased;
    if (!epoch.is_kept_back()) return 0;
    const auto lock = [&] { return s_.transfers.lock_shared(epoch.target(), epoch.assertion()); };
    return and_then(lock, [&](int status) {
        epoch.lock_taken();
        if (status != 0) end(Epoch::none);
    });
}

int LeasedPath::take_lock() {
    LeasedEpoch& epoch = s_.leased;
    if (!epoch.is_open()) return 0;
    const bool was_kept_back = epoch.is_kept_back();
    int status = open();
    if (status != 0) return status;
    // A library may take a lock as late as at its first access. One is made, so that it is known to be taken.
    if (epoch.has_hits()) {
        if (was_kept_back) status = s_.transfers.start_get(epoch.target(), epoch.gets().first(1));
        if (status == 0) status = s_.transfers.flush_local(epoch.target());
    }
    const bool acquires = !epoch.has_hits() || !is_still_true();
    if (status == 0 && epoch.has_hits() && acquires) status = fetch_again();
    if (acquires) s_.process.acquires.acquire_by_lock("MPI_Win_lock");
    end(Epoch::passive);
    return status;
}

/// All gets of the epoch, under its lock.
int LeasedPath::fetch_again() {
    const int status = s_.transfers.start_get(s_.leased.target(), s_.leased.gets());
    return status != 0 ? status : s_.transfers.flush_local(s_.leased.target());
}

bool LeasedPath::elide(Rank target) noexcept {
    const LeasedEpoch& epoch = s_.leased;
    if (!epoch.is_open(target) || !epoch.is_kept_back()) return false;
    if (epoch.has_hits() && s_.process.acquires.count() != epoch.acquires()) return false;
    NF_EXPECT(s_.operations.at(target).idle(FlushKind::full) && !s_.in_transit(target));
    ++s_.counters.locks_elided;
    s_.leases.record_elided();
    end(Epoch::none);
    return true;
}

int LeasedPath::before_unlock(Rank target) {
    const LeasedEpoch& epoch = s_.leased;
    if (!epoch.is_open(target)) return take_lock();
    return epoch.is_kept_back() || (epoch.has_hits() && !is_still_true()) ? take_lock() : 0;
}

int LeasedPath::after_unlock(Rank target, bool repairs) {
    if (!s_.leased.is_open(target)) return 0;
    int status = 0;
    if (repairs && s_.leased.has_hits() && !is_still_true()) {
        status = s_.transfers.lock_shared(target, 0);
        if (status == 0) status = fetch_again();
        if (status == 0) status = s_.transfers.unlock(target);
        s_.process.acquires.acquire_by_lock("MPI_Win_lock");
    }
    end(Epoch::none);
    return status;
}

void LeasedPath::end(Epoch next) noexcept {
    s_.epochs.set(s_.leased.target(), next);
    s_.leased.end();
}

}  // namespace nearfetch
