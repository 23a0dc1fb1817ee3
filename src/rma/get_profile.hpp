// SPDX-License-Identifier: Apache-2.0
#pragma once

// Why gets of a window were not served: for reports, and only where one was asked for. Each get that goes to
// the network is looked up in a shadow index (cache/shadow/shadow_index.hpp), which knows what was fetched
// before. What it says is counted by cause, in the counters from `first_reads` on. A hit does not come by
// here.
//
// What was fetched before some acquire of the process counts as forgotten by it, also where it was bypassed:
// had it been cached, it would have been forgotten. With the mode off it is as if that were acquire.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "cache/shadow/shadow_index.hpp"
#include "rma/acquires.hpp"
#include "rma/timeline.hpp"

namespace nearfetch {

class GetProfile {
  public:
    struct Cause {
        const char* call;
        std::uint64_t gets;  ///< that asked for what it had forgotten
    };

    /// \param counters where the causes are counted
    GetProfile(const Acquires& acquires, RangeCacheCounters& counters) noexcept
        : acquires_(acquires), counters_(counters) {}

    /// A get goes to the network.
    /// \param fetched what it brings, around the bytes that it asks for
    /// \param now of the window's clock, where its mode has one of its own
    void record(Rank target, ByteRange asked, ByteRange fetched, Fate fate, Mode mode, Stamp now) noexcept;
    /// Such a get, of a window whose mode is acquire or off.
    void record(Rank target, ByteRange asked, ByteRange fetched, Fate fate) noexcept {
        record(target, asked, fetched, fate, Mode::acquire, acquires_.count());
    }
    /// This process has written, and what was cached of it is forgotten.
    void overwrite(Rank target, ByteRange range) noexcept { shadow_.overwrite(target, range); }

    const std::vector<Cause>& causes() const noexcept { return causes_; }
    std::uint64_t distinct_bytes() const noexcept { return shadow_.distinct_bytes(); }
    Timeline& timeline() noexcept { return timeline_; }
    const Timeline& timeline() const noexcept { return timeline_; }

  private:
    void count(const ShadowIndex::Past& past, Fate fate, Mode mode, Stamp now);
    void count_forgotten(const char* call, std::uint64_t gets);

    const Acquires& acquires_;
    RangeCacheCounters& counters_;
    ShadowIndex shadow_;
    std::vector<Cause> causes_;
    Timeline timeline_;
};

}  // namespace nearfetch
