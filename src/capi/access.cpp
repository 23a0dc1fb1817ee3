// SPDX-License-Identifier: Apache-2.0

// Gets, puts and ordering of the C API. Arguments are checked here once; the engine does the work.

#include <limits>
#include <string>

#include "capi/cache.hpp"

namespace capi = nearfetch::capi;
using capi::Access;

namespace {

constexpr const char* get_again = "get it again: nothing of it was kept";
constexpr const char* put_again = "put it again";
constexpr const char* release_again = "release again when the network works: all that was put is kept";

nearfetch::ByteRange range_of(std::uint64_t address, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    return {address, bytes < last - address ? address + bytes : last};
}

}  // namespace

namespace nearfetch::capi {

namespace {

constexpr const char* name_what_is_there = "name memory of a rank that there is";

}  // namespace

std::string Access::text() const {
    const char* const article = std::string("aeiou").find(what[0]) != std::string::npos ? "an " : "a ";
    return std::string(article) + what + " of " + std::to_string(bytes) + " bytes at address " +
           std::to_string(address) + " of rank " + std::to_string(rank);
}

nearfetch_status refuse(Access access, const void* cache, const void* task, const void* memory) {
    return guarded(NEARFETCH_BAD_ARGUMENT, [&] {
        if (access.bytes == 0 && access.moves) return NEARFETCH_OK;
        const char* const missing =
            cache == nullptr ? "cache"
                             : (task == nullptr ? "task" : (memory == nullptr ? "memory" : nullptr));
        if (missing != nullptr)
            return fail(NEARFETCH_BAD_ARGUMENT, access.text() + " failed",
                        std::string("the ") + missing + " is NULL", "give one");
        set_transport_status(NEARFETCH_TRANSPORT_BAD_RANK);
        return fail(NEARFETCH_BAD_ADDRESS, access.text() + " failed", "ranks are counted from 0",
                    name_what_is_there);
    });
}

nearfetch_status outcome(const nearfetch_cache& cache, Access access, int status, const char* what_to_do,
                         const std::string& more) {
    if (status == 0) return NEARFETCH_OK;
    set_transport_status(status);
    const bool nowhere =
        access.moves && (status == NEARFETCH_TRANSPORT_BAD_RANK || status == NEARFETCH_TRANSPORT_OUTSIDE);
    return guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        return fail(nowhere ? NEARFETCH_BAD_ADDRESS : NEARFETCH_TRANSFER_FAILED, access.text() + " failed",
                    cache.transport.status_text(status) + more, nowhere ? name_what_is_there : what_to_do);
    });
}

}  // namespace nearfetch::capi

namespace {

// Inlined, so that a hit is one function; the slow path stays out of it.
template <class Move>
[[gnu::always_inline]] inline nearfetch_status moved(const Access& access, nearfetch_cache* cache,
                                                     const nearfetch_task* task, const void* memory,
                                                     const char* what_to_do, const Move& move) {
    try {
        if (!capi::possible(access, cache, task, memory)) [[unlikely]]
            return capi::refuse(access, cache, task, memory);
        const int status = move();
        if (status == 0) [[likely]]
            return NEARFETCH_OK;
        return capi::outcome(*cache, access, status, what_to_do);
    } catch (...) {
        return capi::fail_by_exception(NEARFETCH_TRANSFER_FAILED);
    }
}

/// Acts on a range of bytes, if there are any. \param act returns 0 or the engine's status
template <class Act>
nearfetch_status on_range(const Access& access, nearfetch_cache* cache, const Act& act) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (cache == nullptr || access.rank < 0) return capi::refuse(access, cache, &cache, &cache);
        if (access.bytes == 0) return NEARFETCH_OK;
        return capi::outcome(*cache, access, act(range_of(access.address, access.bytes)), release_again);
    });
}

}  // namespace

extern "C" {

nearfetch_status nearfetch_get(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                               uint64_t address, uint64_t bytes, void* to) {
    return moved({"get", rank, address, bytes, true}, cache, task, to, get_again, [&] {
        return cache->engine.get(capi::clock_of(*task), rank, address, bytes, static_cast<std::byte*>(to));
    });
}

nearfetch_status nearfetch_put(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                               uint64_t address, uint64_t bytes, const void* from) {
    return moved({"put", rank, address, bytes, true}, cache, task, from, put_again, [&] {
        return cache->engine.put(rank, address, bytes, static_cast<const std::byte*>(from));
    });
}

nearfetch_status nearfetch_prefetch(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                    uint64_t address, uint64_t bytes) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (cache == nullptr || task == nullptr)
            return capi::refuse({"prefetch", rank, address, bytes}, cache, task, &rank);
        // A hint never fails; bytes that cannot be fetched are skipped.
        if (rank >= 0 && bytes != 0) cache->engine.prefetch(capi::clock_of(*task), rank, address, bytes);
        return NEARFETCH_OK;
    });
}

nearfetch_status nearfetch_acquire(nearfetch_cache* cache, nearfetch_task* task) {
    if (cache == nullptr || task == nullptr) return capi::refuse({"acquire", 0, 0, 0}, cache, task, &task);
    nearfetch::TaskClock clock = capi::clock_of(*task);
    cache->engine.acquire(clock);
    task->acquired = clock.acquired;
    return NEARFETCH_OK;
}

nearfetch_status nearfetch_release(nearfetch_cache* cache) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (cache == nullptr) return capi::refuse({"release", 0, 0, 0}, cache, &cache, &cache);
        const int status = cache->engine.release();
        if (status == 0) return NEARFETCH_OK;
        capi::set_transport_status(status);
        return capi::fail(NEARFETCH_TRANSFER_FAILED, "not all that was put has reached its target",
                          cache->transport.status_text(status), release_again);
    });
}

nearfetch_status nearfetch_fence(nearfetch_cache* cache, nearfetch_task* task) {
    const nearfetch_status released = nearfetch_release(cache);
    return released == NEARFETCH_OK ? nearfetch_acquire(cache, task) : released;
}

nearfetch_status nearfetch_acquire_range(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                         uint64_t bytes) {
    return on_range({"acquire", rank, address, bytes}, cache, [&](nearfetch::ByteRange range) {
        cache->engine.acquire(rank, range);
        return 0;
    });
}

nearfetch_status nearfetch_release_range(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                         uint64_t bytes) {
    return on_range({"release", rank, address, bytes}, cache,
                    [&](nearfetch::ByteRange range) { return cache->engine.release(rank, range); });
}

nearfetch_status nearfetch_invalidate(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                      uint64_t bytes) {
    return on_range({"invalidation", rank, address, bytes}, cache,
                    [&](nearfetch::ByteRange range) { return cache->engine.invalidate(rank, range); });
}

nearfetch_status nearfetch_discard(nearfetch_cache* cache, int32_t rank, uint64_t address, uint64_t bytes) {
    bool discarded = true;
    const nearfetch_status status =
        on_range({"discard", rank, address, bytes}, cache, [&](nearfetch::ByteRange range) {
            discarded = cache->engine.discard(rank, range);
            return 0;
        });
    if (discarded) return status;
    return capi::guarded(NEARFETCH_BUSY, [] {
        return capi::fail(NEARFETCH_BUSY, "not all of the range was discarded",
                          "bytes around it wait for PUTs that failed, and no operation is free to part them",
                          "discard a range that includes them, or release them first");
    });
}

}  // extern "C"
