// SPDX-License-Identifier: Apache-2.0
#pragma once

// The page cache: remote memory in pages of lines, written back later (000, Ferguson and Buettner).
//
// Pages of 1024 bytes have 16 lines of 64 bytes. A get that finds its lines costs find(): a lookup. What a
// get misses is fetched in whole lines, never beyond the readable range that comes with the request. A put is
// written into the page and its bytes are marked; they leave as PUTs of contiguous runs when too many pages
// are dirty or at a release. An acquire only moves the task's clock. There is one cache per thread, shared by
// the thread's tasks, so no lock; all memory is taken at the start.
//
// Core moves no bytes. A request is driven by asking for its next step until it is done:
//
//     if (const std::byte* bytes = cache.find(task, target, offset, size)) ...   // hit
//     GetRequest request(target, offset, size, to, part, ticks());
//     for (Step step; (step = cache.get(task, request)).kind != Step::Kind::done;)
//         if (step.kind == Step::Kind::start) {
//             step.operation->handle = transport.start(*step.operation);
//             cache.started(*step.operation, ticks());      // all the bookkeeping, while the bytes travel
//         } else {
//             while (cache.in_flight(step)) {
//                 transport.wait(...);
//                 cache.complete(operation, status, ticks());
//                 while (Operation* due = cache.next_due()) ...         // start it, as above
//             }
//         }
//
// While one task waits another may use the cache; whatever it does there, the next step is worked out anew
// from what is there then. A fetch delivers to its request itself, whether or not there was room for its
// lines, so nobody depends on a page staying where it is, and nobody can be starved by an eviction. Nor by a
// task that begins one operation after the other on its lines: what has waited for those that were there
// before it takes its place in the line, and is started by whoever sees the one before it complete.
//
// Sections of 000 and where they are: two-level lookup and 2Q (III-B) page_table.hpp, page_queues.hpp; dirty
// bits (III-B) dirty_pages.hpp; read-ahead (III-A) read_ahead.hpp; get, put, clean, release, acquire (III-C)
// fetch.cpp and write_back.cpp; large gets and puts (VII) bulk.cpp; adaptive prefetch (VII)
// prefetch_distance.hpp. Where it differs, by default, and why:
//  - Operations have memory of their own (operation.hpp). So conflicts are a matter of lines and bytes, not
//    of pages, and fewer: a small put waits for none. A get waits for a PUT under way to its own lines, a
//    write-back for a GET under way of its lines and for an earlier PUT of its bytes, any of them because the
//    network may reorder. Bytes that were written and not yet sent need no write-back before the rest of
//    their line can be read: what arrives is merged around them. (wait_for_writes: as the paper, write back
//    and wait.)
//  - Adjacent pages share messages, both ways, up to 4 KiB (combine_pages = false: one page per message).
//  - Read-ahead goes backwards and by strides, too, at a distance that adapts (read_ahead_beyond_paper).
//  - A page has one stamp, no line of it is older; 000 keeps first and last for reads and writes. The writes'
//    numbers are not needed when the operations under way, which are few, are looked through instead.
//  - A line that was wholly written stays readable after its write-back.
//  - Large gets and puts neither fill the cache nor flush it: they use and update what is there.
//  - Acquire and release may be limited to a range.
//
// The engine also completes, whenever it looks, what nobody waits for: prefetches and write-backs.
//
// Pointers from find() are valid until the next call that is not find(). Not thread safe.

#include <nearfetch/detail/base/page_cache_config.hpp>
#include <vector>

#include "base/assert.hpp"
#include "base/copy.hpp"
#include "base/reserved_memory.hpp"
#include "base/types.hpp"
#include "cache/counters/page_cache_counters.hpp"
#include "cache/page_cache/dirty_pages.hpp"
#include "cache/page_cache/operation.hpp"
#include "cache/page_cache/page.hpp"
#include "cache/page_cache/page_queues.hpp"
#include "cache/page_cache/page_table.hpp"
#include "cache/page_cache/read_ahead.hpp"
#include "cache/page_cache/requests.hpp"

namespace nearfetch {

class PageCache {
  public:
    /// \throws Error when a value makes no sense, or the memory is not to be had
    explicit PageCache(const PageCacheConfig& config);
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    /// The bytes of the range when they are in one page, fresh for the task, else nullptr. Counts a hit.
    /// \pre size > 0
    const std::byte* find(const TaskClock& task, Rank target, std::uint64_t offset,
                          std::uint64_t size) noexcept;
    /// Writes into a page that is dirty already; false when put() has to be asked. Counts a put.
    bool write(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* from) noexcept;

    /// False: nothing of the range is cached or on its way, nor will be before the next call that is not
    /// const.
    bool has_pages(Rank target, std::uint64_t offset, std::uint64_t size) const noexcept {
        const std::uint64_t number = offset >> page_shift_;
        return number != (offset + size - 1) >> page_shift_ ||
               !(absent_.is(target, number) || table_.find(target, number) == PageTable::nothing);
    }
    /// Brings what the last get has waited for into its pages now, if it touches the range. Otherwise that
    /// happens while the next GET travels, or before anything else looks at the pages. \return whether find()
    /// is worth another try
    bool settle(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        if (landed_ == nullptr || landed_->target != target ||
            !landed_->range().overlaps({offset, offset + size}))
            return false;
        settle();
        return true;
    }
    /// A get that find() did not serve. \pre size > 0, and the readable range has it
    Step get(const TaskClock& task, GetRequest& request);
    /// A put that write() did not do. Small ones are done without the network, unless an entry for dirty
    /// bytes or a page has to be freed; large ones when their PUT is complete. \pre size > 0
    Step put(PutRequest& request);
    Step prefetch(const TaskClock& task, PrefetchRequest& request);
    /// Until all that was written before is complete at its target. PUTs that failed are started again.
    Step release(ReleaseRequest& request);

    /// The task's later reads use nothing that was read earlier. O(1).
    void acquire(TaskClock& task) noexcept;
    /// Nobody's later reads of the range use what was read earlier. Written bytes stay. O(pages there). What
    /// goes around the cache (an atomic, a strided put) needs a release() of its range before and this after
    /// it.
    void acquire(Rank target, ByteRange range) noexcept;

    /// The transport has accepted the operation, at `now_ticks`.
    void started(Operation& operation, std::uint64_t now_ticks) noexcept;
    /// It is complete: the bytes are in its buffer, or at the target. Also for one that could not be started.
    /// \param status 0: success. A PUT of written bytes that failed is kept, and started again by whatever
    /// waits for it; of a GET that failed nothing is kept.
    void complete(Operation& operation, int status, std::uint64_t now_ticks) noexcept;
    /// An operation that was held back and has to be started now; nullptr: none. To be asked after
    /// complete().
    Operation* next_due() noexcept;
    /// Whether what the step waits for is still not complete.
    bool in_flight(const Step& step) const noexcept {
        const Operation& op = *step.operation;
        return op.id == step.id &&
               (op.state_ == Operation::State::started || op.state_ == Operation::State::held);
    }
    /// All that is under way or to be started again.
    std::size_t operations() const noexcept { return operations_.in_flight(); }
    Operation* oldest_operation() const noexcept { return operations_.oldest(); }
    const std::vector<Operation*>& gets_in_flight() const noexcept { return operations_.gets(); }
    const std::vector<Operation*>& puts_in_flight() const noexcept { return operations_.puts(); }

    /// All counters up to now.
    PageCacheCounters counters() const noexcept;
    const PageCacheConfig& config() const noexcept { return config_; }
    /// What a loop has to know to choose how far ahead it gives its hints (PrefetchDistance): how long a GET
    /// took that was waited for (0: none was yet), how many hints can be under way at a time, and how much
    /// was asked for in vain, in lines and in hints that were dropped.
    std::uint64_t latency_ticks() const noexcept { return read_ahead_.latency_ticks(); }
    std::size_t hints_most() const noexcept { return config_.operations - operations_kept_; }
    std::uint64_t hints_in_vain() const noexcept {
        return counters_.prefetch_unused + counters_.hints_dropped;
    }
    std::uint32_t pages() const noexcept { return queues_.count(); }
    std::uint32_t dirty_pages() const noexcept { return dirty_.count(); }
    /// Lines that were fetched ahead and wait for their use.
    std::uint64_t lines_ahead() const noexcept;
    /// Walks everything; aborts with a message when something is not as it should be.
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
    std::byte* data(const Page& page) const noexcept {
        return frames_ + (static_cast<std::uint64_t>(&page - pages_.data()) << page_shift_);
    }
    /// The page that has all of the range, or nullptr. `last` is tried first, and becomes that page.
    Page* page_with(Page*& last, Rank target, std::uint64_t offset, std::uint64_t size) noexcept;
    const std::byte* find_unready(const TaskClock& task, Page& page, std::uint64_t skip, std::uint64_t size,
                                  LineMask lines) noexcept;
    bool fresh(const TaskClock& task, const Page& page) const noexcept { return page.stamp >= task.acquired; }
    template <class Visitor>
    void for_each_part(ByteRange range, Visitor&& visit) const;
    template <class Visitor>
    void for_each_page(Rank target, ByteRange range, Visitor&& visit);
    LineMask lines_within(const Page& page, ByteRange range) const noexcept;
    LineMask lines_within(const Operation& operation, ByteRange range) const noexcept;
    ByteRange line_bytes_of(std::uint64_t first_line, std::uint64_t last_line,
                            ByteRange readable) const noexcept;

    // Pages' lives (page_cache.cpp).
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
    void admit(Operation& operation) noexcept;
    void deliver(const Operation& operation) noexcept;
    void settle() noexcept;
    void copy_written(const Page& page, std::uint64_t begin, std::uint64_t end, std::byte* to) const noexcept;
    void copy_clean(const Page& page, std::uint64_t begin, std::uint64_t end, const std::byte* from) noexcept;

    // Puts and releases (write_back.cpp).
    Step clean(std::uint32_t entry, Turn& turn) noexcept;
    bool may_hold(const Operation& before, const Turn& turn) const noexcept;
    Step hold(Operation& operation) noexcept;
    Operation& let_go(Operation& held) noexcept;
    Operation* predecessor(const Operation& held) const noexcept;
    void fail_held_gets(const Operation& put, int status, std::uint64_t now_ticks) noexcept;
    Operation* fetching(Rank target, ByteRange range) const noexcept;
    Operation* in_the_way(Rank target, ByteRange range) const noexcept;
    static Step wait_for(Operation& operation) noexcept;
    Step held_up_by(Operation& operation, Turn& turn) noexcept;
    static Step start(Operation& operation) noexcept { return {Step::Kind::start, &operation, operation.id}; }
    struct Run;
    bool oldest_is_due() noexcept;
    bool arriving_in(const Page& page, std::uint64_t begin, std::uint64_t end) const noexcept;
    Run run_at(const Page& page, std::uint64_t begin) noexcept;
    void take_run(const Run& run, Operation& operation) noexcept;
    void set_clean(Page& page, std::uint64_t begin, std::uint64_t end) noexcept;

    // Large ones (bulk.cpp).
    Step get_bulk(const TaskClock& task, GetRequest& request);
    Step put_bulk(PutRequest& request);
    std::uint64_t copy_prefix(const TaskClock& task, GetRequest& request) noexcept;
    struct Gap;
    Gap gap_at(const TaskClock& task, const GetRequest& request) noexcept;
    const Page* written_within(const PutRequest& request) noexcept;
    void update(const PutRequest& request) noexcept;

    // What a hit reads stands first.
    Page* found_;    ///< the page that find() found last
    Page* written_;  ///< the page that write() found last
    std::byte* frames_;
    unsigned page_shift_;
    unsigned line_shift_;
    std::uint64_t page_mask_;
    PageCacheCounters counters_;
    std::vector<Page> pages_;
    PageTable table_;
    PageName absent_;  ///< is not there: a miss asks for it several times
    PageQueues queues_;
    DirtyPages dirty_;

    ReservedMemory memory_;
    OperationTable operations_;
    std::uint32_t held_ = 0;       ///< operations in that state
    Operation* landed_ = nullptr;  ///< the GET that is complete, but not in its pages yet
    ReadAhead read_ahead_;
    std::vector<std::uint32_t> spare_;
    std::uint32_t lines_per_page_;
    std::uint32_t lines_per_operation_;
    std::size_t operations_kept_;  ///< that prefetches leave for what somebody waits for
    Stamp now_ = 0;
    std::uint64_t completed_ticks_ = 0;
    PageCacheConfig config_;
    Page nowhere_;  ///< what found_ and written_ point to when there is no page
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
