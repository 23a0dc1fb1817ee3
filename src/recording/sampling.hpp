// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which events of a long run are kept: those of a share of all blocks of memory, chosen by their hash, so
// that a block's accesses are kept all or none. Distances between reuses shrink with the share, and so does
// the memory that they need (Waldspurger et al., *Efficient MRC construction with SHARDS*, FAST '15).
//
// With an access its flushes go, and a lock epoch in which nothing is left. The recorder and the replay use
// the same filter: what was recorded before the share was lowered is sampled once more.

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "recording/event.hpp"

namespace nearfetch {

class Sampling {
  public:
    static constexpr std::uint64_t all = 1u << 16;
    /// A block holds what is read ahead together.
    static constexpr std::uint64_t block_bytes = 1u << 16;

    void set_share(std::uint64_t share) noexcept { share_ = share; }
    std::uint64_t share() const noexcept { return share_; }

    /// Hands on what is kept. A lock may follow later. The gaps of what goes are added to what follows.
    /// \param keep called with each event, as a constant \throws std::bad_alloc
    template <class Keep>
    void add(Event& event, const Keep& keep) {
        if (share_ >= all) return keep(event);
        if (!is_kept(event)) {
            lost_gap_ns_ += event.gap_ns;
            return;
        }
        if (const std::optional<Event> lock = lock_before(event)) keep(*lock);
        event.gap_ns += lost_gap_ns_;
        lost_gap_ns_ = 0;
        keep(event);
    }

  private:
    struct WindowState {
        bool has_accesses = false;  ///< since something completed
        std::optional<Event> lock;  ///< which no access has followed
    };

    bool is_kept(const Event& event);
    std::optional<Event> lock_before(const Event& event);

    std::uint64_t share_ = all;
    std::uint64_t lost_gap_ns_ = 0;
    std::unordered_map<std::uint32_t, WindowState> windows_;
};

}  // namespace nearfetch
