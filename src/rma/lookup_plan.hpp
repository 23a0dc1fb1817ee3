// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "rma/window_cache.hpp"

namespace nearfetch {

/// One run of a get that is in the cache already, and where it goes.
struct Resident {
    std::byte* origin;
    const std::byte* data;
    std::uint64_t size;
};

struct WindowCache::LookupPlan {
    std::vector<LookupPart> parts;
    std::vector<Resident> resident;
    std::vector<Waiter> waiting;
    std::vector<ByteRun> gaps;
    std::uint64_t gap_bytes = 0;
    bool resident_copied = false;

    void clear() noexcept {
        resident.clear();
        waiting.clear();
        gaps.clear();
        gap_bytes = 0;
        resident_copied = false;
    }
    void copy_resident() noexcept {
        if (resident_copied) return;
        resident_copied = true;
        for (const Resident& r : resident)
            copy_bytes(r.origin, r.data, r.size);
    }
    bool partial() const noexcept { return !resident.empty() || !waiting.empty(); }
};

}  // namespace nearfetch
