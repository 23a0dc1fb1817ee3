// SPDX-License-Identifier: Apache-2.0
#include "pgas/ordered.hpp"

#include <string>

#include "base/error.hpp"
#include "pgas/runtime.hpp"
#include "pgas/segment.hpp"

namespace nearfetch::pgas {

namespace {

bool releases(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
bool acquires(std::memory_order order) noexcept {
    return order == std::memory_order_acquire || order == std::memory_order_consume ||
           order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

void check_atomic(Job& job, const char* what, Rank rank, std::uint64_t address) {
    check_access(job, what, rank, address, 8);
    if (address % 8 != 0)
        throw Error(std::string(what) + ": " + bytes_at(rank, address, 8), "they are aligned to 8 bytes",
                    "use a pointer to an 8-byte type");
}

/// Begins an atomic operation, which bypasses the cache: earlier puts of its bytes go first.
/// \param first of all other puts, too
void begin_atomic(Context& context, Rank rank, std::uint64_t address, bool all_first) {
    Job& job = context.runtime().job();
    check_atomic(job, "atomic operation", rank, address);
    if (all_first)
        context.release();
    else if (rank != job.rank() && context.engine() != nullptr)
        context.release(rank, {address, address + 8});
}

/// What was cached of the bytes before is not used again.
void end_atomic(Context& context, Rank rank, std::uint64_t address) {
    if (rank != context.runtime().job().rank()) context.forget(rank, {address, address + 8});
}

}  // namespace

std::uint64_t atomic(Context& context, Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                     std::uint64_t compare, std::memory_order order) {
    const bool reads = op != AtomicOp::store, writes = op != AtomicOp::load;
    begin_atomic(context, rank, address, writes && releases(order));
    const std::uint64_t before = context.runtime().job().atomic(rank, address, op, operand, compare);
    if (reads && context.sync().lazy_acquire.is_due_at_result(acquires(order)))
        context.acquire();
    else
        end_atomic(context, rank, address);
    return before;
}

void add(Context& context, Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount,
         std::memory_order order) {
    begin_atomic(context, rank, address, releases(order));
    context.runtime().job().atomic(rank, address, op, amount, 0);
    if (acquires(order) && context.sync().lazy_acquire.is_due_without_result())
        context.acquire();
    else
        end_atomic(context, rank, address);
}

void start_addition(Context& context, Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    check_atomic(context.runtime().job(), "atomic addition", rank, address);
    context.start_addition(rank, address, op, amount);
}

void barrier(Context& context, std::memory_order order) {
    if (releases(order)) context.release();
    context.runtime().barrier();
    if (context.sync().lazy_acquire.is_due_at_result(acquires(order)))
        context.acquire(Context::OfNode::acquired);
}

void call(Context& context, std::span<const RemoteCall> calls, std::memory_order order,
          const CallLimits& limits) {
    context.remote_calls().check(calls);
    context.release();
    const std::string problem = context.remote_calls().run(calls, limits);
    if (context.sync().lazy_acquire.is_due_at_result(acquires(order))) context.acquire();
    if (!problem.empty()) throw Error(problem);
}

}  // namespace nearfetch::pgas
