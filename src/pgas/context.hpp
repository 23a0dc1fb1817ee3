// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thread of an SPMD program: its endpoint, its cache, its task's clock, and its calls of other ranks. What
// takes a memory order is in ordered.hpp.

#include <atomic>
#include <memory>
#include <nearfetch/pgas.hpp>
#include <type_traits>
#include <vector>

#include "cache/sync_clock/rank_clock.hpp"
#include "pgas/direct_engine.hpp"
#include "pgas/lazy_acquire.hpp"
#include "pgas/node_sharing.hpp"
#include "pgas/page_engine.hpp"
#include "pgas/remote_calls.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

class Runtime;

/// What a thread's acquires and releases tell of fetched and written bytes.
struct SyncState {
    /// of the last acquire on the rank's clock; earlier fetches are stale. Acquires of a range count too.
    Stamp acquired = 0;
    /// of this thread's complete releases; nullptr where each put is a message
    std::shared_ptr<std::atomic<std::uint64_t>> release_count;
    LazyAcquire lazy_acquire{};
};

struct TransferStatistics {
    PageCacheCounters counters;   ///< of the thread's cache, or of its messages without a cache
    std::uint64_t waited_ns = 0;  ///< time that the thread waited for the network
    CallCounts calls;

    void add(const TransferStatistics& other) noexcept {
        counters.add(other.counters);
        waited_ns += other.waited_ns;
        calls.add(other.calls);
    }
};

class Context {
  public:
    explicit Context(Runtime& runtime);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    /// \pre all puts are released; others are lost
    ~Context() = default;

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
    /// Gets elements, or puts const ones, as one operation.
    template <class Byte>
    void move_strided(Rank rank, std::uint64_t address, const detail::Elements& elements, Byte* memory);
    enum class Source : bool {
        cache,
        target  ///< the current bytes, past the cache; this thread's puts of them are written before
    };
    /// Starts a get into memory (of std::byte), or a put (of const std::byte).
    template <class Byte>
    Transfer start(Rank rank, std::uint64_t address, std::type_identity_t<Byte>* memory, std::size_t bytes,
                   Source source = Source::cache);
    void prefetch(Rank rank, std::uint64_t address, std::size_t bytes);

    /// Adds to 8 bytes without waiting; complete at the next release. Earlier puts of them are written first.
    void start_addition(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount);

    /// What ranks of the node share may have been acquired before (Runtime::barrier()).
    enum class OfNode : bool { acquired, not_yet };
    void acquire(OfNode of_node = OfNode::not_yet) noexcept {
        // First: a fetch that looks there in between has a stamp that the rank's clock makes stale.
        if (near_ != nullptr && of_node == OfNode::not_yet) near_->acquired();
        if (engine_ != nullptr) engine_->acquire(clock_);
        sync_.acquired = rank_clock_.acquire();
        sync_.lazy_acquire.acquired();
    }
    void release();
    void acquire(Rank rank, ByteRange range);
    void release(Rank rank, ByteRange range);
    /// Invalidates a range: later gets see nothing that was read before.
    void forget(Rank rank, ByteRange range);
    SyncState& sync() noexcept { return sync_; }
    /// What ranks of this node have fetched. nullptr: there is none, or it may lack updates of this thread.
    NodeSharing* node_sharing() const { return near_ == nullptr || has_updates() ? nullptr : near_; }

    RemoteCalls& remote_calls() noexcept { return remote_calls_; }
    enum class Counting : bool { goes_on, begins_anew };
    /// Of the present task or call; of the main thread everything.
    TransferStatistics statistics(Counting counting = Counting::goes_on);
    /// nullptr without a cache.
    const PageEngine* engine() const noexcept { return engine_.get(); }
    Runtime& runtime() noexcept { return runtime_; }
    Transport& transport() noexcept { return *endpoint_; }

  private:
    struct Addition {
        Rank rank;
        std::uint64_t address;
    };

    void finish_additions();
    std::uint64_t puts() const;
    bool has_updates() const { return !additions_.empty() || puts() != released_puts_; }
    TransferStatistics all_statistics() const;
    [[noreturn]] static void outside();
    static void begin_put_epoch() noexcept;
    [[noreturn]] void fail(const char* what, Rank rank, std::uint64_t address, std::size_t bytes,
                           int status) const;
    [[noreturn]] void fail_release(int status) const;
    // One comparison also excludes negative ranks; move_uncached() reports other invalid ranks.
    bool is_remote(Rank rank) const noexcept {
        return rank != rank_ && static_cast<std::uint32_t>(rank) < static_cast<std::uint32_t>(ranks_);
    }
    void charge_accesses(std::size_t count = 1);
    // Byte is std::byte for a get, const std::byte for a put.
    template <class Byte, class Cached>
    void move(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes, const Cached& cached) {
        if (charged_) [[unlikely]]
            charge_accesses();
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
    NodeSharing* near_;  ///< the rank's
    SyncState sync_;
    DirectEngine direct_;
    RemoteCalls remote_calls_;
    std::vector<Addition> additions_;  ///< outstanding
    std::uint64_t released_puts_ = 0;  ///< puts() at the last release of all
    TransferStatistics taken_;
};

}  // namespace nearfetch::pgas
