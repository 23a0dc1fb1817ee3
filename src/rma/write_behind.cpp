// SPDX-License-Identifier: Apache-2.0
#include "rma/write_behind.hpp"

#include "base/assert.hpp"
#include "base/ticks.hpp"
#include "rma/cached_window.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t page_bytes = CollectedPuts::page_bytes;

/// With fewer runs than this, a message for each is quicker than making a datatype of them.
constexpr std::size_t fewest_together = 16;

}  // namespace

WriteBehind::WriteBehind(Rank ranks, std::uint64_t buffer_bytes)
    : collected_(ranks, buffer_bytes / 2), memory_(new std::byte[ring_bytes()]) {
    // All that is collected for all targets may have to be sent at any time, one of them around the ring's
    // end.
    message_.reserve(CollectedPuts::most_runs);
    under_way_.reserve(most_under_way + static_cast<std::size_t>(ranks) + 1);
}

bool WriteBehind::has_room(std::span<const Piece> pieces) const noexcept {
    std::uint64_t pages = 0;
    for (const Piece& piece : pieces)
        pages += CollectedPuts::pages_of(piece.range());
    // The ring is as large as all pages: what is collected has room in it, if no more than that is used.
    return pages * page_bytes + used_ <= collected_.free_pages() * page_bytes &&
           under_way_.size() < most_under_way;
}

bool WriteBehind::has(Rank target) const noexcept {
    return collected_.any(target) ||
           std::ranges::any_of(under_way_, [target](const UnderWay& each) { return each.target == target; });
}

std::span<const Piece> WriteBehind::next_message(Rank target) noexcept {
    const std::uint64_t end = (begin_ + used_) % ring_bytes();
    const std::uint64_t room = std::min(ring_bytes() - end, ring_bytes() - used_);
    NF_EXPECT(room > 0);
    std::byte* from = memory_.get() + end;
    if (under_way_.empty() || under_way_.back().target != target) under_way_.push_back({target, 0, 0});
    UnderWay& last = under_way_.back();
    last.issued = not_started;
    message_.clear();
    for (const ByteRange& run : collected_.take(target, {from, room})) {
        message_.push_back({run.begin, run.size(), from});
        from += run.size();
        used_ += run.size();
        last.bytes += run.size();
    }
    return message_;
}

void WriteBehind::completed(Rank target, std::uint64_t since) noexcept {
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

/// Whether a target's puts are collected, if they can be.
bool CachedWindow::collects(const Target& t) const noexcept {
    return settings_.bypass == Bypass::off || t.put_bet.collects();
}

/// Whether these can be.
bool CachedWindow::collectable(Rank target, const Target& t, std::span<const Piece> pieces) const noexcept {
    if (!keeps_data_ || t.bet.asleep() || !epochs_.may_access(target)) return false;
    std::uint64_t size = 0;
    for (const Piece& piece : pieces) {
        // What the library might refuse meets the library.
        if (piece.origin == nullptr || piece.size > settings_.write_behind_bytes ||
            !ByteRange{0, t.memory.extent_bytes}.contains(piece.offset, piece.size))
            return false;
        size += piece.size;
    }
    return size != 0 && size <= settings_.write_behind_bytes;
}

bool CachedWindow::make_write_behind() noexcept {
    if (behind_ != nullptr) return true;
    try {
        behind_ = std::make_unique<WriteBehind>(ranks(), settings_.write_behind_buffer_bytes);
    } catch (const std::bad_alloc&) {
        settings_.write_behind_bytes = 0;
    }
    return behind_ != nullptr;
}

bool CachedWindow::collect(Rank target, Target& t, std::span<const Piece> pieces) noexcept {
    const std::uint64_t begin_ticks = t.put_bet.times_collecting() ? ticks() : 0;
    if (!behind_->has_room(pieces)) return false;
    for (const Piece& piece : pieces)
        behind_->add(target, piece);
    ++counters_.puts_collected;
    note_put(target, pieces, true);
    if (t.route == Route::pass) set_route(t);
    t.put_bet.collected(begin_ticks == 0 ? 0 : ticks() - begin_ticks);
    return true;
}

bool CachedWindow::try_collect(Rank target, std::uint64_t offset, std::uint64_t size,
                               const void* origin) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    const Piece piece{offset, size, static_cast<std::byte*>(const_cast<void*>(origin))};
    return behind_ != nullptr && collects(t) && collectable(target, t, {&piece, 1}) &&
           collect(target, t, {&piece, 1});
}

/// After one that went alone: how many need not be looked at.
std::uint32_t CachedWindow::puts_to_pass(Target& t, bool was_collectable) const noexcept {
    constexpr std::uint32_t others = 255;
    const bool wanted = keeps_data_ && settings_.write_behind_bytes != 0 && !t.bet.asleep();
    if (wanted && collects(t)) return 0;
    return was_collectable ? t.put_bet.go_alone() : others;
}

int CachedWindow::put(Rank target, std::span<const Piece> pieces, PutStarter& starter, bool may_wait,
                      bool* started) {
    if (started != nullptr) *started = false;
    Guard guard = lock();
    Target& t = at(target);
    int made_room = 0;
    const bool is_collectable = may_wait && collectable(target, t, pieces);
    if (is_collectable && collects(t) && make_write_behind()) {
        if (collect(target, t, pieces)) return 0;
        made_room = make_room(guard);
        if (collect(target, t, pieces)) return made_room;
    }
    if (started != nullptr) *started = true;
    const bool timed = is_collectable && t.put_bet.times_alone();
    if (threaded_) guard.unlock();
    const std::uint64_t begin_ticks = timed ? ticks() : 0;
    const int status = starter.start();
    const std::uint64_t put_ticks = timed ? ticks() - begin_ticks : 0;
    if (threaded_) guard.lock();
    if (status != 0) return status;
    if (is_collectable) t.put_bet.went_alone(put_ticks);
    // What it has overwritten must not arrive after it.
    if (behind_ != nullptr)
        for (const Piece& piece : pieces)
            behind_->discard(target, piece.range());
    note_put(target, pieces, false);
    if (t.is_left_alone()) t.puts_to_pass = puts_to_pass(t, is_collectable);
    return made_room;
}

/// A put of this process was started or collected: cached bytes that it overlaps take its values.
void CachedWindow::note_put(Rank target, std::span<const Piece> pieces, bool collected) noexcept {
    // What was cached of a target that sleeps was forgotten when it fell asleep.
    if (!collected && note_passed(target, Passed::updates)) return;
    ++counters_.puts;
    update_started(target, pieces, collected);
    if (cache_ == nullptr) return;
    for (const Piece& piece : pieces)
        cache_->update(target, piece.offset, piece.size, piece.origin);
}

void CachedWindow::put_went_by(Rank target, const Piece& piece) noexcept {
    Target& t = at(target);
    t.updates_also({&piece, 1});
    note(target, t, Passed::updates);
    epochs_.accessed();
    if (cache_ != nullptr) cache_->update(target, piece.offset, piece.size, piece.origin);
}

/// A get sees what this process has put: all of it is here, or what is leaves before the get is started.
/// \return whether it has been served
bool CachedWindow::read_collected(const Get& get, Guard& guard) {
    const CollectedPuts& collected = behind_->collected();
    const auto is_served = [&](const Piece& piece) {
        return collected.read(get.target, piece.range(), piece.origin);
    };
    if (std::ranges::all_of(get.pieces, is_served)) {
        count(AccessType::hit, get.size_bytes, 0);
        return true;
    }
    const auto overlaps = [&](const Piece& piece) { return collected.any(get.target, piece.range()); };
    if (!std::ranges::any_of(get.pieces, overlaps)) return false;
    if (threaded_) guard.unlock();
    send_collected(get.target);
    if (threaded_) guard.lock();
    return false;
}

/// All that is collected leaves; and if that is not enough, what has been under way for longest is waited
/// for, where the epoch allows it.
int CachedWindow::make_room(Guard& guard) {
    const Moment since = issued_;
    const Rank oldest = behind_->oldest_target();
    const bool may_flush = oldest >= 0 && epochs_.may_flush(oldest);
    if (threaded_) guard.unlock();
    const int status = send_collected(all_targets);
    const int flushed = may_flush ? transfers_.flush_local(oldest) : 0;
    if (threaded_) guard.lock();
    if (may_flush && flushed == 0) behind_->completed(oldest, since);
    return status != 0 ? status : flushed;
}

int CachedWindow::send_collected(Rank target) {
    if (target == all_targets) return send_each_collected();
    // Who finds nothing collected because another thread is sending it has to find it sent.
    const SendGuard sending = threaded_ ? SendGuard(send_mutex_) : SendGuard();
    Guard guard = lock();
    if (!holds_collected(target)) return 0;
    Target& t = at(target);
    const std::uint64_t begin_ticks = ticks();
    int status = 0;
    while (behind_->collected().any(target)) {
        const int sent = send(target, behind_->next_message(target), guard);
        if (status == 0) status = sent;
    }
    t.put_bet.sent(ticks() - begin_ticks);
    set_route(t);
    return status;
}

int CachedWindow::send_each_collected() {
    int status = 0;
    const auto send = [&](Rank target) {
        const int sent = send_collected(target);
        if (status == 0) status = sent;
    };
    if (!threaded_) {
        // What is collected for a target is outstanding there.
        if (holds_collected(all_targets)) std::ranges::for_each(active_, send);
        return status;
    }
    for (Rank target = 0; target < ranks(); ++target)
        send(target);
    return status;
}

/// Starts a message. What the library refuses is lost, as it would have been with a put of its own: then the
/// cache must not have it. What an exception leaves behind is collected again.
int CachedWindow::send(Rank target, std::span<const Piece> runs, Guard& guard) {
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
        behind_->started(issued_);
        if (status == has_thrown) begun += each;
        counters_.put_messages += begun / each;
        if (status != 0 && cache_ != nullptr)
            for (const Piece& run : runs)
                cache_->drop(target, run.offset, run.size);
        const std::span<const Piece> left = runs.subspan(std::min(begun, runs.size()));
        if (!left.empty() && behind_->has_room(left))
            for (const Piece& run : left)
                behind_->add(target, run);
    });
}

}  // namespace nearfetch
