// SPDX-License-Identifier: Apache-2.0
#include "rma/lock_path.hpp"

#include "base/assert.hpp"

namespace nearfetch {

bool LockPath::lock_may_wait(Rank target, bool may_wait) noexcept {
    const Guard guard = s_.lock();
    ++s_.counters.locks;
    if (!may_wait || s_.threaded || !s_.keeps_data() || s_.at(target).breaker.is_open() ||
        !s_.epochs.closed(target) || !s_.operations.at(target).idle(FlushKind::full) || s_.in_transit(target))
        return false;
    s_.epochs.set(target, Epoch::passive);
    return true;
}

bool LockPath::elide_lock(Rank target) noexcept {
    const Guard guard = s_.lock();
    NF_EXPECT(s_.operations.at(target).idle(FlushKind::full) && !s_.in_transit(target));
    ++s_.counters.locks_elided;
    s_.epochs.set(target, Epoch::none);
    return progress_.lived_on_hits();
}

}  // namespace nearfetch
