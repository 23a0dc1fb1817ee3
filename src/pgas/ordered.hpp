// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations with a memory order (000, section III-D). A releasing order releases the thread's puts before
// the operation, an acquiring one acquires after it.

#include <atomic>
#include <cstdint>
#include <span>

#include "pgas/context.hpp"

namespace nearfetch::pgas {

/// An atomic operation on 8 bytes, which bypasses the cache. A store does not acquire, and a load does not
/// release. \return the value before
/// \throws Error unless the address is in the segment and a multiple of 8
std::uint64_t atomic(Context& context, Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                     std::uint64_t compare, std::memory_order order);

/// An atomic addition without a result, which acquires late (lazy_acquire.hpp). \param op add or add_double
/// \throws Error as atomic() does
void add(Context& context, Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount,
         std::memory_order order);

/// An atomic addition that is not waited for, and complete at the next release. \param op add or add_double
/// \throws Error as atomic() does
void start_addition(Context& context, Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount);

/// Waits for all ranks, which compare the collective functions that they are in.
void barrier(Context& context, std::memory_order order);

/// Makes calls concurrently, starting in order, and waits for the results. The callee sees earlier puts,
/// whatever the order. The caller sees the callee's puts if the order acquires.
/// \throws Error for a rank that does not exist or does not answer, and for a remote exception
void call(Context& context, std::span<const RemoteCall> calls,
          std::memory_order order = std::memory_order_acq_rel, const CallLimits& limits = {});

}  // namespace nearfetch::pgas
