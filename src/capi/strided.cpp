// SPDX-License-Identifier: Apache-2.0

// Strided gets and puts of the C API.

#include "pgas/strided.hpp"

#include <string>

#include "capi/cache.hpp"

namespace capi = nearfetch::capi;
using nearfetch::StridedElements;

namespace {

static_assert(StridedElements::dimensions_most == NEARFETCH_DIMENSIONS_MAX);

/// \return what is wrong with the caller's struct; nullptr: nothing
const char* fault_of(const nearfetch_strides* strides) {
    if (strides == nullptr) return "the strides are NULL";
    if (strides->dimensions > StridedElements::dimensions_most) return "there may be at most 8 dimensions";
    if (strides->dimensions != 0 &&
        (strides->counts == nullptr || strides->remote == nullptr || strides->local == nullptr))
        return "counts, remote or local is NULL";
    return nullptr;
}

StridedElements elements_of(const nearfetch_strides& strides) {
    StridedElements elements;
    elements.element_bytes = strides.bytes;
    elements.dimensions = strides.dimensions;
    for (std::size_t d = 0; d < elements.dimensions; ++d)
        elements.of[d] = {strides.counts[d], strides.remote[d], strides.local[d]};
    if (elements.total_bytes() != 0) elements.merge();
    return elements;
}

/// Moves the elements, if they are ones.
template <class Move>
nearfetch_status move_elements(capi::Access access, nearfetch_cache* cache, const nearfetch_task* task,
                               const void* memory, const nearfetch_strides* strides, const char* what_to_do,
                               const Move& move) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (const char* const fault = fault_of(strides))
            return capi::fail(NEARFETCH_BAD_ARGUMENT, access.text() + " failed", fault,
                              "see nearfetch_strides");
        const StridedElements elements = elements_of(*strides);
        access.bytes = elements.total_bytes();
        if (!capi::possible(access, cache, task, memory)) return capi::refuse(access, cache, task, memory);
        const int status =
            elements.fits(access.address) ? move(elements) : nearfetch::transport_status::outside;
        return capi::outcome(*cache, access, status, what_to_do);
    });
}

}  // namespace

extern "C" {

nearfetch_status nearfetch_get_strided(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                       uint64_t address, void* to, const nearfetch_strides* strides) {
    return move_elements({"strided get", rank, address, 0, true}, cache, task, to, strides,
                         "get it again: nothing of the failed elements was kept",
                         [&](const StridedElements& elements) {
                             return nearfetch::get_strided(cache->engine, capi::clock_of(*task), rank,
                                                           address, elements, static_cast<std::byte*>(to));
                         });
}

nearfetch_status nearfetch_put_strided(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                       uint64_t address, const void* from, const nearfetch_strides* strides) {
    return move_elements({"strided put", rank, address, 0, true}, cache, task, from, strides, "put it again",
                         [&](const StridedElements& elements) {
                             return nearfetch::put_strided(cache->engine, rank, address, elements,
                                                           static_cast<const std::byte*>(from));
                         });
}

}  // extern "C"
