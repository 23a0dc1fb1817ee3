// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thread of an SPMD program: its endpoint, its cache, and its task's clock.

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <nearfetch/pgas.hpp>

#include "cache/sync_clock/rank_clock.hpp"
#include "pgas/direct_engine.hpp"
#include "pgas/page_engine.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

class Runtime;

class Context {
  public:
    explicit Context(Runtime& runtime);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    /// \pre all puts are released; others are lost
    ~Context();

    /// The calling thread's. \throws Error in a thread that has none
    static Context& here() {
        if (here_ == nullptr) [[unlikely]]
            outside();
        return *here_;
    }
    /// The same, or nullptr.
    static Context* find() noexcept { return here_; }
    /// While it lives, the context is the calling thread's.
    class Use {
      public:
        explicit Use(Context& context) noexcept {
            here_ = &context;
            begin_put_epoch();
        }
        ~Use() { here_ = nullptr; }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
    };

    void get(Rank rank, std::uint64_t address, std::byte* to, std::size_t bytes) {
        move(rank, address, to, bytes, [&] { return engine_->get(clock_, rank, address, bytes, to); });
    }
    void put(Rank rank, std::uint64_t address, const std::byte* from, std::size_t bytes) {
        move(rank, address, from, bytes, [&] { return engine_->put(rank, address, bytes, from); });
    }
    Transfer start_get(Rank rank, std::uint64_t address, std::byte* to, std::size_t bytes) {
        return start(rank, address, to, bytes);
    }
    Transfer start_put(Rank rank, std::uint64_t address, const std::byte* from, std::size_t bytes) {
        return start(rank, address, from, bytes);
    }
    /// Fetches the current bytes to `to`, bypassing the cache (LAPPS, section 5.4). This thread's unreleased
    /// puts are written back first.
    Transfer start_fetch(Rank rank, std::uint64_t address, std::byte* to, std::size_t bytes);
    void prefetch(Rank rank, std::uint64_t address, std::size_t bytes);

    void acquire() noexcept {
        if (engine_ != nullptr) engine_->acquire(clock_);
        acquired_ = rank_clock_.acquire();
    }
    void release();
    void acquire(Rank rank, ByteRange range);
    void release(Rank rank, ByteRange range);
    /// Stamp of the last acquire on the rank's clock; earlier fetches are stale. Acquires of a range count
    /// too.
    Stamp acquired() const noexcept { return acquired_; }
    /// Invalidates a range: later gets see nothing that was read before.
    void forget(Rank rank, ByteRange range);
    std::uint64_t atomic(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                         std::uint64_t compare, std::memory_order order);
    void barrier(std::memory_order order);
    /// The collective function that the thread is in; nullptr: none.
    detail::Collective*& collective() noexcept { return collective_; }
    /// Code to run on a rank, and the consumer of its result.
    struct Call {
        using Take = std::function<void(std::span<const std::byte> result)>;
        static Take copy_to(void* memory) {
            return [memory](std::span<const std::byte> result) {
                std::memcpy(memory, result.data(), result.size());
            };
        }
        Rank rank = 0;
        std::int64_t code = 0;
        std::span<const std::byte> closure;
        std::uint64_t result_bytes = 0;
        Take take;  ///< called with the result, unless it is empty
        /// little work on the owner's own memory; the server runs it without another thread
        bool is_short = false;
    };
    /// Limits of outstanding calls: a number, and the bytes of their results. One is always allowed.
    struct CallLimits {
        std::size_t calls = ~std::size_t{0};
        std::uint64_t result_bytes = ~std::uint64_t{0};
    };
    /// Makes calls concurrently, starting in order, and waits for the results. The callee sees earlier puts.
    /// The caller sees the callee's puts if the order acquires.
    void call(std::span<const Call> calls, std::memory_order order = std::memory_order_acq_rel) {
        call(calls, order, CallLimits());
    }
    void call(std::span<const Call> calls, std::memory_order order, const CallLimits& limits);

    /// \throws Error unless the bytes are in the segment
    std::byte* local(std::uint64_t address, std::size_t bytes);
    PageCacheCounters counters() const;
    std::uint64_t waited_ns() const noexcept {
        return direct_.waited_ns() + (engine_ != nullptr ? engine_->waited_ns() : 0);
    }
    /// nullptr without a cache.
    const PageCache* cache() const noexcept { return engine_ != nullptr ? &engine_->cache() : nullptr; }
    Runtime& runtime() noexcept { return runtime_; }
    /// Whether ranks answer call().
    bool answered() const noexcept;
    /// Counts this thread's complete releases; nullptr where each put is a message.
    const std::shared_ptr<std::atomic<std::uint64_t>>& release_count() const noexcept {
        return release_count_;
    }
    Transport& transport() noexcept { return *endpoint_; }

  private:
    [[noreturn]] static void outside();
    static void begin_put_epoch() noexcept;
    [[noreturn]] void fail(const char* what, Rank rank, std::uint64_t address, std::size_t bytes,
                           int status) const;
    [[noreturn]] void fail_release(int status) const;
    // One comparison also excludes negative ranks; move_uncached() reports other invalid ranks.
    bool is_remote(Rank rank) const noexcept {
        return rank != rank_ && static_cast<std::uint32_t>(rank) < static_cast<std::uint32_t>(ranks_);
    }
    void check(const char* what, Rank rank, std::uint64_t address, std::size_t bytes) const;
    void charge();
    // Byte is std::byte for a get, const std::byte for a put.
    template <class Byte>
    Transfer start(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes);
    template <class Byte, class Cached>
    void move(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes, const Cached& cached) {
        if (charged_) [[unlikely]]
            charge();
        if (is_remote(rank) && engine_ != nullptr) [[likely]] {
            const int status = cached();
            if (status != 0) [[unlikely]]
                fail(name_of(memory), rank, address, bytes, status);
        } else {
            move_uncached(rank, address, memory, bytes);
        }
    }
    template <class Byte>
    void move_uncached(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes);
    static const char* name_of(const std::byte*) noexcept { return "put"; }
    static const char* name_of(std::byte*) noexcept { return "get"; }

    static thread_local constinit Context* here_;

    // First: what a hit reads.
    Rank rank_;
    Rank ranks_;
    bool charged_;
    std::unique_ptr<Transport> endpoint_;
    std::unique_ptr<PageEngine> engine_;  ///< nullptr: no cache
    TaskClock clock_;

    Runtime& runtime_;
    RankClock& rank_clock_;
    Stamp acquired_ = 0;
    std::shared_ptr<std::atomic<std::uint64_t>> release_count_;
    DirectEngine direct_;
    Port port_;
    void send(const Call& call);
    std::uint32_t calls_ = 0;  ///< number of the last call
    detail::Collective* collective_ = nullptr;
};

}  // namespace nearfetch::pgas
