// SPDX-License-Identifier: Apache-2.0
//
// Puts, the cleaning of dirty pages, and releases (000, section III-C).

#include <algorithm>

#include "base/copy.hpp"
#include "cache/page_cache/page_cache.hpp"
#include "cache/page_cache/parts.hpp"

namespace nearfetch {

/// Contiguous dirty bytes, in one or more pages.
struct PageCache::Run {
    Rank target;
    ByteRange range;
};

// A failed PUT is started again, not waited for.
Step PageCache::wait_for(Operation& op) noexcept {
    if (op.state_ == Operation::State::failed) {
        op.state_ = Operation::State::planned;
        return start(op);
    }
    return {Step::Kind::wait, &op, op.id};
}

// Whether an operation may be created now and deferred behind `before`. Else it is computed anew when that is
// complete.
bool PageCache::may_hold(const Operation& before, const WaitTicket& ticket) const noexcept {
    return ticket.is_before(before) && operations_.spare() > 0 && before.state_ != Operation::State::failed;
}

// Defers an operation; next_due() returns it when it has to start. Later operations wait for it.
Step PageCache::hold(Operation& op) noexcept {
    op.state_ = Operation::State::held;
    ++held_;
    ++counters_.waits;
    return wait_for(op);
}

Operation& PageCache::let_go(Operation& op) noexcept {
    --held_;
    op.state_ = Operation::State::planned;
    return op;
}

// The incomplete operation that a deferred one waits for; nullptr: none.
Operation* PageCache::predecessor(const Operation& op) const noexcept {
    Operation* const put = operations_.put_at(op.target, op.range());
    if (put != nullptr && put->id < op.id) return put;
    if (op.kind == Operation::Kind::get) return nullptr;
    Operation* const get = fetching(op.target, op.range());
    return get != nullptr && get->id < op.id ? get : nullptr;
}

Operation* PageCache::next_due() noexcept {
    if (held_ == 0) [[likely]]
        return nullptr;
    merge_fetched();
    for (const auto* list : {&operations_.gets(), &operations_.puts()})
        for (Operation* op : *list) {
            if (op->state_ != Operation::State::held) continue;
            if (Operation* const first = predecessor(*op)) {
                if (first->state_ != Operation::State::failed) continue;
                first->state_ = Operation::State::planned;
                return first;
            }
            if (op->kind == Operation::Kind::put) take_run({op->target, op->range()}, *op);
            return &let_go(*op);
        }
    return nullptr;
}

// A failed PUT is restarted by whoever needs it done. Deferred GETs cannot do that, so they fail.
void PageCache::fail_held_gets(const Operation& put, int status, std::uint64_t now_ticks) noexcept {
    const auto is_behind = [&](const Operation* op) {
        return op->state_ == Operation::State::held && op->id > put.id && op->target == put.target &&
               op->range().overlaps(put.range());
    };
    const auto& gets = operations_.gets();
    while (held_ != 0) {
        const auto found = std::find_if(gets.begin(), gets.end(), is_behind);
        if (found == gets.end()) return;
        complete(let_go(**found), status, now_ticks);
    }
}

// As wait_for(), for an operation of another request.
Step PageCache::wait_behind(Operation& op, WaitTicket& ticket) noexcept {
    if (ticket.last == 0) ticket.last = operations_.last_id();
    ++counters_.waits;
    return wait_for(op);
}

// The oldest GET of lines of the range, for pages or for a request.
Operation* PageCache::fetching(Rank target, ByteRange range) const noexcept {
    Operation* first = nullptr;
    for (Operation* op : operations_.gets()) {
        const LineMask lines = op->wanted_ | op->delivery_;
        if (lines != 0 && op->target == target && op->range().overlaps(range) &&
            (lines & lines_within(*op, range)) != 0 && (first == nullptr || op->id < first->id))
            first = op;
    }
    return first;
}

// What a new operation on the range waits for: an outstanding PUT of its bytes, or any if the table is full.
Operation* PageCache::find_conflict(Rank target, ByteRange range) const noexcept {
    Operation* const put = operations_.put_at(target, range);
    return put != nullptr || operations_.spare() > 0 ? put : operations_.oldest();
}

// Whether the least recently written page should be cleaned early. Its message cannot grow, and the release
// need not wait for it then. Half of the entries stay for pages that are written again soon.
bool PageCache::oldest_is_due() noexcept {
    if (2 * dirty_.count() < config_.dirty_pages || dirty_.count() == 0 ||
        operations_.spare() <= operations_kept_)
        return false;
    const Page& page = pages_[dirty_.page(dirty_.oldest())];
    const Run run = run_at(page, dirty_.next_set(page.dirty, 0));
    const std::uint64_t page_bytes = page_mask_ + 1;
    const std::uint64_t most = std::uint64_t{lines_per_operation_} << line_shift_;
    return run.range.size() >= std::max(page_bytes, most - page_bytes + 1) &&
           fetching(run.target, run.range) == nullptr && find_conflict(run.target, run.range) == nullptr;
}

Step PageCache::put(PutRequest& r) {
    NF_EXPECT(r.size_bytes > 0 && r.target >= 0 && r.range().end <= offsets_end);
    merge_fetched();
    if (r.size_bytes >= config_.bulk_bytes) return put_bulk(r);
    while (r.next_ < r.range().end) {
        const std::uint64_t number = r.next_ >> page_shift_;
        const std::uint64_t skip = r.next_ & page_mask_;
        const std::uint64_t size = std::min(page_mask_ + 1 - skip, r.range().end - r.next_);
        Page* page = lookup(r.target, number);
        if ((page == nullptr || page->dirty == Page::nothing) && (dirty_.full() || oldest_is_due()))
            return clean(dirty_.oldest(), r.ticket_);
        if (page == nullptr) {
            page = make_page(r.target, number);
            // At most half of the pages are dirty, so the others are being fetched.
            if (page == nullptr) return wait_behind(*operations_.oldest(), r.ticket_);
        } else if (page != written_) {
            queues_.used(*page);
        }
        if (page->dirty == Page::nothing)
            page->dirty = dirty_.attach(static_cast<std::uint32_t>(page - pages_.data()));
        copy_bytes(data(*page) + skip, r.from + (r.next_ - r.offset), size);
        dirty_.set(page->dirty, skip, skip + size);
        written_ = page;
        r.next_ += size;
    }
    ++counters_.puts;
    return {};
}

bool PageCache::arriving_in(const Page& page, std::uint64_t begin, std::uint64_t end) const noexcept {
    return (page.arriving & line_mask(begin >> line_shift_, (end - 1) >> line_shift_)) != 0;
}

// The run of dirty bytes that begins there. It extends into neighbour pages, up to the message limit, as long
// as nothing has to be waited for.
PageCache::Run PageCache::run_at(const Page& page, std::uint64_t begin) noexcept {
    const std::uint64_t page_bytes = page_mask_ + 1;
    const std::uint64_t most = std::uint64_t{lines_per_operation_} << line_shift_;
    const std::uint64_t base = page.number << page_shift_;
    const std::uint64_t end = dirty_.next_clear(page.dirty, begin);
    Run run{page.target, {base + begin, base + end}};
    while ((run.range.begin & page_mask_) == 0 && run.range.begin != 0) {
        const Page* const before = lookup(page.target, (run.range.begin >> page_shift_) - 1);
        if (before == nullptr || before->dirty == Page::nothing) break;
        const std::uint64_t tail = dirty_.tail_begin(before->dirty);
        if (tail == page_bytes || run.range.size() + (page_bytes - tail) > most ||
            arriving_in(*before, tail, page_bytes))
            break;
        run.range.begin -= page_bytes - tail;
    }
    while ((run.range.end & page_mask_) == 0) {
        const Page* const after = lookup(page.target, run.range.end >> page_shift_);
        if (after == nullptr || after->dirty == Page::nothing) break;
        const std::uint64_t head = dirty_.next_clear(after->dirty, 0);
        if (head == 0 || run.range.size() + head > most || arriving_in(*after, 0, head)) break;
        run.range.end += head;
    }
    return run;
}

// Puts on both sides of a border between two memories become two PUTs.
void PageCache::end_at_border(Run& run) const noexcept {
    const ByteRange first = memory_map_->around(run.target, run.range);
    if (first.contains(run.range)) return;
    if (first.contains(run.range.begin, 1)) {
        run.range.end = first.end;
        return;
    }
    const ByteRange last = memory_map_->around(run.target, {run.range.end - 1, run.range.end});
    if (last.contains(run.range.end - 1, 1) && last.begin > run.range.begin) run.range.end = last.begin;
}

// Moves the run to the operation: its pages are clean there.
void PageCache::take_run(const Run& run, Operation& op) noexcept {
    for_each_part(run.range, [&](const Part& part) {
        Page& page = *lookup(run.target, part.number);
        copy_bytes(op.buffer + (part.offset - run.range.begin), data(page) + part.begin, part.size());
        set_clean(page, part.begin, part.end);
        // A line that was written entirely is valid: no other rank may have written it since.
        const std::uint64_t first = (part.begin + (1u << line_shift_) - 1) >> line_shift_;
        const std::uint64_t beyond = part.end >> line_shift_;
        if (first < beyond) page.ready |= line_mask(first, beyond - 1) & ~page.speculative;
    });
}

// The bytes need no write-back any more. \pre the page is dirty
void PageCache::set_clean(Page& page, std::uint64_t begin, std::uint64_t end) noexcept {
    dirty_.clear(page.dirty, begin, end);
    if (!dirty_.empty(page.dirty)) return;
    dirty_.detach(page.dirty);
    page.dirty = Page::nothing;
}

// Starts one PUT of the entry's bytes, or returns what it waits for.
Step PageCache::clean(std::uint32_t entry, WaitTicket& ticket) noexcept {
    const Page& page = pages_[dirty_.page(entry)];
    const std::uint64_t begin = dirty_.next_set(entry, 0);
    Run run = run_at(page, begin);
    if (memory_map_ != nullptr) end_at_border(run);
    // An outstanding GET merges around dirty bytes, so these have to stay until it is complete.
    Operation* const get = fetching(run.target, run.range);
    if (get != nullptr && !may_hold(*get, ticket)) return wait_behind(*get, ticket);
    if (Operation* const op = find_conflict(run.target, run.range)) return wait_behind(*op, ticket);
    Operation& op = operations_.begin(Operation::Kind::put, run.target, run.range);
    if (get != nullptr) return hold(op);
    take_run(run, op);
    return start(op);
}

Step PageCache::release(ReleaseRequest& r) {
    merge_fetched();
    const bool all = r.target == ReleaseRequest::every_target;
    const auto concerns = [&](Rank target, ByteRange range) {
        return all || (target == r.target && range.overlaps(r.range));
    };
    if (!r.begun_) {
        r.begun_ = true;
        r.last_page_ = dirty_.attached();
    }
    if (!r.cleaned_) {
        for (std::uint32_t entry = dirty_.oldest(); entry != DirtyPages::nothing;
             entry = dirty_.newer(entry)) {
            if (dirty_.attached(entry) > r.last_page_) continue;
            const Page& page = pages_[dirty_.page(entry)];
            const std::uint64_t base = page.number << page_shift_;
            if (!concerns(page.target, {base, base + page_mask_ + 1})) continue;
            if (!all) {
                const std::uint64_t begin = std::max(r.range.begin, base) - base;
                const std::uint64_t end = std::min(r.range.end - base, page_mask_ + 1);
                if (!dirty_.any(entry, begin, end)) continue;
            }
            return clean(entry, r.ticket_);
        }
        r.cleaned_ = true;
        r.last_put_ = operations_.last_id();
        ++counters_.releases;
    }
    for (Operation* op : operations_.puts())
        if (op->id <= r.last_put_ && concerns(op->target, op->range())) return wait_for(*op);
    return {};
}

Step PageCache::drain(DrainRequest& r) {
    if (r.last_ == 0) r.last_ = operations_.last_id();
    // Nothing on its way enters the pages. Again at the end: other tasks may have fetched neighbour bytes.
    forget(r.target, r.range);
    for (const auto* list : {&operations_.gets(), &operations_.puts()})
        for (Operation* op : *list)
            if (op->id <= r.last_ && op->target == r.target && op->range().overlaps(r.range) &&
                op->is_outstanding(op->id))
                return wait_for(*op);
    r.done = !r.discards || discard_writes(r.target, r.range);
    return {};
}

bool PageCache::discard_writes(Rank target, ByteRange range) noexcept {
    for_each_page(target, range, [&](Page& page) {
        const std::uint64_t base = page.number << page_shift_;
        if (page.dirty != Page::nothing)
            set_clean(page, std::max(range.begin, base) - base, std::min(range.end - base, page_mask_ + 1));
    });
    while (Operation* const op = operations_.put_at(target, range))
        if (op->state_ != Operation::State::failed || !cut_out(*op, range)) return false;
    return true;
}

// Takes the range's bytes out of a failed PUT. \return false if it would need another operation
bool PageCache::cut_out(Operation& op, ByteRange range) noexcept {
    const ByteRange all = op.range();
    const bool head = all.begin < range.begin, tail = range.end < all.end;
    if (head && tail) {
        if (operations_.spare() == 0) return false;
        Operation& rest = operations_.begin(Operation::Kind::put, op.target, {range.end, all.end});
        copy_bytes(rest.buffer, op.buffer + (range.end - all.begin), rest.size_bytes);
        rest.state_ = Operation::State::failed;
    }
    if (head) {
        op.size_bytes = range.begin - all.begin;
    } else if (tail) {
        op.buffer += range.end - all.begin;
        op.offset = range.end;
        op.size_bytes = all.end - range.end;
    } else {
        operations_.end(op);
    }
    return true;
}

}  // namespace nearfetch
