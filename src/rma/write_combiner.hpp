// SPDX-License-Identifier: Apache-2.0
#pragma once

// Write-behind of a window's puts: small ones are combined (combined_puts.hpp), and sent as few large ones
// when they have to be complete at the target, or when there is no more room. What is sent is packed into the
// memory here and stays there until the library has completed it on this side.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "cache/page_cache/combined_puts.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

/// The puts of a window that are combined or under way. Whatever is combined can be sent at any time
/// without more memory: has_room() sees to that.
class WriteCombiner {
  public:
    /// \param buffer_bytes half of it for what is combined, half for what is under way
    /// \throws std::bad_alloc
    WriteCombiner(Rank ranks, std::uint64_t buffer_bytes);

    const CombinedPuts& combined() const noexcept { return combined_; }
    /// Whether something of that target is combined or under way.
    bool has(Rank target) const noexcept;

    /// Whether there is room for all of these. \pre they have bytes
    bool has_room(Rank target, std::span<const ByteRun> runs) noexcept;
    void add(Rank target, const ByteRun& run) noexcept { combined_.add(target, run.range(), run.origin); }
    /// Forgets what is combined of the range: something newer has gone to the network.
    void discard(Rank target, ByteRange range) noexcept { combined_.discard(target, range); }

    /// The runs of the next message for that target, from now on under way; their origins lie one after the
    /// other. Valid until the next call. \pre something is combined for it
    std::span<const ByteRun> next_message(Rank target) noexcept;
    /// It has been started: who completes what was issued until then completes it.
    void started(std::uint64_t issued) noexcept { under_way_.back().issued = issued; }

    /// What was started for the target until then has left.
    void completed(Rank target, std::uint64_t since) noexcept;
    /// The target of what has been under way for longest; -1: of nothing.
    Rank oldest_target() const noexcept { return under_way_.empty() ? -1 : under_way_.front().target; }

  private:
    struct UnderWay {
        Rank target;
        std::uint64_t bytes;
        std::uint64_t issued;
    };
    static constexpr std::uint64_t not_started = ~std::uint64_t{0};
    static constexpr std::size_t most_under_way = 256;

    std::uint64_t ring_bytes() const noexcept { return combined_.capacity_bytes(); }

    CombinedPuts combined_;
    std::unique_ptr<std::byte[]> memory_;  ///< a ring
    std::uint64_t begin_ = 0;
    std::uint64_t used_ = 0;
    std::vector<UnderWay> under_way_;  ///< in the ring's order
    std::vector<ByteRun> message_;
};

}  // namespace nearfetch
