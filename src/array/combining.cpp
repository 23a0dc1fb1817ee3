// SPDX-License-Identifier: Apache-2.0
//
// What owners do for others, with the lock of their part (nearfetch/detail/array/combining.hpp). A part has
// one of a few locks, by its address.

#include <array>
#include <nearfetch/detail/array/combining.hpp>
#include <vector>

#include "array/runs.hpp"
#include "base/copy.hpp"
#include "pgas/ordered.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

std::mutex& lock_of(const std::byte* part) {
    static std::array<std::mutex, 64> locks;
    // Allocations begin at multiples of 64 bytes.
    return locks[reinterpret_cast<std::uintptr_t>(part) / 64 % locks.size()];
}

/// Calls change(element) with the lock, after its bytes were copied to `before`.
template <class Change>
void change_here(const ElementUpdate& update, void* before, const Change& change) {
    const PartLock lock(local(update.part, 0));
    std::byte* const element = local(update.address, update.element_bytes);
    copy_bytes(static_cast<std::byte*>(before), element, update.element_bytes);
    change(element);
}

}  // namespace

PartLock::PartLock(const std::byte* part) : lock_(lock_of(part)) {}

void combine_here(const void* closure, Combine combine) {
    const auto* const request = static_cast<const PackRequest*>(closure);
    const auto* const set = reinterpret_cast<const std::byte*>(request + 1);
    const std::byte* const values = set + request->set_bytes;
    const auto element_bytes = request->slice.element_bytes;
    std::byte* const part = own_part(request->slice);
    const PartLock lock(part);
    Runs(request->slice, {set, request->set_bytes}).copy_each([&](const Run& run) {
        combine(part + run.part_offset, values + run.packed_offset,
                static_cast<std::int64_t>(run.bytes / element_bytes));
    });
}

void combine_one_here(const void* closure, void* before, Combine combine) {
    const auto& update = *static_cast<const ElementUpdate*>(closure);
    const auto* const value = reinterpret_cast<const std::byte*>(&update + 1);
    change_here(update, before, [&](std::byte* element) { combine(element, value, 1); });
}

void swap_here(const void* closure, void* before) {
    const auto& update = *static_cast<const ElementUpdate*>(closure);
    const auto* const value = reinterpret_cast<const std::byte*>(&update + 1);
    const std::uint64_t bytes = update.element_bytes;
    change_here(update, before, [&](std::byte* element) {
        if (std::memcmp(element, value + bytes, bytes) == 0) copy_bytes(element, value, bytes);
    });
}

void update_element(Rank owner, Code code, const ElementUpdate& update, std::span<const std::byte> values,
                    std::byte* before) {
    Context& context = Context::here();
    std::vector<std::byte> message(sizeof update + values.size());
    std::memcpy(message.data(), &update, sizeof update);
    std::memcpy(message.data() + sizeof update, values.data(), values.size());
    if (owner == context.runtime().job().rank()) {
        context.release();
        code(message.data(), before);
        context.acquire();
        return;
    }
    const pgas::RemoteCall call{owner,
                                context.runtime().code_offset(code),
                                message,
                                update.element_bytes,
                                pgas::RemoteCall::copy_to(before),
                                true};
    pgas::call(context, std::span(&call, 1));
}

}  // namespace nearfetch::detail
