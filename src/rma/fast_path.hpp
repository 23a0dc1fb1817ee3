// SPDX-License-Identifier: Apache-2.0
#pragma once

// What of a window is inlined where calls arrive: hits, bypassed operations, and flushes of either.

#include "rma/window_cache.hpp"

namespace nearfetch {

inline bool WindowCache::is_origin_in_use(const std::byte* origin, std::uint64_t size) const noexcept {
    return (threaded_ ? origins_.all : origins_of_process.all).overlap(origin, size);
}

/// Notes a get that goes to the library as it is: whether it is a poll, and what it brings.
inline void WindowCache::note_poll(const RangeGet& get) noexcept {
    if (polls_.again(get.target, get.offset, get.size)) [[unlikely]]
        ++counters_.polls;
    last_get_started(get, get.size);
}

inline void WindowCache::last_get_started(const RangeGet& get, std::uint64_t in_one) noexcept {
    probe_.end();
    last_get_.started(get, in_one, issued_, polls_.is_poll());
}

inline void WindowCache::record_bypassed_get(const RangeGet& get) noexcept {
    const Guard guard = lock();
    const ByteRun run{0, get.size, get.origin};
    if (get.origin != nullptr && is_origin_in_use(get.origin, get.size)) [[unlikely]]
        overlaps_origin({&run, 1});
    list(get.target, at(get.target));
    note_poll(get);
}

inline bool WindowCache::bypass_get(Rank target, std::uint64_t size) noexcept {
    Target& t = at(target);
    if (t.route != Route::bypass || !t.breaker.bypass()) return false;
    list(target, t);
    t.count_bypassed_get(size);
    return true;
}

inline const std::byte* WindowCache::find(const RangeGet& get) noexcept {
    Target& t = at(get.target);
    // Bytes may be in flight to where these are wanted: then neither is to be kept.
    if (t.route < Route::lookup || !epochs_.may_access(get.target) ||
        origins_of_process.all.overlap(get.origin, get.size) ||
        (t.route == Route::validate && (seen_acquires_ != process_acquires() ||
                                        !polls_.other(get.target, get.offset, get.size)))) [[unlikely]]
        return nullptr;
    const std::byte* data = cache_->find_mru(get.target, get.offset, get.size);
    if (data == nullptr) [[unlikely]]
        data = cache_->find_recent(get.target, get.offset, get.size);
    if (data != nullptr) [[likely]]
        t.count_hit(get.size);
    return data;
}

inline bool WindowCache::check_is_due() noexcept {
    if (settings_.check_hits == 0) [[likely]]
        return false;
    const Guard guard = lock();
    return validator_.due(settings_.check_hits);
}

inline bool WindowCache::bypass_update(Rank target, bool fetches) noexcept {
    Target& t = at(target);
    if (!t.may_bypass()) return false;
    t.bypassed = t.bypassed | (fetches ? Bypassed::updates | Bypassed::fetches : Bypassed::updates);
    ++bypassed_updates_;
    return true;
}

inline bool WindowCache::bypass_put(Rank target) noexcept {
    Target& t = at(target);
    if (!t.may_bypass()) return false;
    // Of those that could be combined, some are timed, and the last one of a backoff ends it: in put().
    const bool may_end = may_combine() && !t.breaker.is_open();
    if (may_end && (is_alone_put_timed(t) || !t.put_breaker.bypass())) return false;
    t.bypassed = t.bypassed | Bypassed::updates;
    ++bypassed_updates_;
    return true;
}

/// Whether the next put is to be timed if it is sent alone.
inline bool WindowCache::is_alone_put_timed(const Target& t) noexcept {
    return !t.put_cost.is_known() || t.put_breaker.remaining() % policy::interval_accesses == 0;
}

inline Served WindowCache::try_flush(Rank target, FlushKind kind) noexcept {
    const Target& t = at(target);
    if (t.route < Route::lookup) [[unlikely]] {
        if (t.route == Route::slow) return Served::miss;
        polls_.completed();
        if (t.bypassed != Bypassed::nothing) {
            ++bypassed_flushes_;
            return Served::bypass;
        }
    }
    if (!epochs_.may_flush(target) || !t.idle(kind) || !progress_.step_unless_due()) [[unlikely]]
        return Served::miss;
    ++elided_;
    polls_.completed();
    return Served::hit;
}

}  // namespace nearfetch
