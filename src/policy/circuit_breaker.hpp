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
// sampling interval decides. A range enters a half-open cache at its second access only.
//
// An interval whose loss nobody notices decides nothing: up to 10 ns for each access, or 3 % of what the
// accesses take without a cache. A cold cache loses at first, so a closed breaker has a budget: what 64
// accesses take. It opens when that is spent, and a gain refills it.

#include <algorithm>
#include <cstdint>

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
        const double loss = balance.spent - balance.saved;
        if (loss <= 0) {
            *this = {};
            state_ = State::closed;
            return;
        }
        if (loss <=
            std::max(balance.accesses * hit_cost().unnoticed_ticks, policy::unnoticed_share * balance.plain))
            return;
        loss_ += loss;
        if (is_half_open() || loss_ * balance.accesses > policy::budget_accesses * balance.plain) open();
    }
    /// Keeps it in that state for good.
    void hold(State state) noexcept {
        state_ = state;
        remaining_ = held;
    }
    bool is_held() const noexcept { return remaining_ > policy::most_backoff_accesses; }

  private:
    void open() noexcept {
        state_ = State::open;
        loss_ = 0;
        remaining_ = backoff_;
        backoff_ = std::min(2 * backoff_, policy::most_backoff_accesses);
    }

    static constexpr std::uint64_t held = ~std::uint64_t{0} / 2;

    State state_ = State::untried;
    std::uint64_t remaining_ = 0;
    std::uint64_t backoff_ = policy::first_backoff_accesses;
    double loss_ = 0;  ///< ticks, of intervals in a row that have not gained
};

}  // namespace nearfetch
