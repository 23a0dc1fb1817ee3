// SPDX-License-Identifier: Apache-2.0
#pragma once

// A page cache on a transport: does what core's steps say, for one thread and all its tasks (000, section
// III).
//
// The network comes first: an operation is started before the core does its bookkeeping (000, III-E). What
// nobody waits for, prefetches and write-backs, is completed whenever the engine looks: while it waits for
// something else, and when half of the operations are in use.
//
// While a transport waits it may run other tasks of the thread, which may use the engine. So nothing is kept
// here across a wait; the core works the next step out anew.
//
// A PUT of written bytes that fails stays in the core and is started again by the next that needs it done.
// One call tries it once: what fails under its eyes ends it with the status, and the bytes stay written.

#include <utility>

#include "base/copy.hpp"
#include "cache/page_cache/page_cache.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

class PageEngine {
    enum class Patience { none, all };

  public:
    /// \throws Error when a value makes no sense, or the memory is not to be had
    PageEngine(const PageCacheConfig& config, Transport& transport);
    PageEngine(const PageEngine&) = delete;
    PageEngine& operator=(const PageEngine&) = delete;
    /// Waits for what is under way. Bytes that were not released are lost.
    ~PageEngine();

    /// The bytes at `address` of `target`, as the task may see them. \return 0 or the status of a transfer
    int get(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
            std::byte* to) {
        if (!get_cached(task, target, address, size_bytes, to)) [[unlikely]]
            return get_slowly(task, target, address, size_bytes, to);
        return 0;
    }

    /// Writes them; at the target after a release. \return 0 or the status of a transfer: a small one is then
    /// written in part or not at all, and of a large one nothing is certain, nor is what was put there before
    /// and not released
    int put(Rank target, std::uint64_t address, std::uint64_t size_bytes, const std::byte* from) {
        if (cache_.write(target, address, size_bytes, from)) [[likely]]
            return 0;
        return put_slowly(target, address, size_bytes, from);
    }

    /// A get or put that goes on by itself once test() has begun it. A large one uses the program's memory
    /// until it is done; the destructor waits for it.
    template <class Request>
    class Pending {
      public:
        Pending(PageEngine& engine, const TaskClock& task, const Request& request)
            : engine_(engine), task_(task), request_(request), attempt_(++engine.attempts_) {
            if (engine.memory_of(request).contains(request.offset, request.size_bytes)) return;
            status_ = transport_status::outside;
            done_ = true;
        }
        Pending(const Pending&) = delete;
        Pending& operator=(const Pending&) = delete;
        ~Pending() {
            if (!done_ || request_.outstanding()) wait();
        }

        /// Brings it forward as far as that goes without waiting. \return whether it is done
        bool test() { return advance(Patience::none); }
        /// \return 0 or the status of the first transfer that failed
        int wait();

      private:
        bool advance(Patience patience);

        PageEngine& engine_;
        TaskClock task_;
        Request request_;
        std::uint64_t attempt_;
        int status_ = 0;
        bool done_ = false;
    };
    using Get = Pending<GetRequest>;
    using Put = Pending<PutRequest>;
    /// For Get and Put. \pre size_bytes > 0
    GetRequest get_request(Rank target, std::uint64_t address, std::uint64_t size_bytes,
                           std::byte* to) const {
        // When the program asked matters where something was read ahead; the clock is a good part of a miss.
        const std::uint64_t now_ns = cache_.has_pages(target, address, size_bytes) ? transport_.now_ns() : 0;
        return {target, address, size_bytes, to, transport_.readable(target, address), now_ns};
    }
    PutRequest put_request(Rank target, std::uint64_t address, std::uint64_t size_bytes,
                           const std::byte* from) const noexcept {
        return {target, address, size_bytes, from};
    }

    /// Asks for bytes ahead of their use; what is not addressable of them is left out. Never waits.
    void prefetch(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes);

    /// The task's later gets see nothing that was read earlier.
    void acquire(TaskClock& task) noexcept { cache_.acquire(task); }
    /// Nobody's later gets of the range see what was read earlier.
    void acquire(Rank target, ByteRange range) noexcept { cache_.acquire(target, range); }
    /// All that was written before is at its target when it returns 0; else the status of what could not be
    /// written, which stays and is tried again by the next release.
    int release();
    int release(Rank target, ByteRange range);

    const PageCache& cache() const noexcept { return cache_; }
    /// How long this thread has waited for the network.
    std::uint64_t waited_ns() const noexcept { return waited_ns_; }
    Transport& transport() noexcept { return transport_; }

  private:
    bool get_cached(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                    std::byte* to) {
        const std::byte* const bytes = cache_.find(task, target, address, size_bytes);
        if (bytes == nullptr) [[unlikely]]
            return false;
        copy_bytes(to, bytes, size_bytes);
        return true;
    }
    int get_slowly(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                   std::byte* to);
    int put_slowly(Rank target, std::uint64_t address, std::uint64_t size_bytes, const std::byte* from);
    int release(ReleaseRequest request);
    ByteRange memory_of(const GetRequest& request) const noexcept { return request.readable; }
    ByteRange memory_of(const PutRequest& request) const noexcept {
        return transport_.readable(request.target, request.offset);
    }
    Step next(const TaskClock& task, GetRequest& request) { return cache_.get(task, request); }
    Step next(const TaskClock&, PutRequest& request) { return cache_.put(request); }
    template <class Ask>
    bool drive(Ask&& ask, std::uint64_t attempt, Patience patience, int& status);
    void launch(Operation& operation, std::uint64_t attempt);
    void launch_due();
    bool await(const Step& step, Patience patience);
    std::size_t collect(Patience patience);

    PageCache cache_;
    Transport& transport_;
    std::uint64_t attempts_ = 0;  ///< numbers calls; Operation::handle is who started it last
    std::uint64_t waited_ns_ = 0;
    std::uint64_t collected_ns_ = 0;  ///< when something completed last
    int put_status_ = 0;              ///< of the PUT of written bytes that failed last
};

}  // namespace nearfetch
