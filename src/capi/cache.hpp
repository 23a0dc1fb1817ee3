// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nearfetch/nearfetch.h>

#include <cstdint>
#include <string>

#include "capi/failure.hpp"
#include "capi/table_transport.hpp"
#include "pgas/page_engine.hpp"

struct nearfetch_cache {
    nearfetch_cache(const nearfetch::PageCacheConfig& config, const nearfetch_transport& table)
        : transport(table), engine(config, transport, nearfetch::PageEngine::Unreadable::fetched_exactly) {
        transport.reserve(config.operations);  // checked by the engine
    }

    nearfetch::capi::TableTransport transport;
    nearfetch::PageEngine engine;
    std::uint64_t requests = 0;         ///< not waited for yet
    std::uint64_t unordered = 0;        ///< gets and puts that are outstanding
    std::uint64_t unordered_tasks = 0;  ///< tasks that have not fenced theirs
};

namespace nearfetch::capi {

/// An access, for messages.
struct Access {
    const char* what;
    std::int32_t rank;
    std::uint64_t address;
    std::uint64_t bytes;
    bool moves = false;  ///< a get or put; with no bytes it does nothing

    /// For messages: "a get of 8 bytes at address 0 of rank 1".
    std::string text() const;
};

/// Whether a get or put can begin; checked on every hit.
inline bool possible(const Access& access, const nearfetch_cache* cache, const nearfetch_task* task,
                     const void* memory) {
    return cache != nullptr && task != nullptr && memory != nullptr && access.rank >= 0 && access.bytes != 0;
}
/// Reports why it cannot begin. By value, so that a hit keeps it in registers. \pre it cannot
[[gnu::cold]] nearfetch_status refuse(Access access, const void* cache, const void* task, const void* memory);
/// NEARFETCH_OK, or the API's status for an engine status. \param what_to_do advice after a failed transfer
[[gnu::cold]] nearfetch_status outcome(const nearfetch_cache& cache, Access access, int status,
                                       const char* what_to_do, const std::string& more = {});

inline TaskClock clock_of(const nearfetch_task& task) noexcept { return {task.acquired}; }

}  // namespace nearfetch::capi
