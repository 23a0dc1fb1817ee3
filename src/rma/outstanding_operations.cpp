// SPDX-License-Identifier: Apache-2.0
#include "rma/outstanding_operations.hpp"

#include <algorithm>

namespace nearfetch {

void OutstandingOperations::start_update(Rank target, std::span<const ByteRun> runs, bool combined) noexcept {
    TargetOperations& o = of(target);
    if (!o.update_under_way()) o.updating = {};
    for (const ByteRun& run : runs) {
        const ByteRange range = run.range();
        o.updating = o.updating.empty() ? range
                                        : ByteRange{std::min(o.updating.begin, range.begin),
                                                    std::max(o.updating.end, range.end)};
    }
    start(target, o, o.updates);
    if (!combined) o.local_updates.started = issued_;
}

void OutstandingOperations::count_by_kind(Rank target) noexcept {
    TargetOperations& o = of(target);
    Bypassed kinds = o.gets.outstanding() ? Bypassed::gets : Bypassed::nothing;
    if (o.updates.outstanding()) kinds = kinds | Bypassed::updates;
    if (kinds == Bypassed::nothing) return;
    complete(target, issued_, FlushKind::full);
    mark_bypassed(target, kinds);
}

}  // namespace nearfetch
