// SPDX-License-Identifier: Apache-2.0
#pragma once

// The page cache: remote memory in pages of lines, with write-back (000, Ferguson and Buettner).
//
// A page has 1024 bytes, a line 64. A hit is find(), a lookup. A miss fetches whole lines within the readable
// range. A put writes into the page and sets dirty bits; dirty runs leave as PUTs at a release, or when too
// many pages are dirty. An acquire only advances the task's clock. There is one cache per thread, shared by
// its tasks, without locks. The cache moves no bytes: the caller executes the steps of a request until it is
// done. While one task waits, others may use the cache; the next step is computed anew.
//
//     GetRequest request(target, offset, size, to, part, ticks());
//     for (Step step; (step = cache.get(task, request)).kind != Step::Kind::done;)
//         start step.operation, then cache.started(); or wait, cache.complete(), and start all next_due()
//
// A fetch delivers to its request even if its lines get no page, so evictions starve nobody. Nor do tasks
// that poll the same lines: a request that has waited defers its own operation behind the outstanding ones.
//
// Parts: lookup and 2Q (III-B) page_table.hpp, page_queues.hpp; dirty bits (III-B) dirty_pages.hpp;
// read-ahead (III-A) read_ahead.hpp; get, put, clean, release (III-C) fetch.cpp, write_back.cpp; bulk
// transfers and adaptive prefetch (VII) bulk.cpp, prefetch_distance.hpp. Differences to 000: operations have
// buffers, so conflicts are by lines and bytes, and rarer. Fetched data is merged around dirty bytes
// (wait_for_writes: writes them back first, as the paper does). Adjacent pages share messages up to 4 KiB
// (combine_pages). A page has one stamp in place of the first and last numbers: outstanding operations are
// few and searched. Fully written lines stay valid, bulk transfers bypass pages, and acquire and release may
// be limited to a range.
//
// Pointers from find() are valid until the next call that is not find(). Not thread-safe.

#include <nearfetch/detail/base/page_cache_config.hpp>
#include <vector>

#include "base/assert.hpp"
#include "base/copy.hpp"
#include "base/reserved_memory.hpp"
#include "base/types.hpp"
#include "cache/counters/page_cache_counters.hpp"
#include "cache/page_cache/cut_lines.hpp"
#include "cache/page_cache/dirty_pages.hpp"
#include "cache/page_cache/operation.hpp"
#include "cache/page_cache/page.hpp"
#include "cache/page_cache/page_queues.hpp"
#include "cache/page_cache/page_table.hpp"
#include "cache/page_cache/prefetch_distance.hpp"
#include "cache/page_cache/read_ahead.hpp"
#include "cache/page_cache/requests.hpp"

namespace nearfetch {

/// What a page cache holds.
struct PageCacheOccupancy {
    std::uint32_t pages = 0;
    std::uint32_t dirty_pages = 0;
    std::uint64_t speculative_lines = 0;  ///< fetched speculatively, and not used yet
};

class PageCache {
  public:
    /// Allocates all memory. \throws Error for an invalid configuration, or when memory is exhausted
    /// \param memory outlives the cache; nullptr: each get brings its readable range
    explicit PageCache(const PageCacheConfig& config, const ReadableMemory* memory = nullptr);
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    /// The range's bytes if they are in one page and fresh for the task, else nullptr. Counts a hit. \pre
    /// size > 0
    const std::byte* find(const TaskClock& task, Rank target, std::uint64_t offset,
                          std::uint64_t size) noexcept;
    /// Writes into a page that is already dirty. Counts a put. \return false: call put()
    bool write(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* from) noexcept;

    /// False: nothing of the range is cached or being fetched, until the next non-const call.
    bool has_pages(Rank target, std::uint64_t offset, std::uint64_t size) const noexcept {
        const std::uint64_t number = offset >> page_shift_;
        return number != (offset + size - 1) >> page_shift_ ||
               !(absent_.is(target, number) || table_.find(target, number) == PageTable::nothing);
    }
    /// Merges the last completed GET into its pages now, if it overlaps the range. Otherwise that happens
    /// while the next GET travels, or before the pages are used. \return whether to retry find()
    bool merge_fetched(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        if (unmerged_ == nullptr || unmerged_->target != target ||
            !unmerged_->range().overlaps({offset, offset + size}))
            return false;
        merge_fetched();
        return true;
    }
    /// A get that find() did not serve. \pre size > 0, and the readable range, if it has one, covers it
    Step get(const TaskClock& task, GetRequest& request);
    /// A put that write() did not do. A small one needs the network only to free a dirty entry or a page. A
    /// bulk one is done when its PUT is complete. \pre size > 0
    Step put(PutRequest& request);
    Step prefetch(const TaskClock& task, PrefetchRequest& request);
    /// Done when all earlier writes are complete at their targets. Failed PUTs are started again.
    Step release(ReleaseRequest& request);

    /// The task's later reads use nothing that was read before. O(1).
    void acquire(TaskClock& task) noexcept;
    /// No later read of the range uses what was read before. Dirty bytes stay. O(pages of the range). An
    /// access that bypasses the cache (an atomic, a strided put) needs a release() of its range before and
    /// this after it.
    void acquire(Rank target, ByteRange range) noexcept;

    /// Done when no operation that had begun is outstanding in the range, and nothing of it is cached: its
    /// memory may be freed. \pre its dirty bytes were released, or are discarded
    Step drain(DrainRequest& request);

    /// The transport has accepted the operation, at `now_ticks`.
    void started(Operation& operation, std::uint64_t now_ticks) noexcept;
    /// The operation is complete, or could not be started.
    /// \param status 0: success. A failed PUT of dirty bytes is kept and restarted by the next waiter. A
    /// failed GET leaves nothing.
    void complete(Operation& operation, int status, std::uint64_t now_ticks) noexcept;
    /// A deferred operation that has to be started now; nullptr: none. Ask after each complete().
    Operation* next_due() noexcept;
    /// Operations that are outstanding or to be restarted.
    const OperationTable& operations() const noexcept { return operations_; }

    /// All counters so far.
    PageCacheCounters counters() const noexcept;
    const PageCacheConfig& config() const noexcept { return config_; }
    PrefetchFeedback prefetch_feedback() const noexcept;
    /// O(pages of the configuration).
    PageCacheOccupancy occupancy() const noexcept;
    /// Checks everything. Aborts with a message on a fault.
    void check_invariants() const;

  private:
    struct Part;
    struct Window;
    struct PageName {
        Rank target = -1;
        std::uint64_t number = 0;
        bool is(Rank t, std::uint64_t n) const noexcept { return number == n && target == t; }
    };

    Page* lookup(Rank target, std::uint64_t number) noexcept {
        return absent_.is(target, number) ? nullptr : look_up(target, number);
    }
    Page* look_up(Rank target, std::uint64_t number) noexcept {
        const std::uint32_t index = table_.find(target, number);
        if (index != PageTable::nothing) return &pages_[index];
        absent_ = {target, number};
        return nullptr;
    }
    std::uint32_t index_of(const Page& page) const noexcept {
        return static_cast<std::uint32_t>(&page - pages_.data());
    }
    std::byte* data(const Page& page) const noexcept {
        return frames_ + (static_cast<std::uint64_t>(&page - pages_.data()) << page_shift_);
    }
    /// The page that has all of the range, or nullptr. Tries `last` first, and sets it.
    Page* page_with(Page*& last, Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    const std::byte* find_unready(const TaskClock& task, Page& page, std::uint64_t skip, std::uint64_t size,
                                  LineMask lines) noexcept;
    bool fresh(const TaskClock& task, const Page& page) const noexcept { return page.stamp >= task.acquired; }
    template <class Visitor>
    void for_each_part(ByteRange range, Visitor&& visit) const;
    template <class Visitor>
    void for_each_page(Rank target, ByteRange range, Visitor&& visit);
    LineMask valid_within(const Page& page, std::uint64_t begin, std::uint64_t end) const noexcept;
    LineMask cut_lines(const Operation& operation) const noexcept;
    LineMask lines_within(const Page& page, ByteRange range) const noexcept;
    LineMask lines_within(const Operation& operation, ByteRange range) const noexcept;
    ByteRange line_bytes_of(std::uint64_t first_line, std::uint64_t last_line,
                            ByteRange readable) const noexcept;

    // Pages (page_cache.cpp).
    Page* make_page(Rank target, std::uint64_t number) noexcept;
    void forget_lines(Page& page, LineMask lines) noexcept;
    void forget(Rank target, ByteRange range) noexcept;
    void forget_merges(Rank target, ByteRange range) noexcept;
    void use(Page& page, LineMask lines) noexcept;

    // Gets and prefetches (fetch.cpp).
    Step get_window(const TaskClock& task, GetRequest& request);
    Window plan_lookup(const TaskClock& task, Rank target, ByteRange range) noexcept;
    Operation* arrival(GetRequest& request, const Window& window) noexcept;
    Step write_back(GetRequest& request, ByteRange range) noexcept;
    void copy_resident(GetRequest& request, const Window& window);
    Operation& plan_fetch(const TaskClock& task, GetRequest& request, const Window& window);
    LineMask rest_of_page(const TaskClock& task, GetRequest& request, const Page& page, LineMask missing,
                          int& direction) const;
    Operation* plan_read_ahead(const TaskClock& task, Rank target, ByteRange range, ByteRange readable,
                               std::uint8_t mark);
    void trigger(GetRequest& request, Page& page, std::uint64_t offset) noexcept;
    void ask_readable(GetRequest& request) const noexcept;
    void admit(Operation& operation) noexcept;
    void deliver(const Operation& operation) noexcept;
    void merge_fetched() noexcept;
    [[gnu::noinline]] void keep_cut_lines(Page& page, const Part& part, LineMask lines) noexcept;
    void copy_written(const Page& page, std::uint64_t begin, std::uint64_t end, std::byte* to) const noexcept;
    void copy_clean(const Page& page, std::uint64_t begin, std::uint64_t end, const std::byte* from) noexcept;

    // Puts and releases (write_back.cpp).
    Step clean(std::uint32_t entry, WaitTicket& ticket) noexcept;
    bool may_hold(const Operation& before, const WaitTicket& ticket) const noexcept;
    Step hold(Operation& operation) noexcept;
    Operation& let_go(Operation& held) noexcept;
    Operation* predecessor(const Operation& held) const noexcept;
    void fail_held_gets(const Operation& put, int status, std::uint64_t now_ticks) noexcept;
    Operation* fetching(Rank target, ByteRange range) const noexcept;
    Operation* find_conflict(Rank target, ByteRange range) const noexcept;
    static Step wait_for(Operation& operation) noexcept;
    Step wait_behind(Operation& operation, WaitTicket& ticket) noexcept;
    static Step start(Operation& operation) noexcept { return {Step::Kind::start, &operation, operation.id}; }
    struct Run;
    bool oldest_is_due() noexcept;
    bool arriving_in(const Page& page, std::uint64_t begin, std::uint64_t end) const noexcept;
    Run run_at(const Page& page, std::uint64_t begin) noexcept;
    void end_at_border(Run& run) const noexcept;
    void take_run(const Run& run, Operation& operation) noexcept;
    void set_clean(Page& page, std::uint64_t begin, std::uint64_t end) noexcept;
    bool discard_writes(Rank target, ByteRange range) noexcept;
    bool cut_out(Operation& failed, ByteRange range) noexcept;

    // Bulk transfers (bulk.cpp).
    Step get_bulk(const TaskClock& task, GetRequest& request);
    Step put_bulk(PutRequest& request);
    std::uint64_t copy_prefix(const TaskClock& task, GetRequest& request) noexcept;
    struct Gap;
    Gap gap_at(const TaskClock& task, const GetRequest& request) noexcept;
    const Page* written_within(const PutRequest& request) noexcept;
    void update(const PutRequest& request) noexcept;

    // First: what a hit reads.
    Page* found_;    ///< page of the last find()
    Page* written_;  ///< page of the last write()
    std::byte* frames_;
    unsigned page_shift_;
    unsigned line_shift_;
    std::uint64_t page_mask_;
    PageCacheCounters counters_;
    std::vector<Page> pages_;
    PageTable table_;
    PageName absent_;  ///< a page known to be missing: a miss asks several times
    PageQueues queues_;
    DirtyPages dirty_;
    CutLines cut_lines_;

    ReservedMemory memory_;
    OperationTable operations_;
    std::uint32_t held_ = 0;         ///< deferred operations
    Operation* unmerged_ = nullptr;  ///< the complete GET that is not yet in its pages
    ReadAhead read_ahead_;
    std::vector<std::uint32_t> spare_;
    std::uint32_t lines_per_page_;
    std::uint32_t lines_per_operation_;
    std::size_t operations_kept_;  ///< operations that prefetches leave free for misses
    Stamp now_ = 0;
    std::uint64_t completed_ticks_ = 0;
    PageCacheConfig config_;
    const ReadableMemory* memory_map_;
    Page nowhere_;  ///< target of found_ and written_ when there is no page
};

inline Page* PageCache::page_with(Page*& last, Rank target, std::uint64_t offset,
                                  std::uint64_t size) noexcept {
    NF_EXPECT(size > 0 && target >= 0);
    if (size > page_mask_ + 1 - (offset & page_mask_)) [[unlikely]]
        return nullptr;
    const std::uint64_t number = offset >> page_shift_;
    if (last->number == number && last->target == target) return last;
    Page* const page = look_up(target, number);
    if (page != nullptr) {
        queues_.used(*page);
        last = page;
    }
    return page;
}

inline const std::byte* PageCache::find(const TaskClock& task, Rank target, std::uint64_t offset,
                                        std::uint64_t size) noexcept {
    Page* const page = page_with(found_, target, offset, size);
    if (page == nullptr) return nullptr;
    const std::uint64_t skip = offset & page_mask_;
    const LineMask lines = line_mask(skip >> line_shift_, (skip + size - 1) >> line_shift_);
    if ((page->ready & lines) != lines || !fresh(task, *page)) [[unlikely]]
        return find_unready(task, *page, skip, size, lines);
    ++counters_.hits;
    return data(*page) + skip;
}

inline bool PageCache::write(Rank target, std::uint64_t offset, std::uint64_t size,
                             const std::byte* from) noexcept {
    Page* const page = page_with(written_, target, offset, size);
    if (page == nullptr || page->dirty == Page::nothing) return false;
    const std::uint64_t skip = offset & page_mask_;
    copy_bytes(data(*page) + skip, from, size);
    dirty_.set(page->dirty, skip, skip + size);
    ++counters_.puts;
    return true;
}

}  // namespace nearfetch
