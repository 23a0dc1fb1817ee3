// SPDX-License-Identifier: Apache-2.0
//
// Puts, the cleaning of dirty pages, and releases (000, section III-C).

#include <algorithm>

#include "base/copy.hpp"
#include "cache/page_cache/page_cache.hpp"
#include "cache/page_cache/parts.hpp"

namespace nearfetch {

/// Written bytes without a hole, in one page or in several.
struct PageCache::Run {
    Rank target;
    ByteRange range;
};

// A PUT that failed is not waited for, but started again.
Step PageCache::wait_for(Operation& op) noexcept {
    if (op.state_ == Operation::State::failed) {
        op.state_ = Operation::State::planned;
        return start(op);
    }
    return {Step::Kind::wait, &op, op.id};
}

// Whether what has to wait for an operation is to be begun all the same, and held behind it; else it is
// worked out anew when that is complete.
bool PageCache::may_hold(const Operation& before, const Turn& turn) const noexcept {
    return turn.is_before(before) && operations_.spare() > 0 && before.state_ != Operation::State::failed;
}

// What is begun later has to wait for it, and next_due() says when it has to be started.
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

// What was begun before a held operation, and has to be complete before that is started; nullptr: nothing.
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
    settle();
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

// Nobody starts a PUT again that failed but who needs it done, and these cannot wait for that.
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

// The same as wait_for() for an operation that is somebody else's.
Step PageCache::held_up_by(Operation& op, Turn& turn) noexcept {
    if (turn.last == 0) turn.last = operations_.last_id();
    ++counters_.waits;
    return wait_for(op);
}

// The GET that was begun first of those that fetch lines of the range, for pages or for who waits.
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

// What a new operation on the range has to wait for: the PUT of its bytes, or any when none is spare.
Operation* PageCache::in_the_way(Rank target, ByteRange range) const noexcept {
    Operation* const put = operations_.put_at(target, range);
    return put != nullptr || operations_.spare() > 0 ? put : operations_.oldest();
}

// Whether the page that was not written for longest leaves before its entry is needed: its message cannot
// become any fuller, and what goes now need not be waited for at the release. Half of the entries stay for
// what is written again soon.
bool PageCache::oldest_is_due() noexcept {
    if (2 * dirty_.count() < config_.dirty_pages || dirty_.count() == 0 ||
        operations_.spare() <= operations_kept_)
        return false;
    const Page& page = pages_[dirty_.page(dirty_.oldest())];
    const Run run = run_at(page, dirty_.next_set(page.dirty, 0));
    const std::uint64_t page_bytes = page_mask_ + 1;
    const std::uint64_t most = std::uint64_t{lines_per_operation_} << line_shift_;
    return run.range.size() >= std::max(page_bytes, most - page_bytes + 1) &&
           fetching(run.target, run.range) == nullptr && in_the_way(run.target, run.range) == nullptr;
}

Step PageCache::put(PutRequest& r) {
    NF_EXPECT(r.size_bytes > 0 && r.target >= 0 && r.range().end <= offsets_end);
    settle();
    if (r.size_bytes >= config_.bulk_bytes) return put_bulk(r);
    while (r.next_ < r.range().end) {
        const std::uint64_t number = r.next_ >> page_shift_;
        const std::uint64_t skip = r.next_ & page_mask_;
        const std::uint64_t size = std::min(page_mask_ + 1 - skip, r.range().end - r.next_);
        Page* page = lookup(r.target, number);
        if ((page == nullptr || page->dirty == Page::nothing) && (dirty_.full() || oldest_is_due()))
            return clean(dirty_.oldest(), r.turn_);
        if (page == nullptr) {
            page = make_page(r.target, number);
            // At most half of the pages are dirty: the others are waiting for what is on its way to them.
            if (page == nullptr) return held_up_by(*operations_.oldest(), r.turn_);
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

// The run of written bytes that begins there, together with what goes on in the pages before and after it, as
// far as one message may go and nothing has to be waited for.
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

// The run leaves its pages: they are clean there.
void PageCache::take_run(const Run& run, Operation& op) noexcept {
    for_each_part(run.range, [&](const Part& part) {
        Page& page = *lookup(run.target, part.number);
        copy_bytes(op.buffer + (part.offset - run.range.begin), data(page) + part.begin, part.size());
        set_clean(page, part.begin, part.end);
        // A line that is wholly ours needs no fetching: nobody else may have written it since.
        const std::uint64_t first = (part.begin + (1u << line_shift_) - 1) >> line_shift_;
        const std::uint64_t beyond = part.end >> line_shift_;
        if (first < beyond) page.ready |= line_mask(first, beyond - 1) & ~page.ahead;
    });
}

// The bytes need no write-back any more. \pre the page is dirty
void PageCache::set_clean(Page& page, std::uint64_t begin, std::uint64_t end) noexcept {
    dirty_.clear(page.dirty, begin, end);
    if (!dirty_.empty(page.dirty)) return;
    dirty_.detach(page.dirty);
    page.dirty = Page::nothing;
}

// One PUT of what the entry has, or what it has to wait for.
Step PageCache::clean(std::uint32_t entry, Turn& turn) noexcept {
    const Page& page = pages_[dirty_.page(entry)];
    const std::uint64_t begin = dirty_.next_set(entry, 0);
    const Run run = run_at(page, begin);
    // What arrives goes around the written bytes, in pages and to who waits for it; so these have to stay.
    Operation* const get = fetching(run.target, run.range);
    if (get != nullptr && !may_hold(*get, turn)) return held_up_by(*get, turn);
    if (Operation* const op = in_the_way(run.target, run.range)) return held_up_by(*op, turn);
    Operation& op = operations_.begin(Operation::Kind::put, run.target, run.range);
    if (get != nullptr) return hold(op);
    take_run(run, op);
    return start(op);
}

Step PageCache::release(ReleaseRequest& r) {
    settle();
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
            return clean(entry, r.turn_);
        }
        r.cleaned_ = true;
        r.last_put_ = operations_.last_id();
        ++counters_.releases;
    }
    for (Operation* op : operations_.puts())
        if (op->id <= r.last_put_ && concerns(op->target, op->range())) return wait_for(*op);
    return {};
}

}  // namespace nearfetch
