// SPDX-License-Identifier: Apache-2.0
#include "cache/page_cache/page_cache.hpp"

#include <bit>
#include <new>

#include "base/error.hpp"
#include "cache/page_cache/parts.hpp"

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t lines_most = 64;  // bits of a LineMask
constexpr std::uint64_t pages_most = 1u << 26;

void require(bool good, const char* name, std::uint64_t value, const char* why,
             const std::string& what_to_do) {
    if (!good) throw Error(std::string(name) + " = " + std::to_string(value), why, what_to_do);
}

const PageCacheConfig& checked(const PageCacheConfig& config) {
    require(std::has_single_bit(config.line_bytes) && config.line_bytes >= 8 && config.line_bytes <= 65536,
            "line_bytes", config.line_bytes, "lines are found by shifts",
            "use a power of two from 8 to 65536");
    require(std::has_single_bit(config.page_bytes) && config.page_bytes >= 64 &&
                config.page_bytes >= config.line_bytes && config.page_bytes / config.line_bytes <= lines_most,
            "page_bytes", config.page_bytes, "a page has 1 to 64 lines, which are found by shifts",
            "use a power of two from " + std::to_string(std::max<std::uint64_t>(64, config.line_bytes)) +
                " to " + std::to_string(config.line_bytes * lines_most));
    const std::uint64_t pages = config.capacity_bytes / config.page_bytes;
    require(pages >= 2 && pages <= pages_most, "capacity_bytes", config.capacity_bytes,
            "one page has to stay when another is written, and what is known of pages takes memory, too",
            "use a size from " + std::to_string(2 * config.page_bytes) + " to " +
                std::to_string(pages_most * config.page_bytes));
    require(config.dirty_pages >= 1 && config.dirty_pages <= pages / 2, "dirty_pages", config.dirty_pages,
            "at least one page is written, and half of the pages are for reading",
            "use a number from 1 to " + std::to_string(pages / 2));
    require(config.operations >= 2 && config.operations <= 65536, "operations", config.operations,
            "something has to be fetched while something is written back", "use a number from 2 to 65536");
    require(config.bulk_bytes >= 1, "bulk_bytes", config.bulk_bytes, "nothing would go through the pages",
            "use at least 1");
    require(config.read_ahead_items >= 1 && config.read_ahead_items <= 65536, "read_ahead_items",
            config.read_ahead_items, "it is a number of pages", "use a number from 1 to 65536");
    require(config.new_percent >= 1 && config.new_percent <= 99, "new_percent", config.new_percent,
            "pages that were fetched once and others share the cache", "use a number from 1 to 99");
    require(config.names_percent >= 1 && config.names_percent <= 1000, "names_percent", config.names_percent,
            "names of evicted pages take memory, too", "use a number from 1 to 1000");
    if (config.policy != "2q" && config.policy != "s3fifo")
        throw Error("policy = " + config.policy, "there is none of that name", "use 2q or s3fifo");
    return config;
}

// Memory touched at construction. A larger cache gets physical memory as it fills.
constexpr std::uint64_t populated_bytes = 2ull << 20;

std::uint32_t page_count(const PageCacheConfig& config) {
    return static_cast<std::uint32_t>(config.capacity_bytes / config.page_bytes);
}

std::uint32_t lines_per_operation(const PageCacheConfig& config) {
    return static_cast<std::uint32_t>(config.combine_pages ? lines_most
                                                           : config.page_bytes / config.line_bytes);
}

ReadAheadConfig read_ahead_config(const PageCacheConfig& config) {
    const std::uint32_t lines = static_cast<std::uint32_t>(config.page_bytes / config.line_bytes);
    ReadAheadConfig result;
    result.page_bytes = config.page_bytes;
    result.group_pages = lines_per_operation(config) / lines;
    // Read-ahead must not evict the working set.
    result.items_max = std::clamp(page_count(config) / 4, 1u, config.read_ahead_items);
    result.beyond_paper = config.read_ahead_beyond_paper;
    return result;
}

}  // namespace

PageCache::PageCache(const PageCacheConfig& config, const ReadableMemory* memory) try
    : found_(&nowhere_),
      written_(&nowhere_),
      page_shift_(static_cast<unsigned>(std::countr_zero(checked(config).page_bytes))),
      line_shift_(static_cast<unsigned>(std::countr_zero(config.line_bytes))),
      page_mask_(config.page_bytes - 1),
      pages_(page_count(config)),
      table_(page_count(config)),
      queues_(config, pages_.data(), page_count(config)),
      dirty_(config.dirty_pages, config.page_bytes),
      cut_lines_(page_count(config), line_shift_),
      memory_(page_count(config) * config.page_bytes +
              config.operations * lines_per_operation(config) * config.line_bytes),
      operations_(config.operations, lines_per_operation(config) * config.line_bytes,
                  memory_.data() + page_count(config) * config.page_bytes),
      read_ahead_(read_ahead_config(config)),
      lines_per_page_(static_cast<std::uint32_t>(config.page_bytes / config.line_bytes)),
      lines_per_operation_(lines_per_operation(config)),
      operations_kept_(std::max(1u, config.operations / 4)),
      config_(config),
      memory_map_(memory) {
    if (!memory_.resize(memory_.reserved_bytes())) throw std::bad_alloc();
    memory_.populate(populated_bytes);
    frames_ = memory_.data();
    spare_.reserve(pages_.size());
    for (std::uint32_t i = page_count(config); i-- > 0;)
        spare_.push_back(i);
} catch (const std::bad_alloc&) {
    throw Error("capacity_bytes = " + std::to_string(config.capacity_bytes),
                "the system has no memory for that cache", "use a smaller one");
}

const std::byte* PageCache::find_unready(const TaskClock& task, Page& page, std::uint64_t skip,
                                         std::uint64_t size, LineMask lines) noexcept {
    const bool valid = fresh(task, page) && (valid_within(page, skip, skip + size) & lines) == lines;
    if (valid) {
        if (page.mark != 0) return nullptr;  // get() reports the use to the stream
        use(page, lines);
    } else if (page.dirty == Page::nothing || !dirty_.all(page.dirty, skip, skip + size)) {
        return nullptr;
    }
    ++counters_.hits;
    return data(page) + skip;
}

// Counts a use. Lines fetched speculatively become ordinary ones.
void PageCache::use(Page& page, LineMask lines) noexcept {
    const LineMask used = page.speculative & lines;
    if (used == 0) return;
    counters_.prefetch_used += static_cast<unsigned>(std::popcount(used));
    page.speculative &= ~used;
    page.ready |= used;
}

void PageCache::forget_lines(Page& page, LineMask lines) noexcept {
    const LineMask unused = page.speculative & lines;
    page.ready &= ~lines;
    if (page.cut != 0) cut_lines_.forget(page, index_of(page), lines);
    if (unused == 0) return;
    counters_.prefetch_unused += static_cast<unsigned>(std::popcount(unused));
    page.speculative &= ~lines;
    if (page.speculative != 0 || page.mark == 0) return;
    read_ahead_.unused(page.mark, page.target);
    page.mark = 0;
}

// Makes a page for that number. \return nullptr if every page is in use \pre there is none
Page* PageCache::make_page(Rank target, std::uint64_t number) noexcept {
    std::uint32_t index;
    if (!spare_.empty()) {
        index = spare_.back();
        spare_.pop_back();
    } else {
        Page* const victim = queues_.victim(
            [](const Page& page) { return page.arriving == 0 && page.dirty == Page::nothing; });
        if (victim == nullptr) return nullptr;
        ++counters_.evictions;
        forget_lines(*victim, ~LineMask{0});
        table_.erase(victim->target, victim->number);
        queues_.erase(*victim);
        if (found_ == victim) found_ = &nowhere_;
        if (written_ == victim) written_ = &nowhere_;
        index = index_of(*victim);
    }
    Page& page = pages_[index];
    page = Page();
    page.number = number;
    page.target = target;
    page.stamp = now_;
    table_.insert(target, number, index);
    absent_ = {};
    queues_.insert(page);
    return &page;
}

void PageCache::acquire(TaskClock& task) noexcept {
    ++counters_.acquires;
    task.acquired = ++now_;
}

void PageCache::acquire(Rank target, ByteRange range) noexcept {
    ++counters_.acquires;
    if (!range.empty()) forget(target, range);
}

void PageCache::forget(Rank target, ByteRange range) noexcept {
    merge_fetched();
    for_each_page(target, range, [&](Page& page) { forget_lines(page, lines_within(page, range)); });
    forget_merges(target, range);
}

// Outstanding fetches of the range will not enter pages.
void PageCache::forget_merges(Rank target, ByteRange range) noexcept {
    for (Operation* op : operations_.gets())
        if (op->merge_ != 0 && op->target == target && op->range().overlaps(range))
            op->merge_ &= ~lines_within(*op, range);
}

PageCacheCounters PageCache::counters() const noexcept {
    PageCacheCounters all = counters_;
    all.streams = read_ahead_.streams();
    return all;
}

PrefetchFeedback PageCache::prefetch_feedback() const noexcept {
    PrefetchFeedback feedback;
    feedback.latency_ticks = read_ahead_.latency_ticks();
    feedback.unused = counters_.prefetch_unused + counters_.hints_dropped;
    feedback.outstanding_most = config_.operations - static_cast<std::uint32_t>(operations_kept_);
    return feedback;
}

PageCacheOccupancy PageCache::occupancy() const noexcept {
    PageCacheOccupancy held{queues_.count(), dirty_.count(), 0};
    for (const Page& page : pages_)
        if (page.target >= 0)
            held.speculative_lines += static_cast<unsigned>(std::popcount(page.speculative));
    return held;
}

void PageCache::check_invariants() const {
    const auto ensure = [](bool holds, const char* what) { require_invariant(holds, "page cache", what); };
    // Fetched, and not yet merged.
    std::vector<const Operation*> fetches;
    for (const Operation* op : operations_.gets())
        if (op->state_ == Operation::State::started) fetches.push_back(op);
    if (unmerged_ != nullptr) fetches.push_back(unmerged_);
    std::uint32_t used = 0, dirty = 0;
    for (const Page& page : pages_) {
        if (page.target < 0) continue;
        ++used;
        const std::uint32_t index = index_of(page);
        ensure(table_.find(page.target, page.number) == index, "page is not in the table");
        ensure((page.ready & page.speculative) == 0, "line is ready and ahead");
        ensure((page.valid() & page.arriving) == 0, "valid line is fetched");
        ensure(page.stamp <= now_, "page from the future");
        LineMask arriving = 0;
        for (const Operation* op : fetches) {
            if (op->target != page.target) continue;
            const std::uint64_t base = op->offset >> line_shift_;
            for (std::uint64_t line = 0; line < lines_most && op->wanted_ >> line != 0; ++line) {
                if ((op->wanted_ >> line & 1) == 0) continue;
                const std::uint64_t absolute = base + line;
                if (absolute / lines_per_page_ != page.number) continue;
                ensure((arriving >> absolute % lines_per_page_ & 1) == 0, "line is fetched twice");
                arriving |= LineMask{1} << absolute % lines_per_page_;
            }
        }
        ensure(arriving == page.arriving, "lines in flight disagree with operations");
        if (page.dirty == Page::nothing) continue;
        ++dirty;
        ensure(dirty_.page(page.dirty) == index, "dirty entry of another page");
        ensure(!dirty_.empty(page.dirty), "dirty entry without dirty bytes");
    }
    ensure(used == queues_.count() && used + spare_.size() == pages_.size(), "count of pages");
    ensure(dirty == dirty_.count(), "count of dirty pages");
    const PageCacheCounters all = counters();
    std::uint64_t under_way = 0;
    for (const Operation* op : fetches)
        if (op->wanted_ != 0)
            under_way += static_cast<unsigned>(std::popcount(op->wanted_ & ~op->delivery_ & ~cut_lines(*op)));
    ensure(all.prefetch_lines ==
               all.prefetch_used + all.prefetch_unused + occupancy().speculative_lines + under_way,
           "count of lines ahead");
}

}  // namespace nearfetch
