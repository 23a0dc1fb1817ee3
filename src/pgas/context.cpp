// SPDX-License-Identifier: Apache-2.0
#include "pgas/context.hpp"

#include <deque>
#include <limits>
#include <nearfetch/detail/cache/slice.hpp>
#include <type_traits>
#include <utility>

#include "base/copy.hpp"
#include "base/language.hpp"
#include "pgas/runtime.hpp"
#include "pgas/segment.hpp"
#include "pgas/strided.hpp"

namespace nearfetch {

thread_local constinit std::uint64_t detail::put_epoch = 0;

namespace pgas {

thread_local constinit Context* Context::here_ = nullptr;

namespace {

/// Outstanding additions of a thread.
constexpr std::size_t additions_most = 1024;
/// Outstanding messages of a strided transfer without a cache.
constexpr std::size_t messages_most = 64;

template <class Pending>
class PendingTransfer final : public Transfer::State {
  public:
    template <class... Arguments>
    explicit PendingTransfer(Arguments&&... arguments) : pending_(std::forward<Arguments>(arguments)...) {
        pending_.test();
    }
    bool test() override { return pending_.test(); }
    int wait() override { return pending_.wait(); }

  private:
    Pending pending_;
};

// A get writes the program's bytes, a put reads them.
void copy(std::byte* segment, std::byte* to, std::size_t bytes) { copy_bytes(to, segment, bytes); }
void copy(std::byte* segment, const std::byte* from, std::size_t bytes) { copy_bytes(segment, from, bytes); }
GetRequest request_of(const PageEngine& engine, Rank rank, std::uint64_t address, std::size_t bytes,
                      std::byte* to) {
    return engine.get_request(rank, address, bytes, to);
}
PutRequest request_of(const PageEngine& engine, Rank rank, std::uint64_t address, std::size_t bytes,
                      const std::byte* from) {
    return engine.put_request(rank, address, bytes, from);
}

int move_elements(PageEngine& engine, const TaskClock& task, Rank rank, std::uint64_t address,
                  const StridedElements& elements, std::byte* to) {
    return get_strided(engine, task, rank, address, elements, to);
}
int move_elements(PageEngine& engine, const TaskClock& /*task*/, Rank rank, std::uint64_t address,
                  const StridedElements& elements, const std::byte* from) {
    return put_strided(engine, rank, address, elements, from);
}

class DoneTransfer final : public Transfer::State {
  public:
    bool test() override { return true; }
    int wait() override { return 0; }
};

std::unique_ptr<PageEngine> make_engine(const LaunchOptions& options, Transport& endpoint) {
    if (!options.cached) return nullptr;
    return std::make_unique<PageEngine>(options.cache, endpoint, PageEngine::Unreadable::refused,
                                        MessageCost{options.miss_ns, options.overlapped_ns});
}

}  // namespace

Context::Context(Runtime& runtime)
    : rank_(runtime.job().rank()),
      ranks_(runtime.job().ranks()),
      charged_(runtime.job().virtual_time()),
      endpoint_(runtime.job().endpoint()),
      engine_(make_engine(runtime.options(), *endpoint_)),
      runtime_(runtime),
      rank_clock_(runtime.clock()),
      near_(runtime.node_sharing()),
      sync_{0, engine_ != nullptr ? std::make_shared<std::atomic<std::uint64_t>>(0) : nullptr},
      direct_(*endpoint_),
      remote_calls_(runtime) {
    // The task uses nothing that was fetched before it.
    acquire();
}

void Context::outside() {
    throw Error(
        "this thread is no part of a launched program",
        in_words({.cpp = "only main, spawned tasks and functions of on() communicate",
                  .python = "ranks run what launch() is given, or what follows init()"}),
        in_words({.cpp = "call it in one of these",
                  .python = "call nearfetch.init() first, or call this in the function for launch()"}));
}

void Context::fail(const char* what, Rank rank, std::uint64_t address, std::size_t bytes, int status) const {
    check_access(runtime_.job(), what, rank, address, bytes);
    throw Error(
        std::string(what) + " of " + bytes_at(rank, address, bytes) + " failed",
        "the transport reports status " + std::to_string(status),
        "repeat it when the transport works: earlier puts are kept, but a large put may be done in part");
}

void Context::fail_release(int status) const {
    throw Error("not all that was put could be written",
                "the transport reports status " + std::to_string(status),
                "it is kept: call release() again when the transport works");
}

void Context::charge_accesses(std::size_t count) {
    runtime_.job().compute(runtime_.options().access_ns * count);
}

template <class Byte>
void Context::move_uncached(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes) {
    check_access(runtime_.job(), name_of(memory), rank, address, bytes);
    if (rank == rank_) {
        copy(local(runtime_.job(), address, bytes), memory, bytes);
        return;
    }
    const int status = DirectEngine::Pending(direct_, rank, address, bytes, memory).wait();
    if (status != 0) fail(name_of(memory), rank, address, bytes, status);
}
template void Context::move_uncached(Rank, std::uint64_t, std::byte*, std::size_t);
template void Context::move_uncached(Rank, std::uint64_t, const std::byte*, std::size_t);

template <class Byte>
void Context::move_strided(Rank rank, std::uint64_t address, const detail::Elements& elements, Byte* memory) {
    const auto [bytes, count, stride] = elements;
    if (count == 0) return;
    StridedElements all{bytes, 1, {{{count, 0, static_cast<std::int64_t>(bytes)}}}};
    std::int64_t& distance = all.of[0].remote_bytes;
    ByteRange whole{address, ~std::uint64_t{0}};
    if (!__builtin_mul_overflow(all.of[0].local_bytes, stride, &distance) && all.fits(address))
        whole = all.reach(address);
    check_access(runtime_.job(), name_of(memory), rank, whole.begin, whole.size());
    if (charged_) charge_accesses(count);
    int status = 0;
    if (rank == rank_) {
        for (std::size_t i = 0; i < count; ++i, address += static_cast<std::uint64_t>(distance))
            copy(local(runtime_.job(), address, bytes), memory + i * bytes, bytes);
    } else if (engine_ != nullptr) {
        all.merge();
        status = move_elements(*engine_, clock_, rank, address, all, memory);
    } else {
        std::deque<DirectEngine::Pending> messages;
        for (std::size_t i = 0; i < count; ++i, address += static_cast<std::uint64_t>(distance)) {
            messages.emplace_back(direct_, rank, address, bytes, memory + i * bytes);
            if (messages.size() < messages_most && i + 1 < count) continue;
            for (DirectEngine::Pending& message : messages)
                if (const int failed = message.wait(); status == 0) status = failed;
            messages.clear();
        }
    }
    if (status != 0) fail(name_of(memory), rank, whole.begin, whole.size(), status);
}
template void Context::move_strided(Rank, std::uint64_t, const detail::Elements&, std::byte*);
template void Context::move_strided(Rank, std::uint64_t, const detail::Elements&, const std::byte*);

template <class Byte>
Transfer Context::start(Rank rank, std::uint64_t address, std::type_identity_t<Byte>* memory,
                        std::size_t bytes, Source source) {
    check_access(runtime_.job(), name_of(memory), rank, address, bytes);
    if (charged_) charge_accesses();
    if (bytes == 0 || rank == rank_) {
        if (bytes != 0) copy(local(runtime_.job(), address, bytes), memory, bytes);
        return Transfer(std::make_unique<DoneTransfer>());
    }
    if (engine_ == nullptr)
        return Transfer(
            std::make_unique<PendingTransfer<DirectEngine::Pending>>(direct_, rank, address, bytes, memory));
    auto request = request_of(*engine_, rank, address, bytes, memory);
    TaskClock clock = clock_;
    if constexpr (std::is_same_v<Byte, std::byte>) {
        request.bypass_pages = source == Source::target;
        // Makes every page stale.
        if (source == Source::target) clock = {std::numeric_limits<Stamp>::max()};
    }
    using Pending = PendingTransfer<PageEngine::Pending<decltype(request)>>;
    return Transfer(std::make_unique<Pending>(*engine_, clock, request));
}
template Transfer Context::start<std::byte>(Rank, std::uint64_t, std::byte*, std::size_t, Source);
template Transfer Context::start<const std::byte>(Rank, std::uint64_t, const std::byte*, std::size_t, Source);

void Context::prefetch(Rank rank, std::uint64_t address, std::size_t bytes) {
    if (!is_remote(rank) || engine_ == nullptr) return;
    if (charged_) charge_accesses();
    engine_->prefetch(clock_, rank, address, bytes);
}

void Context::start_addition(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    if (charged_) charge_accesses();
    direct_.finish();
    if (engine_ != nullptr && is_remote(rank)) {
        const int status = engine_->release(rank, {address, address + 8});
        if (status != 0) fail_release(status);
    }
    runtime_.job().start_addition(rank, address, op, amount);
    additions_.push_back({rank, address});
    if (additions_.size() == additions_most) finish_additions();
}

void Context::finish_additions() {
    if (additions_.empty()) return;
    runtime_.job().finish_additions();
    // What was cached before, or read again in the meantime.
    for (const Addition& each : additions_)
        if (is_remote(each.rank)) forget(each.rank, {each.address, each.address + 8});
    additions_.clear();
}

/// Of this thread, and messages of them.
std::uint64_t Context::puts() const {
    const PageCacheCounters counters = all_statistics().counters;
    return counters.puts + counters.bulk_puts + counters.put_messages;
}

void Context::release() {
    direct_.finish();
    finish_additions();
    const int status = engine_ == nullptr ? 0 : engine_->release();
    if (status != 0) fail_release(status);
    if (near_ != nullptr && has_updates()) {
        near_->acquired();
        released_puts_ = puts();
    }
    if (engine_ == nullptr) return;
    if (charged_) runtime_.job().compute(runtime_.options().fence_ns);
    begin_put_epoch();
    // No other thread changes it.
    const std::uint64_t releases = sync_.release_count->load(std::memory_order_relaxed);
    sync_.release_count->store(releases + 1, std::memory_order_release);
}

void Context::begin_put_epoch() noexcept {
    // Each thread has numbers of its own, so that a release touches nothing that threads share.
    constexpr std::uint64_t of_a_thread = std::uint64_t{1} << 40;
    static std::atomic<std::uint64_t> threads{0};
    if (detail::put_epoch % of_a_thread == 0)
        detail::put_epoch = of_a_thread * threads.fetch_add(1, std::memory_order_relaxed);
    ++detail::put_epoch;
}

void Context::acquire(Rank rank, ByteRange range) {
    check_access(runtime_.job(), "acquire", rank, range.begin, range.size());
    forget(rank, range);
    sync_.acquired = rank_clock_.acquire();
}

void Context::forget(Rank rank, ByteRange range) {
    if (near_ != nullptr) near_->acquired();
    if (engine_ != nullptr && !range.empty()) engine_->acquire(rank, range);
}

void Context::release(Rank rank, ByteRange range) {
    check_access(runtime_.job(), "release", rank, range.begin, range.size());
    direct_.finish();
    finish_additions();
    if (engine_ == nullptr || range.empty()) return;
    const int status = engine_->release(rank, range);
    if (status != 0) fail_release(status);
}

TransferStatistics Context::all_statistics() const {
    TransferStatistics all{direct_.counters(), direct_.waited_ns(), remote_calls_.counts()};
    if (engine_ != nullptr) {
        all.counters.add(engine_->cache().counters());
        all.waited_ns += engine_->waited_ns();
    }
    return all;
}

TransferStatistics Context::statistics(Counting counting) {
    const TransferStatistics all = all_statistics();
    TransferStatistics fresh = all;
    for (const PageCacheCounterInfo& row : page_cache_counter_table)
        fresh.counters.*row.member -= taken_.counters.*row.member;
    fresh.waited_ns -= taken_.waited_ns;
    fresh.calls.calls -= taken_.calls.calls;
    fresh.calls.bytes -= taken_.calls.bytes;
    if (counting == Counting::begins_anew) taken_ = all;
    return fresh;
}

}  // namespace pgas

}  // namespace nearfetch
