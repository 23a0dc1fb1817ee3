// SPDX-License-Identifier: Apache-2.0
#pragma once

// A page cache on a transport, for one thread and all its tasks (000, section III). It executes the steps
// that the cache asks for.
//
// An operation is started before the bookkeeping, so that the two overlap (000, III-E). Prefetches and
// write-backs are completed in passing: while the engine waits for something else, or when half of the
// operations are in use.
//
// A waiting transport may run other tasks of the thread, which may use the engine. So no state is kept across
// a wait: the cache computes the next step anew.
//
// A failed PUT stays in the cache. The next call that needs it done starts it again, once. If it fails again,
// that call returns the status, and the bytes stay dirty.

#include <utility>

#include "base/copy.hpp"
#include "cache/page_cache/page_cache.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

/// What a message takes of the processor, in virtual time.
struct MessageCost {
    std::uint64_t alone_ns = 0;       ///< before it starts, and after it is complete
    std::uint64_t overlapped_ns = 0;  ///< while it travels
};

class PageEngine {
    enum class WaitMode { poll, block };

  public:
    /// What becomes of an access that the transport does not call readable.
    enum class Unreadable : std::uint8_t {
        refused,          ///< it is not started
        fetched_exactly,  ///< its own bytes are fetched and no others; the transport may refuse it
    };

    /// \throws Error for an invalid configuration, or when memory is exhausted
    PageEngine(const PageCacheConfig& config, Transport& transport,
               Unreadable unreadable = Unreadable::refused, MessageCost cost = {});
    PageEngine(const PageEngine&) = delete;
    PageEngine& operator=(const PageEngine&) = delete;
    /// Waits for outstanding operations. Unreleased bytes are lost.
    ~PageEngine();

    /// Reads bytes at `address` of `target`, as fresh as the task's last acquire requires. \return 0 or the
    /// status of a transfer
    int get(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
            std::byte* to) {
        if (!get_resident(task, target, address, size_bytes, to)) [[unlikely]]
            return get_slowly(task, target, address, size_bytes, to);
        return 0;
    }

    /// Writes bytes; complete at the target after a release. \return 0 or the status of a transfer. A small
    /// put is then done in part or not at all. After a bulk put the bytes, and earlier unreleased puts of
    /// them, are undefined.
    int put(Rank target, std::uint64_t address, std::uint64_t size_bytes, const std::byte* from) {
        if (cache_.write(target, address, size_bytes, from)) [[likely]]
            return 0;
        return put_slowly(target, address, size_bytes, from);
    }

    /// The get or put, if it needs nothing of the network. \return whether it was done
    bool get_resident(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                      std::byte* to) {
        const std::byte* const bytes = cache_.find(task, target, address, size_bytes);
        if (bytes == nullptr) [[unlikely]]
            return false;
        copy_bytes(to, bytes, size_bytes);
        return true;
    }
    bool put_resident(Rank target, std::uint64_t address, std::uint64_t size_bytes, const std::byte* from) {
        return cache_.write(target, address, size_bytes, from);
    }

    /// A get or put that makes progress by itself after the first test(). A bulk one uses the program's
    /// memory until it is complete; the destructor waits for it.
    template <class Request>
    class Pending {
      public:
        Pending(PageEngine& engine, const TaskClock& task, const Request& request)
            : engine_(engine), task_(task), request_(request), attempt_(++engine.attempts_) {
            if (engine.may_start(request)) return;
            status_ = transport_status::outside;
            done_ = true;
        }
        Pending(const Pending&) = delete;
        Pending& operator=(const Pending&) = delete;
        ~Pending() {
            if (!done_ || request_.outstanding()) wait();
        }

        /// Makes progress without waiting. \return whether it is complete
        bool test() { return advance(WaitMode::poll); }
        /// \return 0 or the status of the first failed transfer
        int wait();

      private:
        bool advance(WaitMode mode);

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
        // The time matters only for pages that were read ahead, and reading the clock is costly for a miss.
        const std::uint64_t now_ns = cache_.has_pages(target, address, size_bytes) ? transport_.now_ns() : 0;
        const bool is_asked = unreadable_ == Unreadable::fetched_exactly;  // by the cache, if need be
        return {
            target, address, size_bytes, to, is_asked ? ByteRange{} : transport_.readable(target, address),
            now_ns};
    }
    PutRequest put_request(Rank target, std::uint64_t address, std::uint64_t size_bytes,
                           const std::byte* from) const noexcept {
        return {target, address, size_bytes, from};
    }

    /// For whom a prefetch is: only the program's are counted as hints.
    enum class Prefetched : std::uint8_t { by_hint, for_strided_get };
    /// Prefetches the addressable bytes. Never waits.
    void prefetch(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                  Prefetched why = Prefetched::by_hint);

    /// The task's later gets see nothing that was read before.
    void acquire(TaskClock& task) noexcept { cache_.acquire(task); }
    /// No later get of the range sees what was read before.
    void acquire(Rank target, ByteRange range) noexcept { cache_.acquire(target, range); }
    /// \return 0 if all earlier puts are complete at their targets; else a status, and the next release tries
    /// again
    int release();
    int release(Rank target, ByteRange range);
    /// Releases the range, and waits until nothing of it is cached or outstanding. \return 0, or a status:
    /// then its puts are kept
    int invalidate(Rank target, ByteRange range);
    /// The same, but what was put there and not released is lost. \return whether it could be done
    bool discard(Rank target, ByteRange range);

    const PageCache& cache() const noexcept { return cache_; }
    /// Time that this thread waited for the network.
    std::uint64_t waited_ns() const noexcept { return waited_ns_; }
    Transport& transport() noexcept { return transport_; }

  private:
    int get_slowly(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                   std::byte* to);
    int put_slowly(Rank target, std::uint64_t address, std::uint64_t size_bytes, const std::byte* from);
    int release(ReleaseRequest& request);
    bool drain(Rank target, ByteRange range, bool discards);
    template <class Request>
    bool may_start(const Request& request) const noexcept {
        if (unreadable_ == Unreadable::fetched_exactly)
            return request.offset < offsets_end && request.size_bytes <= offsets_end - request.offset;
        return memory_of(request).contains(request.offset, request.size_bytes);
    }
    ByteRange memory_of(const GetRequest& request) const noexcept { return request.readable; }
    ByteRange memory_of(const PutRequest& request) const noexcept {
        return transport_.readable(request.target, request.offset);
    }
    Step next(const TaskClock& task, GetRequest& request) { return cache_.get(task, request); }
    Step next(const TaskClock&, PutRequest& request) { return cache_.put(request); }
    template <class Ask>
    bool drive(Ask&& ask, std::uint64_t attempt, WaitMode mode, int& status);
    void launch(Operation& operation, std::uint64_t attempt);
    void launch_due();
    bool await(const Step& step, WaitMode mode);
    std::size_t complete_transfers(WaitMode mode);

    class Memory final : public ReadableMemory {
      public:
        explicit Memory(const Transport& transport) : transport_(transport) {}
        ByteRange around(Rank target, ByteRange range) const noexcept override {
            return transport_.readable_with(target, range);
        }

      private:
        const Transport& transport_;
    };

    const Memory memory_;
    PageCache cache_;
    Transport& transport_;
    const Unreadable unreadable_;
    const MessageCost cost_;
    std::uint64_t attempts_ = 0;  ///< numbers calls; Operation::handle is the last that started it
    std::uint64_t waited_ns_ = 0;
    std::uint64_t last_completion_ns_ = 0;  ///< time of the last completion
    int put_status_ = 0;                    ///< status of the last failed PUT
};

}  // namespace nearfetch
