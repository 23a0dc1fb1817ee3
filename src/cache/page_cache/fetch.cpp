// SPDX-License-Identifier: Apache-2.0
//
// Gets and prefetches: what is resident of a range, what has to be fetched, and how it enters the pages (000,
// sections III-A and III-C).

#include <algorithm>
#include <bit>
#include <utility>

#include "base/copy.hpp"
#include "cache/page_cache/page_cache.hpp"
#include "cache/page_cache/parts.hpp"

namespace nearfetch {

namespace {

std::uint64_t first_of(LineMask lines) noexcept { return static_cast<unsigned>(std::countr_zero(lines)); }
std::uint64_t last_of(LineMask lines) noexcept {
    return 63u - static_cast<unsigned>(std::countl_zero(lines));
}
std::uint64_t count_of(LineMask lines) noexcept {
    return lines == 0 ? 0
                      : static_cast<unsigned>(
                            // std::popcount is a call on processors without the instruction
                            std::popcount(lines));
}

/// Calls visit(first, last) for each run of adjacent lines.
template <class Visitor>
void for_each_run(LineMask lines, Visitor&& visit) noexcept {
    while (lines != 0) {
        const std::uint64_t first = first_of(lines);
        const LineMask beyond = ~(lines >> first);
        const std::uint64_t last = first + (beyond == 0 ? 64 : first_of(beyond)) - 1;
        visit(first, last);
        lines &= ~line_mask(first, last);
    }
}

}  // namespace

Step PageCache::get(const TaskClock& task, GetRequest& r) {
    NF_EXPECT(r.size_bytes > 0 && r.target >= 0 && r.range().end <= offsets_end &&
              (memory_map_ != nullptr || r.readable.contains(r.range())));
    if (memory_map_ != nullptr) r.readable = {};  // other tasks may have run
    const bool bulk = r.bypass_pages || r.size_bytes >= config_.bulk_bytes;
    while (r.next_ < r.range().end) {
        const Step step = bulk ? get_bulk(task, r) : get_window(task, r);
        if (step.kind != Step::Kind::done) return step;
    }
    // The program's own GETs are started; read-ahead comes after them.
    while (r.mark_ != 0 && operations_.spare() > operations_kept_) {
        ask_readable(r);
        const ByteRange range = read_ahead_.next(r.mark_, r.target, r.readable);
        if (range.empty()) break;
        if (Operation* op = plan_read_ahead(task, r.target, range, r.readable, r.mark_)) return start(*op);
    }
    r.mark_ = 0;
    if (r.outstanding_ != 0) {
        const auto own = std::find_if(operations_.gets().begin(), operations_.gets().end(),
                                      [&](const Operation* op) { return op->get_ == &r; });
        return wait_for(**own);
    }
    if (bulk)
        ++counters_.bulk_gets;
    else
        ++(r.fetched_ || r.status != 0 ? counters_.misses
           : r.waited_                 ? counters_.pending_hits
                                       : counters_.hits);
    return {};
}

PageCache::Window PageCache::plan_lookup(const TaskClock& task, Rank target, ByteRange range) noexcept {
    Window window{range, range.begin >> line_shift_, 0};
    window.looked_up = true;
    for_each_part(range, [&](const Part& part) {
        const Page* const page = lookup(target, part.number);
        LineMask absent = part.lines;
        LineMask arriving = 0;
        if (page != nullptr) {
            if (fresh(task, *page)) absent &= ~valid_within(*page, part.begin, part.end);
            // Reading back dirty bytes needs nothing else of their line.
            if (page->dirty != Page::nothing)
                for (LineMask left = absent; left != 0; left &= left - 1) {
                    const std::uint64_t line = first_of(left);
                    if (dirty_.all(page->dirty, std::max(part.begin, line << line_shift_),
                                   std::min(part.end, (line + 1) << line_shift_)))
                        absent &= ~(LineMask{1} << line);
                }
            arriving = absent & page->arriving;
        }
        window.missing |= recounted(absent, part.first_line, window.first_line);
        window.arriving |= recounted(arriving, part.first_line, window.first_line);
    });
    return window;
}

// Advances a request by what one operation can fetch.
Step PageCache::get_window(const TaskClock& task, GetRequest& r) {
    const std::uint64_t first_line = r.next_ >> line_shift_;
    const std::uint64_t end = std::min(r.range().end, (first_line + lines_per_operation_) << line_shift_);
    const LineMask all = line_mask(0, ((end - 1) >> line_shift_) - first_line);
    const std::uint64_t number = r.next_ >> page_shift_;
    // Common case: find() failed because there is no page.
    Window window{{r.next_, end}, first_line, all};
    if (number != (end - 1) >> page_shift_ || operations_.spare() == 0 ||
        lookup(r.target, number) != nullptr) {
        merge_fetched();
        window = plan_lookup(task, r.target, window.range);
    }
    if (window.arriving != 0)
        if (Operation* const op = arrival(r, window)) return wait_behind(*op, r.ticket_);
    if (window.missing == 0) {
        copy_resident(r, window);
        r.next_ = end;
        return {};
    }
    ask_readable(r);
    // The network may reorder a PUT and a later GET of these lines.
    ByteRange lines = line_bytes_of(first_line + first_of(window.missing),
                                    first_line + last_of(window.missing), r.readable);
    if (config_.wait_for_writes) {
        const Step step = write_back(r, window.range);
        if (step.kind != Step::Kind::done) return step;
        lines = {lines.begin & ~page_mask_, ((lines.end - 1) | page_mask_) + 1};
    }
    Operation* const before = find_conflict(r.target, lines);
    if (before != nullptr && !may_hold(*before, r.ticket_)) return wait_behind(*before, r.ticket_);
    Operation& op = plan_fetch(task, r, window);
    if (window.missing != all) copy_resident(r, window);
    r.next_ = end;
    return before == nullptr ? start(op) : hold(op);
}

// A get of which nothing is known may fetch its own bytes.
void PageCache::ask_readable(GetRequest& r) const noexcept {
    if (!r.readable.empty()) return;
    r.readable = memory_map_->around(r.target, r.range());
    if (!r.readable.contains(r.range())) r.readable = r.range();
}

// The operation that already fetches lines of the window. A task that polls a line would make others wait for
// ever, because it always fetches again. So the request skips operations that began after its first wait.
// \return nullptr if there is no other
Operation* PageCache::arrival(GetRequest& r, const Window& window) noexcept {
    for (Operation* op : operations_.gets()) {
        if (op->wanted_ == 0 || r.ticket_.is_before(*op) || op->target != r.target ||
            !op->range().overlaps(window.range))
            continue;
        const std::uint64_t base = op->offset >> line_shift_;
        if ((recounted(op->wanted_, base, window.first_line) & window.arriving) == 0) continue;
        if (r.late_ != op->id) {
            r.late_ = op->id;
            const LineMask speculative = recounted(op->wanted_ & ~op->delivery_, base, window.first_line);
            counters_.prefetch_late += count_of(window.arriving & speculative);
        }
        r.waited_ = true;
        op->awaited_ = true;
        return op;
    }
    return nullptr;
}

// As in the paper (III-C): write back the range's dirty pages first.
Step PageCache::write_back(GetRequest& r, ByteRange range) noexcept {
    Step step;
    for_each_part(range, [&](const Part& part) {
        const Page* const page = lookup(r.target, part.number);
        if (page != nullptr && page->dirty != Page::nothing && step.kind == Step::Kind::done)
            step = clean(page->dirty, r.ticket_);
    });
    return step;
}

void PageCache::copy_resident(GetRequest& r, const Window& window) {
    for_each_part(window.range, [&](const Part& part) {
        const LineMask resident = part.lines & ~recounted(window.missing, window.first_line, part.first_line);
        if (resident == 0) return;
        Page& page = *lookup(r.target, part.number);
        for_each_run(resident, [&](std::uint64_t first, std::uint64_t last) {
            const std::uint64_t begin = std::max(part.begin, first << line_shift_);
            const std::uint64_t end = std::min(part.end, (last + 1) << line_shift_);
            copy_bytes(r.to + (part.offset + begin - part.begin - r.offset), data(page) + begin, end - begin);
        });
        queues_.used(page);
        if (page.mark != 0 && (page.speculative & resident) != 0) trigger(r, page, part.offset);
        use(page, resident);
    });
}

// The first use of a page with a trigger mark.
void PageCache::trigger(GetRequest& r, Page& page, std::uint64_t offset) noexcept {
    const std::uint8_t mark = page.mark;
    page.mark = 0;
    // Without a start time of its own the request began at the last completion.
    const std::uint64_t asked = r.ticks != 0 ? r.ticks : completed_ticks_;
    const std::uint64_t waited = r.late_ == 0 ? 0 : completed_ticks_ > asked ? completed_ticks_ - asked : 1;
    if (read_ahead_.record_use(mark, page.target, offset, asked, waited)) r.mark_ = mark;
}

// The remaining lines of the page. They are read when a second line of it is read separately.
LineMask PageCache::rest_of_page(const TaskClock& task, GetRequest& r, const Page& page, LineMask missing,
                                 int& direction) const {
    if (!config_.read_ahead || !r.reads_ahead || page.valid() == 0 || page.mark != 0 || !fresh(task, page))
        return 0;
    direction = first_of(missing) >= page.last_line ? 1 : -1;
    if (direction < 0 && !config_.read_ahead_beyond_paper) return 0;
    LineMask rest =
        direction > 0 ? line_mask(first_of(missing), lines_per_page_ - 1) : line_mask(0, last_of(missing));
    rest &= lines_within(page, r.readable) & ~(page.valid() | page.arriving | missing);
    if (rest == 0) return 0;
    const std::uint64_t first_line = page.number << (page_shift_ - line_shift_);
    const ByteRange range =
        line_bytes_of(first_line + first_of(rest), first_line + last_of(rest), r.readable);
    return operations_.put_at(page.target, range) == nullptr ? rest : 0;
}

Operation& PageCache::plan_fetch(const TaskClock& task, GetRequest& r, const Window& window) {
    std::uint64_t first = window.first_line + first_of(window.missing);
    std::uint64_t last = window.first_line + last_of(window.missing);
    const std::uint64_t number = first / lines_per_page_;
    std::uint64_t rest_line = 0;
    LineMask rest = 0;
    int direction = 0;
    if (window.looked_up && last / lines_per_page_ == number) {
        if (const Page* page = lookup(r.target, number)) {
            const LineMask missing = line_mask(first % lines_per_page_, last % lines_per_page_);
            rest = rest_of_page(task, r, *page, missing, direction);
        }
    }
    if (rest != 0) {
        rest_line = number * lines_per_page_;
        first = std::min(first, rest_line + first_of(rest));
        last = std::max(last, rest_line + last_of(rest));
    }
    Operation& op = operations_.begin(Operation::Kind::get, r.target, line_bytes_of(first, last, r.readable));
    op.delivery_ = recounted(window.missing, window.first_line, first);
    op.wanted_ = op.delivery_;
    if (rest != 0) {
        op.wanted_ |= recounted(rest, rest_line, first);
        op.mark_ = read_ahead_.sequential(r.target, number, direction);
    }
    op.stamp_ = now_;
    op.acquired_ = task.acquired;
    op.merge_ = ~LineMask{0};
    op.get_ = &r;
    ++r.outstanding_;
    return op;
}

// An operation for what is missing of the range, if it can start now.
Operation* PageCache::plan_read_ahead(const TaskClock& task, Rank target, ByteRange range, ByteRange readable,
                                      std::uint8_t mark) {
    const std::uint64_t first_line = range.begin >> line_shift_;
    const std::uint64_t last_line =
        std::min((range.end - 1) >> line_shift_, first_line + lines_per_operation_ - 1);
    const Window window = plan_lookup(task, target, line_bytes_of(first_line, last_line, readable));
    const LineMask missing = window.missing & ~window.arriving;
    if (missing == 0) return nullptr;
    const ByteRange lines =
        line_bytes_of(first_line + first_of(missing), first_line + last_of(missing), readable);
    if (operations_.put_at(target, lines) != nullptr) return nullptr;
    Operation& op = operations_.begin(Operation::Kind::get, target, lines);
    op.wanted_ = missing >> first_of(missing);
    op.merge_ = ~LineMask{0};
    op.speculative_ = true;
    op.mark_ = mark;
    op.stamp_ = now_;
    op.acquired_ = task.acquired;
    return &op;
}

Step PageCache::prefetch(const TaskClock& task, PrefetchRequest& r) {
    const ByteRange range{std::max(r.range.begin, r.readable.begin), std::min(r.range.end, r.readable.end)};
    NF_EXPECT(r.range.begin < offsets_end);
    merge_fetched();
    if (r.next_ == r.range.begin) counters_.hints += r.is_hint;
    r.next_ = std::max(r.next_, range.begin);
    while (r.next_ < range.end) {
        if (operations_.spare() <= operations_kept_) {
            counters_.hints_dropped += r.is_hint;
            r.next_ = range.end;
            break;
        }
        const std::uint64_t begin = r.next_;
        const std::uint64_t window_end = ((begin >> line_shift_) + lines_per_operation_) << line_shift_;
        r.next_ = std::min(range.end, window_end);
        if (Operation* op = plan_read_ahead(task, r.target, {begin, r.next_}, r.readable, 0))
            return start(*op);
    }
    return {};
}

void PageCache::started(Operation& op, std::uint64_t now_ticks) noexcept {
    NF_EXPECT(op.state_ == Operation::State::planned);
    op.state_ = Operation::State::started;
    op.started_ticks_ = now_ticks;
    merge_fetched();
    if (op.kind == Operation::Kind::put) {
        ++counters_.put_messages;
        counters_.put_message_bytes += op.size_bytes;
        return;
    }
    ++counters_.get_messages;
    counters_.get_message_bytes += op.size_bytes;
    if (op.speculative_) ++counters_.prefetch_messages;
    if (op.bulk_) return;
    admit(op);
    if (op.get_ == nullptr || op.get_->fetched_) return;
    op.get_->fetched_ = true;
    if (!config_.read_ahead || !op.get_->reads_ahead) return;
    const std::uint8_t mark = read_ahead_.missed(op.target, op.get_->offset, op.get_->size_bytes);
    if (mark != 0) op.get_->mark_ = mark;
}

// Bookkeeping while the bytes travel: makes pages for the lines, by eviction if needed.
void PageCache::admit(Operation& op) noexcept {
    LineMask admitted = 0;
    const LineMask cut = cut_lines(op);
    const std::uint64_t base = op.offset >> line_shift_;
    for_each_part(op.range(), [&](const Part& part) {
        LineMask lines = recounted(op.wanted_, base, part.first_line) & part.lines;
        if (lines == 0) return;
        Page* page = lookup(op.target, part.number);
        if (page == nullptr) {
            page = make_page(op.target, part.number);
            if (page == nullptr) {
                ++counters_.not_admitted;
                return;
            }
        } else if (page->stamp < op.acquired_) {
            forget_lines(*page, ~LineMask{0});
            page->mark = 0;
            page->stamp = op.stamp_;
        }
        lines &= ~(page->valid() | page->arriving);
        page->arriving |= lines;
        admitted |= recounted(lines, part.first_line, base);
        const LineMask asked = lines & recounted(op.delivery_, base, part.first_line);
        const LineMask unasked = lines & ~asked & ~recounted(cut, base, part.first_line);
        counters_.prefetch_lines += count_of(unasked);
        if (op.mark_ != 0 && unasked != 0) page->mark = op.mark_;
        if (asked != 0) page->last_line = static_cast<std::uint8_t>(first_of(asked));
    });
    op.wanted_ = admitted;
    op.merge_ &= admitted;
}

void PageCache::complete(Operation& op, int status, std::uint64_t now_ticks) noexcept {
    NF_EXPECT(op.state_ == Operation::State::planned || op.state_ == Operation::State::started);
    if (op.kind == Operation::Kind::put && !op.bulk_) {
        if (status == 0) return operations_.end(op);
        op.state_ = Operation::State::failed;
        return fail_held_gets(op, status, now_ticks);
    }
    if (op.put_ != nullptr) {
        --op.put_->outstanding_;
        op.put_->status = status;
        if (status != 0) forget(op.target, op.range());
        operations_.end(op);
        return;
    }
    merge_fetched();
    completed_ticks_ = now_ticks;
    if (op.state_ == Operation::State::planned) op.wanted_ = 0;  // it was never admitted
    if (status != 0) op.merge_ = 0;
    if ((op.get_ != nullptr || op.awaited_) && !op.bulk_ && status == 0 && now_ticks > op.started_ticks_)
        read_ahead_.latency(now_ticks - op.started_ticks_);
    operations_.finish(op);
    unmerged_ = &op;
    if (op.get_ == nullptr) return merge_fetched();
    if (!op.bulk_ && status == 0) deliver(op);
    if (op.get_->status == 0) op.get_->status = status;
    --op.get_->outstanding_;
}

// Merges the last completed GET into its pages, except lines that were overwritten or invalidated meanwhile.
void PageCache::merge_fetched() noexcept {
    if (unmerged_ == nullptr) return;
    Operation& op = *std::exchange(unmerged_, nullptr);
    const std::uint64_t base = op.offset >> line_shift_;
    const LineMask all_cut = op.wanted_ == 0 ? 0 : cut_lines(op);
    if (op.wanted_ != 0)
        for_each_part(op.range(), [&](const Part& part) {
            const LineMask lines = recounted(op.wanted_, base, part.first_line) & part.lines;
            if (lines == 0) return;
            Page& page = *lookup(op.target, part.number);
            const LineMask delivered = recounted(op.delivery_, base, part.first_line);
            const LineMask merged =
                op.stamp_ >= page.stamp ? lines & recounted(op.merge_, base, part.first_line) : 0;
            for_each_run(merged, [&](std::uint64_t first, std::uint64_t last) {
                const std::uint64_t begin = std::max(part.begin, first << line_shift_);
                const std::uint64_t end = std::min(part.end, (last + 1) << line_shift_);
                copy_clean(page, begin, end, op.buffer + (part.offset - op.offset) + (begin - part.begin));
            });
            const LineMask cut = recounted(all_cut, base, part.first_line);
            if ((merged & cut) != 0) [[unlikely]]
                keep_cut_lines(page, part, merged & cut);
            page.arriving &= ~lines;
            page.ready |= merged & delivered & ~cut;
            page.speculative |= merged & ~delivered & ~cut;
            counters_.prefetch_unused += count_of(lines & ~delivered & ~merged & ~cut);
        });
    operations_.end(op);
}

void PageCache::keep_cut_lines(Page& page, const Part& part, LineMask lines) noexcept {
    for (; lines != 0; lines &= lines - 1) {
        const std::uint64_t line = first_of(lines);
        cut_lines_.keep(page, index_of(page), std::max(part.begin, line << line_shift_),
                        std::min(part.end, (line + 1) << line_shift_));
    }
}

// Copies into a page, around its dirty bytes.
void PageCache::copy_clean(const Page& page, std::uint64_t begin, std::uint64_t end,
                           const std::byte* from) noexcept {
    std::byte* const to = data(page);
    if (page.dirty == Page::nothing) {
        copy_bytes(to + begin, from, end - begin);
        return;
    }
    for (std::uint64_t at = dirty_.next_clear(page.dirty, begin); at < end;) {
        const std::uint64_t stop = std::min(end, dirty_.next_set(page.dirty, at));
        copy_bytes(to + at, from + (at - begin), stop - at);
        at = dirty_.next_clear(page.dirty, stop);
    }
}

// Copies what the waiting get missed, with this process's dirty bytes on top.
void PageCache::deliver(const Operation& op) noexcept {
    const std::uint64_t base = op.offset >> line_shift_;
    const GetRequest& r = *op.get_;
    const ByteRange range{std::max(r.offset, op.offset), std::min(r.range().end, op.range().end)};
    const LineMask all = lines_within(op, range);
    if ((op.delivery_ & all) == all && dirty_.count() == 0)
        return copy_bytes(r.to + (range.begin - r.offset), op.buffer + (range.begin - op.offset),
                          range.size());
    for_each_part(range, [&](const Part& part) {
        const LineMask lines = recounted(op.delivery_, base, part.first_line) & part.lines;
        if (lines == 0) return;
        const Page* const page = dirty_.count() == 0 ? nullptr : lookup(op.target, part.number);
        for_each_run(lines, [&](std::uint64_t first, std::uint64_t last) {
            const std::uint64_t begin = std::max(part.begin, first << line_shift_);
            const std::uint64_t end = std::min(part.end, (last + 1) << line_shift_);
            const std::uint64_t offset = part.offset - part.begin + begin;
            std::byte* const to = r.to + (offset - r.offset);
            copy_bytes(to, op.buffer + (offset - op.offset), end - begin);
            if (page != nullptr && page->dirty != Page::nothing) copy_written(*page, begin, end, to);
        });
    });
}

// Copies the range's bytes that are dirty or in an outstanding PUT.
void PageCache::copy_written(const Page& page, std::uint64_t begin, std::uint64_t end,
                             std::byte* to) const noexcept {
    for (std::uint64_t at = dirty_.next_set(page.dirty, begin); at < end;) {
        const std::uint64_t stop = std::min(end, dirty_.next_clear(page.dirty, at));
        copy_bytes(to + (at - begin), data(page) + at, stop - at);
        at = dirty_.next_set(page.dirty, stop);
    }
}

}  // namespace nearfetch
