// SPDX-License-Identifier: Apache-2.0
//
// Bulk gets and puts (000, section VII: "improve the performance of large PUTs and GETs"). They are
// aggregated already, so they bypass the pages: straight between the network and the program's memory, in as
// few messages as without a cache, and not rounded to lines. They neither fill nor flush the cache. A get
// copies from pages what they have at its beginning, all dirty bytes, and any resident run that is longer
// than a message is worth. A put updates the pages that it meets; what it overwrites needs no write-back.

#include <algorithm>

#include "base/copy.hpp"
#include "cache/page_cache/page_cache.hpp"
#include "cache/page_cache/parts.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t least_resident_bytes = 8192;  ///< Resident runs of this length split a get in two.

}  // namespace

/// The next range to fetch, or the dirty page to write back first.
struct PageCache::Gap {
    ByteRange range;
    const Page* blocked = nullptr;
};

// Copies resident bytes from the request's position on. \return the end of these
std::uint64_t PageCache::copy_prefix(const TaskClock& task, GetRequest& r) noexcept {
    std::uint64_t at = r.next_;
    while (at < r.range().end) {
        Page* const page = lookup(r.target, at >> page_shift_);
        if (page == nullptr) break;
        const std::uint64_t begin = at & page_mask_;
        const std::uint64_t end = std::min(page_mask_ + 1, begin + (r.range().end - at));
        const LineMask valid = fresh(task, *page) ? valid_within(*page, begin, end) : 0;
        std::uint64_t to = begin;
        while (to < end) {
            const std::uint64_t line_end = std::min(end, ((to >> line_shift_) + 1) << line_shift_);
            const bool is_valid = (valid >> (to >> line_shift_) & 1) != 0;
            if (!is_valid && (page->dirty == Page::nothing || !dirty_.all(page->dirty, to, line_end))) break;
            to = line_end;
        }
        if (to == begin) break;
        copy_bytes(r.to + (at - r.offset), data(*page) + begin, to - begin);
        use(*page, line_mask(begin >> line_shift_, (to - 1) >> line_shift_) & valid);
        counters_.bulk_bytes_from_cache += to - begin;
        at += to - begin;
        if (to < end) break;
    }
    return at;
}

PageCache::Gap PageCache::gap_at(const TaskClock& task, const GetRequest& r) noexcept {
    const std::uint64_t begin = r.next_;
    Gap gap{{begin, r.range().end}, nullptr};
    std::uint64_t resident_begin = begin;  // start of the resident run that ends at `resident_end`
    std::uint64_t resident_end = begin;
    table_.for_each(
        r.target, begin >> page_shift_, (gap.range.end - 1) >> page_shift_, [&](std::uint32_t index) {
            const Page& page = pages_[index];
            const std::uint64_t base = page.number << page_shift_;
            const std::uint64_t end = std::min(r.range().end, base + page_mask_ + 1);
            std::uint64_t at = std::max(begin, base);
            const LineMask valid = fresh(task, page) ? valid_within(page, at - base, end - base) : 0;
            if (valid == 0 && page.dirty == Page::nothing) return true;
            while (at < end) {
                const std::uint64_t line_end = std::min(end, ((at >> line_shift_) + 1) << line_shift_);
                const bool is_valid = (valid >> ((at - base) >> line_shift_) & 1) != 0;
                const bool written =
                    page.dirty != Page::nothing && dirty_.any(page.dirty, at - base, line_end - base);
                if (written) {
                    // Neither resident nor fully dirty: copy_prefix() stopped here.
                    gap.range.end = at;
                    if (at == begin) gap.blocked = &page;
                    return false;
                }
                if (is_valid) {
                    if (resident_end != at) resident_begin = at;
                    resident_end = line_end;
                    if (resident_end - resident_begin >= least_resident_bytes) {
                        gap.range.end = resident_begin;
                        return false;
                    }
                }
                at = line_end;
            }
            return true;
        });
    return gap;
}

Step PageCache::get_bulk(const TaskClock& task, GetRequest& r) {
    merge_fetched();
    r.next_ = copy_prefix(task, r);
    if (r.next_ == r.range().end) return {};
    const Gap gap = gap_at(task, r);
    if (gap.blocked != nullptr) return clean(gap.blocked->dirty, r.ticket_);
    Operation* const before = find_conflict(r.target, gap.range);
    if (before != nullptr && !may_hold(*before, r.ticket_)) return wait_behind(*before, r.ticket_);
    Operation& op = operations_.begin(Operation::Kind::get, r.target, gap.range);
    op.bulk_ = true;
    op.buffer = r.to + (gap.range.begin - r.offset);
    op.get_ = &r;
    ++r.outstanding_;
    r.next_ = gap.range.end;
    return before == nullptr ? start(op) : hold(op);
}

// A page with dirty bytes that the put replaces; nullptr: none.
const Page* PageCache::written_within(const PutRequest& r) noexcept {
    const Page* written = nullptr;
    for_each_page(r.target, r.range(), [&](const Page& page) {
        const std::uint64_t base = page.number << page_shift_;
        if (page.dirty != Page::nothing && dirty_.any(page.dirty, std::max(r.offset, base) - base,
                                                      std::min(r.range().end - base, page_mask_ + 1)))
            written = &page;
    });
    return written;
}

// Updates the pages that the put meets.
void PageCache::update(const PutRequest& r) noexcept {
    for_each_page(r.target, r.range(), [&](Page& page) {
        const std::uint64_t base = page.number << page_shift_;
        const std::uint64_t begin = std::max(r.offset, base) - base;
        const std::uint64_t end = std::min(r.range().end - base, page_mask_ + 1);
        if (page.valid() != 0 || page.cut != 0)
            copy_bytes(data(page) + begin, r.from + (base + begin - r.offset), end - begin);
        if (page.dirty != Page::nothing) set_clean(page, begin, end);
    });
}

Step PageCache::put_bulk(PutRequest& r) {
    if (r.next_ == r.offset) {
        if (Operation* const op = find_conflict(r.target, r.range())) return wait_behind(*op, r.ticket_);
        // An outstanding GET delivers around dirty bytes, so these have to stay until it is complete.
        if (Operation* const op = fetching(r.target, r.range()))
            if (const Page* const written = written_within(r))
                return may_hold(*op, r.ticket_) ? clean(written->dirty, r.ticket_)
                                                : wait_behind(*op, r.ticket_);
        update(r);
        forget_merges(r.target, r.range());
        Operation& op = operations_.begin(Operation::Kind::put, r.target, r.range());
        op.bulk_ = true;
        op.buffer = const_cast<std::byte*>(r.from);  // a PUT only reads it
        op.put_ = &r;
        ++r.outstanding_;
        r.next_ = r.range().end;
        return start(op);
    }
    for (Operation* op : operations_.puts())
        if (op->put_ == &r) return wait_for(*op);
    ++counters_.bulk_puts;
    return {};
}

}  // namespace nearfetch
