// SPDX-License-Identifier: Apache-2.0
#include "rma/lock_path.hpp"

#include "base/assert.hpp"

namespace nearfetch {

bool LockPath::may_keep_back(Rank target) const noexcept {
    return !s_.threaded && s_.keeps_data() && !s_.at(target).breaker.is_open() && !s_.leased.is_open() &&
           s_.epochs.closed(target) && s_.operations.at(target).idle(FlushKind::full) &&
           !s_.in_transit(target);
}

SharedLock LockPath::judge_shared_lock(Rank target, bool may_keep) noexcept {
    using Keeper = SharedLock::Keeper;
    const Guard guard = s_.lock();
    ++s_.counters.locks;
    const bool keeps = may_keep && may_keep_back(target);
    if (s_.lock_rule == LockRule::kept || s_.lock_rule == LockRule::promised) {
        const bool acquires =
            s_.lock_rule == LockRule::kept && !(s_.leases.are_open() && s_.leases.look(target));
        if (keeps) s_.epochs.set(target, Epoch::passive);
        return {keeps ? Keeper::front_end : Keeper::nobody, acquires};
    }
    // The process's own memory is never cached, but its lock may order what is read elsewhere.
    const bool is_own = target == s_.self;
    if (s_.lock_rule != LockRule::leased || (!keeps && !is_own)) return {};
    // Where gets are there when they return, a program may look at them, and they cannot be made again.
    if (!is_own && s_.fetches.delivery(target) != Delivery::later) return {};
    const bool acquires = !s_.leases.look(target);
    const bool has_lease = s_.leases.end_of(target) != 0;
    return {has_lease && !is_own ? Keeper::lease : Keeper::nobody, acquires};
}

bool LockPath::elide_lock(Rank target) noexcept {
    const Guard guard = s_.lock();
    NF_EXPECT(s_.operations.at(target).idle(FlushKind::full) && !s_.in_transit(target));
    ++s_.counters.locks_elided;
    s_.leases.record_elided();
    s_.epochs.set(target, Epoch::none);
    return progress_.lived_on_hits();
}

bool LockPath::elide_leased(Rank target, bool& serves) noexcept {
    if (!LeasedPath(s_).elide(target)) return false;
    serves = progress_.lived_on_hits();
    return true;
}

void LockPath::open_leases(LeaseWords& words, std::uint64_t lease_ns) {
    s_.leases.open(words, lease_ns, s_.settings.bypass != Bypass::off, s_.process.lease_writers);
    s_.update_lock_rule();
}

void LockPath::close_leases() noexcept {
    s_.leases.close();
    s_.update_lock_rule();
}

int LockPath::begin_exclusive(Rank target) noexcept {
    {
        const Guard guard = s_.lock();
        ++s_.counters.locks;
    }
    return s_.leases.begin_writing(target);
}

void LockPath::end_writing() noexcept {
    s_.leases.end_writing_if([this](Rank target) { return s_.epochs.closed(target); });
}

}  // namespace nearfetch
