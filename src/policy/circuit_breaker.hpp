// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether caching pays for one target, and for how long nobody asks again.
//
//            first get                loss beyond the budget
//   UNTRIED -----------> CLOSED ---------------------------------> OPEN
//                          ^                                       |  ^
//                          |  gain                backoff is over  |  |  loss: backoff doubles
//                          +----------- HALF-OPEN <----------------+  |
//                                          |                          |
//                                          +--------------------------+
//
// A circuit breaker (M. Nygard, Release It!, 2007), driven by a cost model: closed, accesses go through the
// cache; open, they are bypassed, and counted; half-open, they go through the cache again, and the next
// sampling interval decides. One range in eight may enter a half-open cache, the same ones each time: so
// reuse shows that takes much longer than an interval (spatial hash sampling, "SHARDS": Waldspurger et al.,
// FAST 2015). The backoff is so long that what sampling loses is a small share of the time, and doubles with
// each loss.
//
// An interval whose loss nobody notices decides nothing: up to 10 ns for each access, or 3 % of what the
// accesses take without a cache. A cold cache loses at first, so a closed breaker has a budget: what 64
// accesses take, and after a gain of the sample what the other ranges will cost. It opens when that is spent.

#include <algorithm>
#include <cstdint>

#include "base/mixed.hpp"
#include "policy/constants.hpp"
#include "policy/cost_model.hpp"

namespace nearfetch {

class CircuitBreaker {
  public:
    enum class State : std::uint8_t { untried, closed, half_open, open };

    State state() const noexcept { return state_; }
    bool is_open() const noexcept { return state_ == State::open; }
    bool is_half_open() const noexcept { return state_ == State::half_open; }
    bool is_untried() const noexcept { return state_ == State::untried; }

    /// While it is open, or untried: counts an access that is bypassed. False when it is time to resume().
    bool bypass() noexcept {
        if (remaining_ == 0) [[unlikely]]
            return false;
        --remaining_;
        return true;
    }
    /// Accesses that are still to be bypassed.
    std::uint64_t remaining() const noexcept { return remaining_; }
    /// Counts so many at once.
    void bypass(std::uint64_t accesses) noexcept {
        if (!is_held()) remaining_ -= std::min(remaining_, accesses);
    }
    /// The first accesses of an untried target that are not worth a cache.
    void postpone(std::uint64_t accesses) noexcept { remaining_ = accesses; }
    /// From now on accesses go through the cache.
    void resume() noexcept { state_ = is_untried() ? State::closed : State::half_open; }
    /// A sampling interval is over.
    void record(const Balance& balance) noexcept {
        const double forecast = balance.saved - balance.spent;
        if (forecast >= 0 && balance.accesses != 0) return gained();
        if (is_half_open()) {
            sampled_loss_ -= forecast;
            if (balance.accesses < policy::interval_accesses) ++sample_;  // others are read
        }
        const double loss = balance.loss(), accesses = balance.accesses + balance.left_out;
        const double plain = accesses * balance.plain_each();
        if (loss <= std::max(accesses * hit_cost().unnoticed_ticks, policy::unnoticed_share * plain)) return;
        if (is_half_open()) return open(loss / (policy::sampling_share * balance.plain_each()));
        loss_ += loss;
        if (loss_ > policy::budget_accesses * balance.plain_each()) open(policy::first_backoff_accesses);
    }
    /// The sample of another target has gained: this one closes, too, and its other ranges may cost as much.
    /// Where that is for nothing, it goes on as it was.
    void follow(const CircuitBreaker& gained) noexcept {
        loss_ = gained.loss_;
        state_ = State::closed;
    }
    /// Whether a range that begins there enters a half-open cache.
    bool samples(std::uint64_t offset) const noexcept {
        return (mixed(offset / policy::sampled_bytes) + sample_) % policy::sampled_divisor == 0;
    }
    /// Keeps it in that state for good.
    void hold(State state) noexcept {
        state_ = state;
        remaining_ = held;
    }
    bool is_held() const noexcept { return static_cast<double>(remaining_) > policy::most_backoff_accesses; }

  private:
    /// The ranges outside of the sample are still to be fetched, each for what those of the sample have cost.
    void gained() noexcept {
        if (is_half_open()) loss_ = -static_cast<double>(policy::sampled_divisor) * sampled_loss_;
        loss_ = std::min(loss_, 0.0);
        sampled_loss_ = 0;
        backoff_ = policy::first_backoff_accesses;
        state_ = State::closed;
    }
    /// For that long at least, and twice as long as the last time.
    void open(double least_accesses) noexcept {
        state_ = State::open;
        loss_ = 0;
        remaining_ =
            static_cast<std::uint64_t>(std::clamp(least_accesses, backoff_, policy::most_backoff_accesses));
        backoff_ = std::min(2.0 * static_cast<double>(remaining_), policy::most_backoff_accesses);
    }

    static constexpr std::uint64_t held = ~std::uint64_t{0} / 2;

    State state_ = State::untried;
    std::uint64_t remaining_ = 0;
    double backoff_ = policy::first_backoff_accesses;  ///< accesses, the next time
    double loss_ = 0;          ///< ticks, of intervals in a row that have not gained; below 0: granted
    double sampled_loss_ = 0;  ///< ticks, of ranges of the sample since it opened
    std::uint8_t sample_ = 0;  ///< which ranges it has
};

}  // namespace nearfetch
