// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a cache without limits would know of the bytes that were fetched: a sample of them, in fixed memory.
//
// Remote memory is cut into lines of 64 bytes. A line is in the sample if its hash is below a threshold, so
// all accesses of a line are seen, or none (spatial hash sampling, "SHARDS": Waldspurger et al., FAST 2015).
// The threshold begins at "all lines". When too many lines are kept it is halved, and those above it are
// forgotten (the paper's fixed-size variant). So a small program is counted exactly, and of a large one each
// access in the sample stands for `weight` others.
//
// Each line remembers its bytes by a mask, those that were fetched last apart from those before: a get finds
// out at which stamp its own bytes were fetched. A get stands in the sample for its first line. The paper
// keeps a stack of reuse distances; here only whether, and when, matters.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/types.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

/// What became of bytes when they were fetched last.
enum class Fate : std::uint8_t {
    kept,         ///< they entered the cache
    not_kept,     ///< there was no room that they were worth
    bypassed,     ///< they were not looked up
    overwritten,  ///< they were forgotten because this process wrote there
};

class ShadowIndex {
  public:
    static constexpr std::uint64_t line_bytes = 64;
    /// Of a range that is larger only so many bytes are noted.
    static constexpr std::uint64_t most_noted_bytes = 1 << 20;

    explicit ShadowIndex(std::size_t most_lines = 4096) noexcept : most_lines_(most_lines) {}

    struct Past {
        std::uint64_t weight = 0;    ///< accesses that this one stands for; 0: it is not in the sample
        bool was_fetched = false;    ///< its bytes were fetched before
        Stamp fetched = 0;           ///< when they all had been, last
        Fate fate = Fate::bypassed;  ///< what became of them then
    };
    /// What is known of a range's first line. \pre the range is not empty
    Past past_of(Rank target, ByteRange range) const;

    /// A range is fetched. \param now not less than in an earlier call \throws std::bad_alloc
    void fetch(Rank target, ByteRange range, Stamp now, Fate fate);
    /// This process writes to a range.
    void overwrite(Rank target, ByteRange range) noexcept;

    /// Different bytes that were fetched (an estimate).
    std::uint64_t distinct_bytes() const noexcept;
    std::uint64_t weight() const noexcept { return std::uint64_t{1} << halvings_; }
    std::size_t line_count() const noexcept { return lines_.size(); }

  private:
    struct Key {
        Rank target;
        std::uint64_t number;
        friend bool operator==(const Key&, const Key&) noexcept = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    struct Line {
        std::uint64_t ever = 0;  ///< a bit for each byte that was fetched
        std::uint64_t last = 0;  ///< those of them that were fetched at `fetched`
        Stamp fetched = 0;
        Stamp fetched_before = 0;
        Fate fate = Fate::bypassed;
    };

    bool is_sampled(const Key& key) const noexcept;
    void halve() noexcept;
    template <class Visit>
    void for_each_sampled(Rank target, ByteRange range, const Visit& visit) const;

    std::unordered_map<Key, Line, Hash> lines_;
    std::size_t most_lines_;
    unsigned halvings_ = 0;  ///< of the threshold
};

}  // namespace nearfetch
