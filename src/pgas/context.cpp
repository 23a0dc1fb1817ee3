// SPDX-License-Identifier: Apache-2.0
#include "pgas/context.hpp"

#include <cstring>
#include <limits>
#include <nearfetch/detail/cache/slice.hpp>

#include "base/copy.hpp"
#include "pgas/message.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch {

thread_local constinit std::uint64_t detail::put_epoch = 0;

namespace pgas {

thread_local constinit Context* Context::here_ = nullptr;

namespace {

std::string bytes_at(Rank rank, std::uint64_t address, std::size_t bytes) {
    return std::to_string(bytes) + " bytes at address " + std::to_string(address) + " of rank " +
           std::to_string(rank);
}

bool releases(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
bool acquires(std::memory_order order) noexcept {
    return order == std::memory_order_acquire || order == std::memory_order_consume ||
           order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

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

class DoneTransfer final : public Transfer::State {
  public:
    bool test() override { return true; }
    int wait() override { return 0; }
};

}  // namespace

Context::Context(Runtime& runtime)
    : rank_(runtime.job().rank()),
      ranks_(runtime.job().ranks()),
      charged_(runtime.job().virtual_time() && runtime.options().access_ns != 0),
      endpoint_(runtime.job().endpoint()),
      engine_(runtime.options().cached ? std::make_unique<PageEngine>(runtime.options().cache, *endpoint_)
                                       : nullptr),
      runtime_(runtime),
      rank_clock_(runtime.clock()),
      release_count_(engine_ != nullptr ? std::make_shared<std::atomic<std::uint64_t>>(0) : nullptr),
      direct_(*endpoint_),
      port_(runtime.take_port()) {
    // The task uses nothing that was fetched before it.
    acquire();
}

Context::~Context() { runtime_.give_port(port_); }

void Context::outside() {
    throw Error("this thread is no part of a launched program",
                "only main, spawned tasks and functions of on() communicate", "call it in one of these");
}

void Context::fail(const char* what, Rank rank, std::uint64_t address, std::size_t bytes, int status) const {
    check(what, rank, address, bytes);
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

void Context::check(const char* what, Rank rank, std::uint64_t address, std::size_t bytes) const {
    if (rank < 0 || rank >= ranks_)
        throw Error(std::string(what) + ": rank " + std::to_string(rank),
                    "the program has the ranks 0 to " + std::to_string(ranks_ - 1), "use one of them");
    const ByteRange segment{0, runtime_.job().segment().size()};
    if (!segment.contains(address, bytes))
        throw Error(std::string(what) + ": " + bytes_at(rank, address, bytes),
                    "its segment has " + std::to_string(segment.size()) + " bytes",
                    "allocate() what is accessed, or raise LaunchOptions::segment_bytes");
}

void Context::charge() { runtime_.job().compute(runtime_.options().access_ns); }

std::byte* Context::local(std::uint64_t address, std::size_t bytes) {
    check("local access", rank_, address, bytes);
    return runtime_.job().segment().data() + address;
}

template <class Byte>
void Context::move_uncached(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes) {
    check(name_of(memory), rank, address, bytes);
    if (rank == rank_) {
        copy(local(address, bytes), memory, bytes);
        return;
    }
    const int status = DirectEngine::Pending(direct_, rank, address, bytes, memory).wait();
    if (status != 0) fail(name_of(memory), rank, address, bytes, status);
}
template void Context::move_uncached(Rank, std::uint64_t, std::byte*, std::size_t);
template void Context::move_uncached(Rank, std::uint64_t, const std::byte*, std::size_t);

template <class Byte>
Transfer Context::start(Rank rank, std::uint64_t address, Byte* memory, std::size_t bytes) {
    check(name_of(memory), rank, address, bytes);
    if (charged_) charge();
    if (bytes == 0 || rank == rank_) {
        if (bytes != 0) copy(local(address, bytes), memory, bytes);
        return Transfer(std::make_unique<DoneTransfer>());
    }
    if (engine_ == nullptr)
        return Transfer(
            std::make_unique<PendingTransfer<DirectEngine::Pending>>(direct_, rank, address, bytes, memory));
    auto request = request_of(*engine_, rank, address, bytes, memory);
    using Pending = PendingTransfer<PageEngine::Pending<decltype(request)>>;
    return Transfer(std::make_unique<Pending>(*engine_, clock_, request));
}
template Transfer Context::start(Rank, std::uint64_t, std::byte*, std::size_t);
template Transfer Context::start(Rank, std::uint64_t, const std::byte*, std::size_t);

Transfer Context::start_fetch(Rank rank, std::uint64_t address, std::byte* to, std::size_t bytes) {
    if (engine_ == nullptr || !is_remote(rank) || bytes == 0) return start_get(rank, address, to, bytes);
    check("get", rank, address, bytes);
    if (charged_) charge();
    GetRequest request = engine_->get_request(rank, address, bytes, to);
    request.bypass_pages = true;
    // Makes every page stale.
    constexpr TaskClock end_of_time{std::numeric_limits<Stamp>::max()};
    return Transfer(
        std::make_unique<PendingTransfer<PageEngine::Pending<GetRequest>>>(*engine_, end_of_time, request));
}

void Context::prefetch(Rank rank, std::uint64_t address, std::size_t bytes) {
    if (!is_remote(rank) || engine_ == nullptr) return;
    if (charged_) charge();
    engine_->prefetch(clock_, rank, address, bytes);
}

void Context::release() {
    direct_.finish();
    if (engine_ == nullptr) return;
    const int status = engine_->release();
    if (status != 0) fail_release(status);
    begin_put_epoch();
    release_count_->fetch_add(1, std::memory_order_release);
}

void Context::begin_put_epoch() noexcept {
    static std::atomic<std::uint64_t> epochs{0};
    detail::put_epoch = epochs.fetch_add(1, std::memory_order_relaxed) + 1;
}

void Context::acquire(Rank rank, ByteRange range) {
    check("acquire", rank, range.begin, range.size());
    forget(rank, range);
    acquired_ = rank_clock_.acquire();
}

void Context::forget(Rank rank, ByteRange range) {
    if (engine_ != nullptr && !range.empty()) engine_->acquire(rank, range);
}

void Context::release(Rank rank, ByteRange range) {
    check("release", rank, range.begin, range.size());
    direct_.finish();
    if (engine_ == nullptr || range.empty()) return;
    const int status = engine_->release(rank, range);
    if (status != 0) fail_release(status);
}

std::uint64_t Context::atomic(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                              std::uint64_t compare, std::memory_order order) {
    check("atomic operation", rank, address, 8);
    if (address % 8 != 0)
        throw Error("atomic operation: " + bytes_at(rank, address, 8), "they are aligned to 8 bytes",
                    "use a pointer to an 8-byte type");
    const bool cached = engine_ != nullptr && rank != rank_;
    // The operation bypasses the cache: earlier puts go first, and the cached copy is invalidated.
    if (releases(order))
        release();
    else if (cached)
        release(rank, {address, address + 8});
    const std::uint64_t before = runtime_.job().atomic(rank, address, op, operand, compare);
    if (acquires(order))
        acquire();
    else if (cached)
        engine_->acquire(rank, {address, address + 8});
    return before;
}

void Context::barrier(std::memory_order order) {
    if (releases(order)) release();
    runtime_.barrier(collective_);
    if (acquires(order)) acquire();
}

void Context::send(const Call& call) {
    Header header;
    header.kind = call.is_short ? Header::Kind::short_call : Header::Kind::call;
    header.source = rank_;
    header.port = port_;
    header.result_bytes = static_cast<std::uint32_t>(call.result_bytes);
    header.number = calls_++;
    header.code = call.code;
    runtime_.job().send(call.rank, Runtime::server_port, compose(header, call.closure));
}

void Context::call(std::span<const Call> calls, std::memory_order order, const CallLimits& limits) {
    for (const Call& each : calls) {
        check("on", each.rank, 0, 0);
        if (!runtime_.answers())
            throw Error("on: nobody answers at rank " + std::to_string(each.rank),
                        "this MPI lets only one thread of a process communicate here",
                        "use one that gives MPI_THREAD_MULTIPLE on this network (MPICH does)");
    }
    release();
    const std::uint32_t first = calls_;
    std::string problem;
    std::size_t sent = 0, answered = 0;
    for (std::uint64_t bytes = 0; answered < calls.size();) {
        const auto fits = [&] {
            return sent - answered < limits.calls && bytes + calls[sent].result_bytes <= limits.result_bytes;
        };
        if (sent < calls.size() && (sent == answered || fits())) {
            bytes += calls[sent].result_bytes;
            send(calls[sent++]);
            continue;
        }
        Message reply;
        runtime_.job().receive(port_, reply, true);
        const Header answer = header_of(reply.bytes);
        const std::uint32_t number = answer.number - first;
        if (number >= sent) continue;  // answers of an earlier call that failed while sending
        ++answered;
        const Call& each = calls[number];
        bytes -= each.result_bytes;
        const auto body = body_of(reply.bytes);
        if (answer.kind == Header::Kind::error)
            problem = "on rank " + std::to_string(each.rank) + ": " +
                      std::string(reinterpret_cast<const char*>(body.data()), body.size());
        else if (each.result_bytes != 0)
            each.take(body);
    }
    if (acquires(order)) acquire();
    if (!problem.empty()) throw Error(problem);
}

bool Context::answered() const noexcept { return runtime_.answers(); }

PageCacheCounters Context::counters() const {
    PageCacheCounters all = direct_.counters();
    if (engine_ != nullptr) all.add(engine_->cache().counters());
    return all;
}

}  // namespace pgas

}  // namespace nearfetch
