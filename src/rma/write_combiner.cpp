// SPDX-License-Identifier: Apache-2.0
#include "rma/write_combiner.hpp"

#include "base/assert.hpp"
#include "base/ticks.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t page_bytes = CombinedPuts::page_bytes;

/// With fewer runs than this, a message for each is quicker than making a datatype of them.
constexpr std::size_t fewest_together = 16;

}  // namespace

WriteCombiner::WriteCombiner(Rank ranks, std::uint64_t buffer_bytes)
    : combined_(ranks, buffer_bytes / 2), memory_(new std::byte[ring_bytes()]) {
    // All that is combined for all targets may have to be sent at any time, one of them around the ring's
    // end.
    message_.reserve(CombinedPuts::most_runs);
    under_way_.reserve(most_under_way + static_cast<std::size_t>(ranks) + 1);
}

bool WriteCombiner::has_room(std::span<const ByteRun> runs) const noexcept {
    std::uint64_t pages = 0;
    for (const ByteRun& run : runs)
        pages += CombinedPuts::pages_of(run.range());
    // The ring is as large as all pages: what is combined has room in it, if no more than that is used.
    return pages * page_bytes + used_ <= combined_.free_pages() * page_bytes &&
           under_way_.size() < most_under_way;
}

bool WriteCombiner::has(Rank target) const noexcept {
    return combined_.any(target) ||
           std::ranges::any_of(under_way_, [target](const UnderWay& each) { return each.target == target; });
}

std::span<const ByteRun> WriteCombiner::next_message(Rank target) noexcept {
    const std::uint64_t end = (begin_ + used_) % ring_bytes();
    const std::uint64_t room = std::min(ring_bytes() - end, ring_bytes() - used_);
    NF_EXPECT(room > 0);
    std::byte* from = memory_.get() + end;
    if (under_way_.empty() || under_way_.back().target != target) under_way_.push_back({target, 0, 0});
    UnderWay& last = under_way_.back();
    last.issued = not_started;
    message_.clear();
    for (const ByteRange& run : combined_.take(target, {from, room})) {
        message_.push_back({run.begin, run.size(), from});
        from += run.size();
        used_ += run.size();
        last.bytes += run.size();
    }
    return message_;
}

void WriteCombiner::completed(Rank target, std::uint64_t since) noexcept {
    std::size_t gone = 0;
    for (UnderWay& each : under_way_)
        if (each.target == target && each.issued <= since) each.target = -1;
    while (gone < under_way_.size() && under_way_[gone].target == -1) {
        begin_ = (begin_ + under_way_[gone].bytes) % ring_bytes();
        used_ -= under_way_[gone].bytes;
        ++gone;
    }
    under_way_.erase(under_way_.begin(), under_way_.begin() + static_cast<std::ptrdiff_t>(gone));
    if (used_ == 0) begin_ = 0;
}

/// Whether a target's puts are combined, if they can be.
bool WindowCache::combines(const Target& t) const noexcept {
    if (settings_.bypass == Bypass::off) return true;
    return t.put_cost.is_known() && !t.put_breaker.is_open();
}

/// Whether these can be.
bool WindowCache::combinable(Rank target, const Target& t, std::span<const ByteRun> runs) const noexcept {
    if (!may_combine() || t.breaker.is_open() || !epochs_.may_access(target)) return false;
    std::uint64_t size = 0;
    for (const ByteRun& run : runs) {
        // What the library might refuse meets the library.
        if (run.origin == nullptr || run.size > settings_.write_combining_bytes ||
            !ByteRange{0, t.memory.extent_bytes}.contains(run.offset, run.size))
            return false;
        size += run.size;
    }
    return size != 0 && size <= settings_.write_combining_bytes;
}

bool WindowCache::make_write_combiner() noexcept {
    if (combiner_ != nullptr) return true;
    try {
        combiner_ = std::make_unique<WriteCombiner>(ranks(), settings_.combining_buffer_bytes);
    } catch (const std::bad_alloc&) {
        settings_.write_combining_bytes = 0;
    }
    return combiner_ != nullptr;
}

bool WindowCache::combine(Rank target, Target& t, std::span<const ByteRun> runs) noexcept {
    const std::uint64_t begin_ticks = t.put_cost.should_time() ? ticks() : 0;
    if (!combiner_->has_room(runs)) return false;
    for (const ByteRun& run : runs)
        combiner_->add(target, run);
    ++counters_.puts_combined;
    note_put(target, runs, true);
    if (t.route == Route::bypass) set_route(t);
    t.put_cost.record_combined(begin_ticks == 0 ? 0 : ticks() - begin_ticks);
    return true;
}

bool WindowCache::try_combine(Rank target, std::uint64_t offset, std::uint64_t size,
                              const void* origin) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    const ByteRun run{offset, size, static_cast<std::byte*>(const_cast<void*>(origin))};
    return combiner_ != nullptr && combines(t) && combinable(target, t, {&run, 1}) &&
           combine(target, t, {&run, 1});
}

int WindowCache::put(Rank target, std::span<const ByteRun> runs, PutStarter& starter, bool may_wait,
                     bool* started) {
    if (started != nullptr) *started = false;
    Guard guard = lock();
    Target& t = at(target);
    int made_room = 0;
    const bool is_combinable = may_wait && combinable(target, t, runs);
    if (is_combinable && combines(t) && make_write_combiner()) {
        if (combine(target, t, runs)) return 0;
        made_room = make_room(guard);
        if (combine(target, t, runs)) return made_room;
    }
    if (started != nullptr) *started = true;
    const bool timed = is_combinable && is_alone_put_timed(t);
    if (is_combinable && t.put_breaker.is_open() && !t.put_breaker.bypass()) t.put_breaker.resume();
    if (threaded_) guard.unlock();
    const std::uint64_t begin_ticks = timed ? ticks() : 0;
    const int status = starter.start();
    const std::uint64_t put_ticks = timed ? ticks() - begin_ticks : 0;
    if (threaded_) guard.lock();
    if (status != 0) return status;
    if (timed) t.put_cost.record_alone(put_ticks);
    // What it has overwritten must not arrive after it.
    if (combiner_ != nullptr)
        for (const ByteRun& run : runs)
            combiner_->discard(target, run.range());
    note_put(target, runs, false);
    return made_room;
}

/// A put of this process was started or combined: cached bytes that it overlaps take its values.
void WindowCache::note_put(Rank target, std::span<const ByteRun> runs, bool combined) noexcept {
    // What was cached of a bypassed target is forgotten before it is used again.
    if (!combined && note_bypassed(target, Bypassed::updates)) return;
    ++counters_.puts;
    update_started(target, runs, combined);
    if (cache_ == nullptr) return;
    for (const ByteRun& run : runs)
        cache_->update(target, run.offset, run.size, run.origin);
}

/// A get sees what this process has put: all of it is here, or what is leaves before the get is started.
/// \return whether it has been served
bool WindowCache::read_combined(const Get& get, Guard& guard) {
    const CombinedPuts& combined = combiner_->combined();
    const auto is_served = [&](const ByteRun& run) {
        return combined.read(get.target, run.range(), run.origin);
    };
    if (std::ranges::all_of(get.runs, is_served)) {
        count(AccessType::hit, get.size_bytes, 0);
        return true;
    }
    const auto overlaps = [&](const ByteRun& run) { return combined.any(get.target, run.range()); };
    if (!std::ranges::any_of(get.runs, overlaps)) return false;
    if (threaded_) guard.unlock();
    send_combined(get.target);
    if (threaded_) guard.lock();
    return false;
}

/// All that is combined leaves; and if that is not enough, what has been under way for longest is waited
/// for, where the epoch allows it.
int WindowCache::make_room(Guard& guard) {
    const Moment since = issued_;
    const Rank oldest = combiner_->oldest_target();
    const bool may_flush = oldest >= 0 && epochs_.may_flush(oldest);
    if (threaded_) guard.unlock();
    const int status = send_combined(all_targets);
    const int flushed = may_flush ? transfers_.flush_local(oldest) : 0;
    if (threaded_) guard.lock();
    if (may_flush && flushed == 0) combiner_->completed(oldest, since);
    return status != 0 ? status : flushed;
}

int WindowCache::send_combined(Rank target) {
    if (target == all_targets) return send_each_combined();
    // Who finds nothing combined because another thread is sending it has to find it sent.
    const SendGuard sending = threaded_ ? SendGuard(send_mutex_) : SendGuard();
    Guard guard = lock();
    if (!holds_combined(target)) return 0;
    Target& t = at(target);
    const std::uint64_t begin_ticks = ticks();
    int status = 0;
    while (combiner_->combined().any(target)) {
        const int sent = send(target, combiner_->next_message(target), guard);
        if (status == 0) status = sent;
    }
    t.put_cost.record_sent(ticks() - begin_ticks);
    if (settings_.bypass == Bypass::on && t.put_cost.is_interval_over())
        t.put_breaker.record(t.put_cost.end_interval());
    set_route(t);
    return status;
}

int WindowCache::send_each_combined() {
    int status = 0;
    const auto send = [&](Rank target) {
        const int sent = send_combined(target);
        if (status == 0) status = sent;
    };
    if (!threaded_) {
        // What is combined for a target is outstanding there.
        if (holds_combined(all_targets)) std::ranges::for_each(active_, send);
        return status;
    }
    for (Rank target = 0; target < ranks(); ++target)
        send(target);
    return status;
}

/// Starts a message. What the library refuses is lost, as it would have been with a put of its own: then the
/// cache must not have it. What an exception leaves behind is combined again.
int WindowCache::send(Rank target, std::span<const ByteRun> runs, Guard& guard) {
    const std::size_t each = runs.size() >= fewest_together ? runs.size() : 1;
    std::size_t begun = 0;
    const auto start = [&] {
        int status = 0;
        for (; begun < runs.size(); begun += each) {
            const int one = transfers_.start_put(target, runs.subspan(begun, each));
            if (status == 0) status = one;
        }
        return status;
    };
    if (threaded_) guard.unlock();
    return and_then(start, [&](int status) {
        if (threaded_) guard.lock();
        combiner_->started(issued_);
        if (status == has_thrown) begun += each;
        counters_.put_messages += begun / each;
        if (status != 0 && cache_ != nullptr)
            for (const ByteRun& run : runs)
                cache_->drop(target, run.offset, run.size);
        const std::span<const ByteRun> left = runs.subspan(std::min(begun, runs.size()));
        if (!left.empty() && combiner_->has_room(left))
            for (const ByteRun& run : left)
                combiner_->add(target, run);
    });
}

}  // namespace nearfetch
