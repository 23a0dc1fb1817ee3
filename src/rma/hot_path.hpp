// SPDX-License-Identifier: Apache-2.0
#pragma once

// What of a window is inlined where calls arrive: hits, what passes, and flushes of either.

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

inline void WindowCache::note_bypassed_get(const RangeGet& get) noexcept {
    const Guard guard = lock();
    const ByteRun run{0, get.size, get.origin};
    if (get.origin != nullptr && is_origin_in_use(get.origin, get.size)) [[unlikely]]
        overlaps_origin({&run, 1});
    list(get.target, at(get.target));
    note_poll(get);
}

inline bool WindowCache::passes(Rank target, std::uint64_t size) noexcept {
    Target& t = at(target);
    if (!t.may_pass() || !t.bet.passes()) return false;
    t.get_passes(size);
    return true;
}

inline Found WindowCache::find_mru(const RangeGet& get) noexcept {
    Target& t = at(get.target);
    // Bytes may be on their way to where these are wanted: then neither is to be kept.
    if (!epochs_.may_access(get.target) || origins_of_process.all.overlap(get.origin, get.size) ||
        (t.route == Route::check && (seen_acquires_ != process_acquires() ||
                                     !polls_.other(get.target, get.offset, get.size)))) [[unlikely]]
        return {nullptr, Served::no};
    const std::byte* const data = cache_->find_mru(get.target, get.offset, get.size);
    if (data == nullptr) [[unlikely]]
        return {nullptr, Served::miss};
    t.count_hit(get.size);
    return {data, Served::hit};
}

inline const std::byte* WindowCache::find_recent(const RangeGet& get) noexcept {
    const std::byte* const data = cache_->find_recent(get.target, get.offset, get.size);
    if (data != nullptr) at(get.target).count_hit(get.size);
    return data;
}

inline bool WindowCache::check_is_due() noexcept {
    if (settings_.check_hits == 0) [[likely]]
        return false;
    const Guard guard = lock();
    return checks_.due(settings_.check_hits);
}

inline bool WindowCache::update_passes(Rank target, bool fetches) noexcept {
    Target& t = at(target);
    if (!t.may_pass()) return false;
    t.passed = t.passed | (fetches ? Passed::updates | Passed::fetches : Passed::updates);
    ++passed_updates_;
    return true;
}

inline bool WindowCache::put_passes(Rank target) noexcept {
    Target& t = at(target);
    if (t.puts_to_pass == 0 || !t.may_pass()) return false;
    --t.puts_to_pass;
    t.passed = t.passed | Passed::updates;
    ++passed_updates_;
    return true;
}

inline bool WindowCache::put_goes_by(Rank target) noexcept {
    Target& t = at(target);
    if (t.route != Route::watch || t.puts_to_pass == 0 || holds_combined(target)) return false;
    --t.puts_to_pass;
    return true;
}

inline Served WindowCache::try_flush(Rank target, FlushKind kind) noexcept {
    const Target& t = at(target);
    if (t.route < Route::look) [[unlikely]] {
        if (!t.completes_only_passed()) return Served::no;
        polls_.completed();
        if (t.passed != Passed::nothing) {
            ++passed_flushes_;
            return Served::pass;
        }
    }
    if (!epochs_.may_flush(target) || !t.idle(kind) || !progress_.step_unless_due()) [[unlikely]]
        return Served::no;
    ++elided_;
    polls_.completed();
    return Served::hit;
}

}  // namespace nearfetch
