// SPDX-License-Identifier: Apache-2.0
//
// How far ahead a loop asks: core's PrefetchDistance, told of iterations instead of accesses. What is waited
// for within an iteration counts as that iteration's wait, whatever it was for: where a longer distance does
// not help against it, the distance notices.

#include <algorithm>
#include <nearfetch/pgas.hpp>

#include "cache/page_cache/prefetch_distance.hpp"
#include "pgas/context.hpp"

namespace nearfetch {

class Prefetcher::State {
  public:
    std::int64_t tune(std::int64_t iterations) {
        pgas::Context& context = pgas::Context::here();
        const PageCache* const cache = context.cache();
        if (cache == nullptr) return 0;
        const std::uint64_t now = context.transport().now_ns();
        const std::uint64_t waited = context.waited_ns();
        if (begun_) {
            if (cache->latency_ticks() != 0) distance_.latency(cache->latency_ticks());
            if (cache->hints_in_vain() != in_vain_)
                distance_.unused(static_cast<std::uint32_t>(cache->hints_in_vain() - in_vain_));
            const std::uint64_t lost = waited - waited_ns_;
            distance_.access(now - lost, lost, static_cast<std::uint32_t>(iterations));
        } else {
            distance_ =
                PrefetchDistance({.most = static_cast<std::uint32_t>(cache->hints_most()), .spare = spare});
        }
        begun_ = true;
        waited_ns_ = waited;
        in_vain_ = cache->hints_in_vain();
        return distance_.distance();
    }

  private:
    /// Then several are there whenever the network is looked at, and the others cost nothing but a hit.
    static constexpr std::uint32_t spare = 8;

    PrefetchDistance distance_;
    bool begun_ = false;
    std::uint64_t waited_ns_ = 0;
    std::uint64_t in_vain_ = 0;
};

Prefetcher::Prefetcher() : state_(std::make_unique<State>()) {}
Prefetcher::~Prefetcher() = default;

void Prefetcher::tune(std::int64_t i) {
    distance_ = state_->tune(i - tuned_);
    tuned_ = i;
    // The clock is no small part of an iteration; at the beginning there is most to learn.
    tune_next_ = i + 1 + std::min(4 * distance_, i / 8);
}

}  // namespace nearfetch
