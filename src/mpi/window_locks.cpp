// SPDX-License-Identifier: Apache-2.0
#include "mpi/window_locks.hpp"

#include <utility>

#include "mpi/wrappers/acquire_scope.hpp"

namespace nearfetch {

SharedLock WindowLocks::judge(int target, int assert) noexcept {
    const bool is_known = assert == 0 || assert == MPI_MODE_NOCHECK;
    return cache_.locks().judge_shared_lock(target, is_known && !lazy_.full());
}

void WindowLocks::keep_back(SharedLock::Keeper keeper, int target, int assert) noexcept {
    if (keeper == SharedLock::Keeper::lease)
        cache_.locks().begin_leased(target, assert);
    else
        lazy_.add(target, assert);
}

bool WindowLocks::elide_unlock(int target, bool& serves) noexcept {
    if (lazy_.any() && lazy_.has(target)) {
        lazy_.remove(target);
        serves = cache_.locks().elide_lock(target);
    } else if (!cache_.locks().has_leased_epoch() || !cache_.locks().elide_leased(target, serves)) {
        return false;
    }
    return true;
}

int WindowLocks::open_slowly() {
    const int status = cache_.locks().take_leased_lock();
    const int promised = open_lazy();
    return status != MPI_SUCCESS ? status : promised;
}

int WindowLocks::open_to_get_slowly() {
    const int status = cache_.locks().open_leased();
    const int promised = open_lazy();
    return status != MPI_SUCCESS ? status : promised;
}

int WindowLocks::before_unlock(int target) {
    const int status =
        left_out("lease-snapshots") ? cache_.locks().open_leased() : cache_.locks().before_unlock(target);
    const int promised = open_lazy();
    return status != MPI_SUCCESS ? status : promised;
}

int WindowLocks::after_unlock(int target) {
    return cache_.locks().after_unlock(target, !left_out("lease-snapshots"));
}

int WindowLocks::open_lazy() {
    return lazy_.open(win_, [this](int target) {
        cache_.locks().change_epochs([=](EpochTracker& epochs) { epochs.set(target, Epoch::none); });
    });
}

void WindowLocks::open_leases(std::unique_ptr<LeaseSlot> slot, std::uint64_t lease_ns) {
    slot_ = std::move(slot);
    cache_.locks().open_leases(*slot_, lease_ns);
}

std::unique_ptr<LeaseSlot> WindowLocks::close_leases() noexcept {
    if (slot_ == nullptr) return nullptr;
    cache_.locks().close_leases();
    (void)slot_->complete();
    return std::move(slot_);
}

}  // namespace nearfetch
