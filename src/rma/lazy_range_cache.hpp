// SPDX-License-Identifier: Apache-2.0
#pragma once

// The range cache of a window, and the node level under it. The cache is made at its first use, and made anew
// after a change of settings, when no transfer refers to the old one any more.

#include <memory>
#include <span>

#include "base/settings.hpp"
#include "base/types.hpp"
#include "cache/range_cache/range_cache.hpp"
#include "rma/front_end.hpp"
#include "rma/node_level.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

class LazyRangeCache {
  public:
    explicit LazyRangeCache(TargetTable& targets) : node_(targets) {}

    explicit operator bool() const noexcept { return cache_ != nullptr; }
    RangeCache& operator*() noexcept { return *cache_; }
    RangeCache* operator->() noexcept { return cache_.get(); }
    const RangeCache* operator->() const noexcept { return cache_.get(); }
    NodeLevel& node() noexcept { return node_; }
    const NodeLevel& node() const noexcept { return node_; }

    /// \param hit_benefit what a hit of a target and size is worth (RangeCacheConfig)
    /// \param listener is told where there is no memory; from then on it is broken
    /// \return whether it is there
    bool make(const Settings& settings, Rank ranks, MemoryBudget& memory, const BenefitFunction& hit_benefit,
              WindowListener& listener) noexcept;
    /// There was no memory for it: the window goes on without a cache, until settings change.
    bool is_broken() const noexcept { return broken_; }

    /// Settings have changed: its contents are forgotten, and it is to be replaced.
    void outdate() noexcept;
    /// Who stays is decided by this score; what is cached is forgotten.
    void set_score(ScoreFunction score);
    bool is_outdated() const noexcept { return outdated_; }
    /// Gives it back. \pre no transfer refers to it \return what it has counted
    RangeCacheCounters retire() noexcept;

    // Of both levels. Without a cache these do nothing to it.
    void acquire() noexcept { acquire_as_of(node_.is_open() ? steady_ns() : 0); }
    /// At that time, by the node's clock.
    void acquire_as_of(NodeTime when) noexcept {
        node_.acquire(when);
        if (cache_ != nullptr) cache_->acquire();
    }
    void acquire(Rank target) noexcept {
        node_.acquire_target(target);
        if (cache_ != nullptr) cache_->acquire(target);
    }
    /// What another process of the node has fetched may be read-ahead, too.
    void acquire_read_ahead_as_of(NodeTime when) noexcept {
        node_.acquire(when);
        if (cache_ != nullptr) cache_->read_ahead().acquire();
    }
    void drop(Rank target, std::span<const ByteRun> runs) noexcept;

  private:
    std::unique_ptr<RangeCache> cache_;
    NodeLevel node_;
    ScoreFunction score_;
    bool broken_ = false;
    bool outdated_ = false;
};

}  // namespace nearfetch
