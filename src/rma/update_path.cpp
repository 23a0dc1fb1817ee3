// SPDX-License-Identifier: Apache-2.0
#include "rma/update_path.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "base/finally.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

namespace {

/// With fewer runs than this, a message for each is quicker than making a datatype of them.
constexpr std::size_t fewest_together = 16;

}  // namespace

/// Whether a target's puts are combined, if they can be.
bool UpdatePath::combines(const Target& t) const noexcept {
    return s_.settings.bypass == Bypass::off || t.combines_puts();
}

/// Whether these can be.
bool UpdatePath::is_combinable(Rank target, std::span<const ByteRun> runs) const noexcept {
    if (!may_combine() || s_.known(target).breaker.is_open() || !s_.epochs.may_access(target)) return false;
    std::uint64_t size = 0;
    for (const ByteRun& run : runs) {
        // What the library might refuse meets the library.
        if (run.origin == nullptr || run.size > s_.settings.write_combining_bytes ||
            !ByteRange{0, s_.targets.memory_of(target).extent_bytes}.contains(run.offset, run.size))
            return false;
        size += run.size;
    }
    return size != 0 && size <= s_.settings.write_combining_bytes;
}

bool UpdatePath::make_combiner() noexcept {
    if (s_.combiner != nullptr) return true;
    try {
        s_.combiner = std::make_unique<WriteCombiner>(s_.targets.ranks(), s_.settings.combining_buffer_bytes);
    } catch (const std::bad_alloc&) {
        s_.settings.write_combining_bytes = 0;
    }
    return s_.combiner != nullptr;
}

bool UpdatePath::combine(Rank target, std::span<const ByteRun> runs) noexcept {
    Target& t = s_.at(target);
    const std::uint64_t begin_ticks = t.put_cost.should_time() ? ticks() : 0;
    if (!s_.combiner->has_room(target, runs)) return false;
    for (const ByteRun& run : runs)
        s_.combiner->add(target, run);
    ++s_.counters.puts_combined;
    put_started(target, runs, true);
    if (t.route == Route::bypass) bypass_.update_route(target);
    t.put_cost.record_combined(begin_ticks == 0 ? 0 : ticks() - begin_ticks);
    return true;
}

bool UpdatePath::try_combine(Rank target, std::uint64_t offset, std::uint64_t size,
                             const void* origin) noexcept {
    const Guard guard = s_.lock();
    const ByteRun run{offset, size, static_cast<std::byte*>(const_cast<void*>(origin))};
    return s_.combiner != nullptr && combines(s_.at(target)) && is_combinable(target, {&run, 1}) &&
           combine(target, {&run, 1});
}

int UpdatePath::put(Rank target, std::span<const ByteRun> runs, PutStarter& starter, bool may_wait,
                    bool* started) {
    if (started != nullptr) *started = false;
    Guard guard = s_.lock();
    int made_room = 0;
    const bool combinable = may_wait && is_combinable(target, runs);
    if (combinable && combines(s_.at(target)) && make_combiner()) {
        if (combine(target, runs)) return 0;
        made_room = make_room(guard);
        if (combine(target, runs)) return made_room;
    }
    if (started != nullptr) *started = true;
    const int status = start_alone(target, runs, starter, combinable, guard);
    return status != 0 ? status : made_room;
}

int UpdatePath::start_alone(Rank target, std::span<const ByteRun> runs, PutStarter& starter,
                            bool is_combinable, Guard& guard) {
    Target& t = s_.at(target);
    const bool timed = is_combinable && is_alone_put_timed(t);
    if (is_combinable && t.put_breaker.is_open() && !t.put_breaker.bypass()) t.put_breaker.resume();
    std::uint64_t put_ticks = 0;
    const int status = without_mutex(guard, [&] {
        const std::uint64_t begin_ticks = timed ? ticks() : 0;
        const int outcome = starter.start();
        if (timed) put_ticks = ticks() - begin_ticks;
        return outcome;
    });
    if (status != 0) return status;
    if (timed) t.put_cost.record_alone(put_ticks);
    // What it has overwritten must not arrive after it.
    if (s_.combiner != nullptr)
        for (const ByteRun& run : runs)
            s_.combiner->discard(target, run.range());
    put_started(target, runs, false);
    return 0;
}

void UpdatePath::put_started(Rank target, std::span<const ByteRun> runs, bool combined) noexcept {
    // What was cached of a bypassed target is forgotten before it is used again.
    if (!combined && bypass_.bypass(target, Bypassed::updates)) return;
    ++s_.counters.puts;
    s_.update_started(target, runs, combined);
    if (!s_.cache) return;
    for (const ByteRun& run : runs)
        s_.cache->update(target, run.offset, run.size, run.origin);
}

bool UpdatePath::serve_combined(const Get& get, Guard& guard) {
    const CombinedPuts& combined = s_.combiner->combined();
    const auto is_served = [&](const ByteRun& run) {
        return combined.read(get.target, run.range(), run.origin);
    };
    if (std::ranges::all_of(get.runs, is_served)) {
        s_.count(get.target, AccessType::hit, get.size_bytes, 0);
        return true;
    }
    const auto overlaps = [&](const ByteRun& run) { return combined.any(get.target, run.range()); };
    if (!std::ranges::any_of(get.runs, overlaps)) return false;
    without_mutex(guard, [&] { return send_combined(get.target); });
    return false;
}

/// All that is combined leaves; and if that is not enough, what has been under way for longest is waited
/// for, where the epoch allows it.
int UpdatePath::make_room(Guard& guard) {
    const Moment since = s_.operations.now();
    const Rank oldest = s_.combiner->oldest_target();
    const bool may_flush = oldest >= 0 && s_.epochs.may_flush(oldest);
    int flushed = 0;
    const int status = without_mutex(guard, [&] {
        const int sent = send_combined(all_targets);
        if (may_flush) flushed = s_.transfers.flush_local(oldest);
        return sent;
    });
    if (may_flush && flushed == 0) s_.combiner->completed(oldest, since);
    return status != 0 ? status : flushed;
}

int UpdatePath::send_combined(Rank target) {
    if (target == all_targets) return send_each_combined();
    // Who finds nothing combined because another thread is sending it has to find it sent.
    const SendGuard sending = s_.threaded ? SendGuard(send_mutex_) : SendGuard();
    Guard guard = s_.lock();
    if (!s_.holds_combined(target)) return 0;
    Target& t = s_.at(target);
    const std::uint64_t begin_ticks = ticks();
    int status = 0;
    while (s_.combiner->combined().any(target)) {
        const int sent = send(target, s_.combiner->next_message(target), guard);
        if (status == 0) status = sent;
    }
    t.put_cost.record_sent(ticks() - begin_ticks);
    if (s_.settings.bypass == Bypass::on && t.put_cost.is_interval_over())
        t.put_breaker.record(t.put_cost.end_interval());
    bypass_.update_route(target);
    return status;
}

int UpdatePath::send_each_combined() {
    // While one is sent, another thread, or an error handler, may access a target for the first time.
    std::vector<Rank> targets;
    {
        const Guard guard = s_.lock();
        if (!s_.threaded && !s_.holds_combined(all_targets)) return 0;
        // What is combined for a target, or is being sent, is outstanding there.
        targets.assign(s_.operations.targets().begin(), s_.operations.targets().end());
    }
    int status = 0;
    for (const Rank target : targets) {
        const int sent = send_combined(target);
        if (status == 0) status = sent;
    }
    return status;
}

/// Starts a message. What the library refuses is lost, as it would have been with a put of its own: then the
/// cache must not have it. What an exception leaves behind is combined again.
int UpdatePath::send(Rank target, std::span<const ByteRun> runs, Guard& guard) {
    const std::size_t each = runs.size() >= fewest_together ? runs.size() : 1;
    std::size_t begun = 0;
    const auto start = [&] {
        int status = 0;
        for (; begun < runs.size(); begun += each) {
            const int one = s_.transfers.start_put(target, runs.subspan(begun, each));
            if (status == 0) status = one;
        }
        return status;
    };
    return and_then([&] { return without_mutex(guard, start); },
                    [&](int status) {
                        s_.combiner->started(s_.operations.now());
                        if (status == has_thrown) begun += each;
                        s_.counters.put_messages += begun / each;
                        if (status != 0) s_.cache.drop(target, runs);
                        const std::span<const ByteRun> left = runs.subspan(std::min(begun, runs.size()));
                        if (!left.empty() && s_.combiner->has_room(target, left))
                            for (const ByteRun& run : left)
                                s_.combiner->add(target, run);
                    });
}

void UpdatePath::update_started(Rank target, std::span<const ByteRun> runs, bool fetches) noexcept {
    const Guard guard = s_.lock();
    if (bypass_.bypass(target, fetches ? Bypassed::updates | Bypassed::fetches : Bypassed::updates)) return;
    ++s_.counters.puts;
    if (runs.empty()) runs = {&whole_target, 1};
    s_.update_started(target, runs);
    if (fetches) bypass_.fetch_started(target);
    s_.cache.drop(target, runs);
    if (s_.profile != nullptr) [[unlikely]]
        for (const ByteRun& run : runs)
            s_.profile->overwrite(target, run.range());
}

void UpdatePath::read_started(Rank target, bool fetches) noexcept {
    const Guard guard = s_.lock();
    const Bypassed what = fetches ? Bypassed::gets | Bypassed::fetches : Bypassed::gets;
    if (!s_.is_off() && bypass_.bypass(target, what)) return;
    s_.update_started(target, {});
    if (fetches) bypass_.fetch_started(target);
}

}  // namespace nearfetch
