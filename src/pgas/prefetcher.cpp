// SPDX-License-Identifier: Apache-2.0
//
// The prefetch distance of a loop: the cache's PrefetchDistance, in iterations instead of accesses. All
// waiting in an iteration counts, whatever it was for. If a longer distance does not reduce it,
// PrefetchDistance notices.

#include <algorithm>
#include <nearfetch/pgas.hpp>

#include "cache/page_cache/prefetch_distance.hpp"
#include "pgas/context.hpp"

namespace nearfetch {

class Prefetcher::State {
  public:
    std::int64_t tune(std::int64_t iterations) {
        pgas::Context& context = pgas::Context::here();
        const PageEngine* const engine = context.engine();
        if (engine == nullptr) return 0;
        const PrefetchFeedback feedback = engine->cache().prefetch_feedback();
        const std::uint64_t now = context.transport().now_ns();
        const std::uint64_t waited = engine->waited_ns();
        if (begun_) {
            if (feedback.latency_ticks != 0) distance_.latency(feedback.latency_ticks);
            if (feedback.unused != unused_)
                distance_.unused(static_cast<std::uint32_t>(feedback.unused - unused_));
            const std::uint64_t lost = waited - waited_ns_;
            distance_.access(now - lost, lost, static_cast<std::uint32_t>(iterations));
        } else {
            distance_ = PrefetchDistance({.most = feedback.outstanding_most, .margin = margin});
        }
        begun_ = true;
        waited_ns_ = waited;
        unused_ = feedback.unused;
        return distance_.distance();
    }

  private:
    /// Extra distance, so that one poll completes several prefetches, and the other accesses are plain hits.
    static constexpr std::uint32_t margin = 8;

    PrefetchDistance distance_;
    bool begun_ = false;
    std::uint64_t waited_ns_ = 0;
    std::uint64_t unused_ = 0;
};

Prefetcher::Prefetcher() : state_(std::make_unique<State>()) {}
Prefetcher::~Prefetcher() = default;

void Prefetcher::tune(std::int64_t i) {
    distance_ = state_->tune(i - tuned_);
    tuned_ = i;
    // Reading the clock costs as much as a short iteration. Early iterations are sampled more often.
    tune_next_ = i + 1 + std::min(4 * distance_, i / 8);
}

}  // namespace nearfetch
