// SPDX-License-Identifier: Apache-2.0
#pragma once

// How each target's operations are treated: bypassed, or through the cache. The circuit breakers decide
// (policy/circuit_breaker.hpp); here their decisions are carried out. Operations on untried and bypassed
// targets take a short path that only counts them and marks them as outstanding.

#include <cstdint>
#include <optional>

#include "policy/hit_benefit.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

class BypassControl {
  public:
    explicit BypassControl(WindowState& state);

    bool is_bypassed(Rank target) const noexcept { return s_.known(target).route == Route::bypass; }
    /// If the target's breaker is open: counts a get, which goes to the library as it is. False for the get
    /// that ends the backoff, or is the first one of its target.
    bool bypass_get(Rank target, std::uint64_t size) noexcept {
        TargetState& known = s_.targets.known(target);
        if (known.target.route != Route::bypass) return false;
        Target& t = s_.targets.make(target, known).target;
        if (!t.breaker.bypass()) return false;
        s_.operations.mark_bypassed(target, Bypassed::gets);
        t.count_bypassed_get(size);
        return true;
    }
    /// Marks an operation of a bypassed target that is no plain get. \return false if the target is none
    bool bypass(Rank target, Bypassed kinds) noexcept {
        if (!is_bypassed(target)) return false;
        s_.operations.mark_bypassed(target, kinds);
        if (has(kinds, Bypassed::updates)) {
            ++s_.counters.puts;
            s_.announce_update(target);
        }
        return true;
    }

    /// Whether a get of that target goes through the cache; makes the cache where there is none. Ends a
    /// backoff that is over.
    bool may_use_cache(Rank target) noexcept;
    /// \pre there is none
    void make_cache() noexcept;
    /// The target's accesses go through the cache again.
    void resume(Rank target) noexcept;
    /// A fetching atomic was started, after the update that it is.
    void fetch_started(Rank target) noexcept {
        s_.operations.start_fetch(target);
        update_route(target);
    }
    /// To be called when something has changed on which a target's route depends.
    void update_route(Rank target) noexcept;
    /// The same of all.
    void update_routes() noexcept;
    /// If a sampling interval is over, and nothing is in flight that belongs to it.
    void end_interval(Rank target) noexcept;

    /// The mode is off, but something is in transit from before.
    bool is_winding_up() const noexcept { return winding_up_; }
    /// If it is no more, all is bypassed.
    void wind_up() noexcept {
        if (winding_up_) open_all();
    }

    /// Takes over settings; what is cached is forgotten, unless only the bypass has changed.
    void change_settings(const Settings& settings) noexcept;
    /// The program reaches all of the window by loads and stores: that is bypassed as its own part is.
    void keep_off() noexcept;
    /// The first so many gets of each target are bypassed, because the program's windows are short-lived.
    void postpone_caching(std::uint64_t gets) noexcept;
    /// Gets of each target that it was used for, if caching has gained nothing by them; a large number if it
    /// has, or may have.
    std::uint64_t gets_without_gain() const noexcept;

    /// How many calls may go straight to the library before a target's backoff is over; nothing unless all
    /// targets are bypassed, or the mode is off.
    /// \param unread calls that may pass if some target was never read
    std::optional<std::uint64_t> passthrough_budget(std::uint64_t unread) const noexcept;
    /// From now on calls go straight to the library: nobody sees when the last get is complete, after which
    /// its buffer is the program's.
    void before_passthrough() noexcept { s_.freshness.lose_get(); }
    /// So many calls went straight to the library, of whatever kind and target.
    void after_passthrough(std::uint64_t calls, Bypassed kinds) noexcept;

  private:
    bool count_by_kind(Rank target) noexcept;
    void open_all() noexcept;
    void note_decision(CircuitBreaker::State before, Target& t) noexcept;
    Route route_of(const TargetState& state) const noexcept;
    template <class Visit>
    void visit_cacheable(const Visit& visit) noexcept;
    void hold_breakers() noexcept;
    void change_bypass(Bypass bypass) noexcept;
    void retire_cache() noexcept;

    WindowState& s_;
    HitBenefit benefit_;
    bool kept_off_ = false;
    bool winding_up_ = false;
};

}  // namespace nearfetch
