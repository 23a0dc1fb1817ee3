// SPDX-License-Identifier: Apache-2.0
//
// The functions of nearfetch/pgas.hpp. Each delegates to the calling thread's context.

#include <nearfetch/pgas.hpp>

#include "pgas/context.hpp"
#include "pgas/ordered.hpp"
#include "pgas/runtime.hpp"
#include "pgas/segment.hpp"

namespace nearfetch {

using pgas::Context;

Rank rank() { return Context::here().runtime().job().rank(); }
Rank ranks() { return Context::here().runtime().job().ranks(); }
void acquire() { Context::here().acquire(); }
void release() { Context::here().release(); }
void fence() {
    release();
    acquire();
}
void barrier(std::memory_order order, const Where& where) {
    const detail::Collective call("barrier", where);
    pgas::barrier(Context::here(), order);
}
void yield() { Context::here().transport().yield(); }
void compute(std::uint64_t ns) { Context::here().runtime().job().compute(ns); }
std::uint64_t now_ns() { return Context::here().transport().now_ns(); }

namespace {

Statistics rows_of(const pgas::TransferStatistics& all) {
    Statistics result;
    for (const PageCacheCounterInfo& row : page_cache_counter_table)
        result.rows.emplace_back(row.name, all.counters.*row.member);
    result.rows.emplace_back("waited_ns", all.waited_ns);
    result.rows.emplace_back("calls", all.calls.calls);
    result.rows.emplace_back("call_bytes", all.calls.bytes);
    return result;
}

}  // namespace

Statistics statistics() { return rows_of(Context::here().statistics()); }

Statistics rank_statistics() {
    Context& context = Context::here();
    pgas::TransferStatistics all = context.runtime().ended().statistics;
    all.add(context.statistics());
    return rows_of(all);
}

std::uint64_t Statistics::operator[](std::string_view name) const {
    for (const auto& [row, value] : rows)
        if (row == name) return value;
    throw Error("counter " + std::string(name), "there is none of that name",
                "use one of those in Statistics::rows");
}

void Transfer::wait() {
    const int status = state_->wait();
    if (status != 0)
        throw Error("a transfer failed", "the transport reports status " + std::to_string(status),
                    "its memory holds nothing of use");
}

class Task::State {
  public:
    explicit State(std::unique_ptr<Job::Thread> thread) : thread_(std::move(thread)) {}
    void join() {
        if (thread_ == nullptr) return;
        const std::unique_ptr<Job::Thread> thread = std::move(thread_);
        thread->join();
    }

  private:
    std::unique_ptr<Job::Thread> thread_;
};

Task::Task(std::unique_ptr<State> state) : state_(std::move(state)) {}
Task::Task(Task&&) noexcept = default;
Task::~Task() {
    if (state_ == nullptr) return;
    try {
        state_->join();
    } catch (...) {  // join() reports it
    }
}

void Task::join() {
    try {
        state_->join();
    } catch (...) {
        acquire();
        throw;
    }
    acquire();
}

Task spawn(std::function<void()> body) {
    pgas::Runtime& runtime = Context::here().runtime();
    if (!can_spawn())
        throw Error("spawn", "this MPI lets only one thread of a process communicate here",
                    "use one that gives MPI_THREAD_MULTIPLE on this network (MPICH does)");
    release();
    return Task(std::make_unique<Task::State>(runtime.start_task(std::move(body))));
}

bool can_spawn() { return Context::here().runtime().job().threads(); }

namespace detail {

void get(Rank rank, std::uint64_t address, void* to, std::size_t bytes) {
    if (bytes == 0) return;
    Context::here().get(rank, address, static_cast<std::byte*>(to), bytes);
}
void put(Rank rank, std::uint64_t address, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    Context::here().put(rank, address, static_cast<const std::byte*>(from), bytes);
}
void get_strided(Rank rank, std::uint64_t address, const Elements& elements, void* to) {
    Context::here().move_strided(rank, address, elements, static_cast<std::byte*>(to));
}
void put_strided(Rank rank, std::uint64_t address, const Elements& elements, const void* from) {
    Context::here().move_strided(rank, address, elements, static_cast<const std::byte*>(from));
}
void prefetch(Rank rank, std::uint64_t address, std::size_t bytes) {
    Context::here().prefetch(rank, address, bytes);
}
void acquire(Rank rank, std::uint64_t address, std::size_t bytes) {
    Context::here().acquire(rank, {address, address + bytes});
}
void release(Rank rank, std::uint64_t address, std::size_t bytes) {
    Context::here().release(rank, {address, address + bytes});
}
std::uint64_t atomic(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                     std::uint64_t compare, std::memory_order order) {
    return pgas::atomic(Context::here(), rank, address, op, operand, compare, order);
}
void add(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount, std::memory_order order) {
    pgas::add(Context::here(), rank, address, op, amount, order);
}
void start_addition(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    pgas::start_addition(Context::here(), rank, address, op, amount);
}
std::byte* local(std::uint64_t address, std::size_t bytes) {
    return pgas::local(Context::here().runtime().job(), address, bytes);
}
std::uint64_t allocate(std::size_t bytes, const Where& where) {
    Collective call("allocate", where);
    const std::uint64_t argument = bytes;
    call.add({&argument, 1});
    pgas::Runtime& runtime = Context::here().runtime();
    const std::uint64_t there = runtime.heap().allocate(bytes);
    runtime.add_earlier(call);
    return there;
}
void free(std::uint64_t address, const Where& where) {
    Collective call("free", where);
    call.add({&address, 1});
    Context& context = Context::here();
    // Nobody accesses the memory after the first barrier, and nobody has got it again before the second.
    pgas::barrier(context, std::memory_order_seq_cst);
    context.runtime().heap().free(address);
    pgas::barrier(context, std::memory_order_seq_cst);
}
std::uint64_t allocate_droppable(std::size_t bytes) {
    return Context::here().runtime().heap().allocate_droppable(bytes);
}
void drop(std::uint64_t address, std::size_t bytes) noexcept {
    if (Context* const context = Context::find()) context->runtime().heap().drop(address, bytes);
}
std::uint64_t reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes) {
    return Context::here().runtime().heap().reallocate(address, bytes, wanted_bytes);
}
Transfer start_get(Rank rank, std::uint64_t address, void* to, std::size_t bytes) {
    return Context::here().start<std::byte>(rank, address, static_cast<std::byte*>(to), bytes);
}
Transfer start_put(Rank rank, std::uint64_t address, const void* from, std::size_t bytes) {
    return Context::here().start<const std::byte>(rank, address, static_cast<const std::byte*>(from), bytes);
}
void call(Rank rank, Code code, const void* closure, std::size_t closure_bytes, void* result,
          std::size_t result_bytes) {
    Context& context = Context::here();
    if (rank == context.runtime().job().rank()) {
        code(closure, result);
        return;
    }
    const pgas::RemoteCall one{rank,
                               context.runtime().code_offset(code),
                               {static_cast<const std::byte*>(closure), closure_bytes},
                               result_bytes,
                               pgas::RemoteCall::copy_to(result)};
    pgas::call(context, std::span(&one, 1));
}

}  // namespace detail

}  // namespace nearfetch
