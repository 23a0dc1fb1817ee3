// SPDX-License-Identifier: Apache-2.0
#include "rma/lazy_range_cache.hpp"

#include <exception>
#include <new>
#include <utility>

namespace nearfetch {

bool LazyRangeCache::make(const Settings& settings, Rank ranks, MemoryBudget& memory,
                          const BenefitFunction& hit_benefit, WindowListener& listener) noexcept try {
    RangeCacheConfig config = range_cache_config(settings, score_, &memory);
    config.hit_benefit = hit_benefit;
    cache_ = std::make_unique<RangeCache>(config, ranks);
    return true;
} catch (const std::bad_alloc&) {
    broken_ = true;
    listener.no_cache(
        "memory is exhausted (the system gave none): lower memory_bytes, buffer_bytes or index_entries");
    return false;
} catch (const std::exception& error) {
    broken_ = true;
    listener.no_cache(error.what());
    return false;
}

void LazyRangeCache::outdate() noexcept {
    broken_ = false;
    outdated_ = cache_ != nullptr;
    acquire();
}

void LazyRangeCache::set_score(ScoreFunction score) {
    score_ = std::move(score);
    outdate();
}

RangeCacheCounters LazyRangeCache::retire() noexcept {
    const RangeCacheCounters counters = cache_->counters();
    cache_.reset();
    outdated_ = false;
    return counters;
}

void LazyRangeCache::drop(Rank target, std::span<const ByteRun> runs) noexcept {
    if (cache_ == nullptr) return;
    for (const ByteRun& run : runs)
        cache_->drop(target, run.offset, run.size);
}

}  // namespace nearfetch
