// SPDX-License-Identifier: Apache-2.0
#pragma once

// The targets of a window. Of a hundred thousand ranks a program accesses a few: only of these the table has
// a state each. All others share one, which says what the first access of such a target finds: what holds for
// all targets (a setting, calls that were not counted one by one) is noted there, too.
//
// Threads. at() may be called without the mutex; what it returns is the window's to guard.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/per_rank.hpp"
#include "base/types.hpp"
#include "rma/target_state.hpp"

namespace nearfetch {

class TargetTable {
  public:
    /// \throws std::bad_alloc
    explicit TargetTable(Rank ranks) : of_(ranks, Published(&others_)), memory_(ranks) {}
    TargetTable(const TargetTable&) = delete;
    TargetTable& operator=(const TargetTable&) = delete;

    /// What is called with each target that is made, after it has been given what all others have.
    using Made = std::function<void(Rank, TargetState&)>;
    void when_made(Made made) { made_ = std::move(made); }

    Rank ranks() const noexcept { return of_.ranks(); }
    const TargetState& at(Rank target) const noexcept { return *of_[target].get(); }
    /// The same. \pre it is changed only if the target was accessed
    TargetState& known(Rank target) noexcept { return const_cast<TargetState&>(at(target)); }
    /// The target is accessed. \param known what at() says \throws std::bad_alloc at its first access
    TargetState& make(Rank target, TargetState& known) {
        if (&known == &others_) [[unlikely]]
            return add(target);
        return known;
    }
    TargetState& make(Rank target) { return make(target, known(target)); }
    /// Those that were accessed, in the order of their first access.
    std::span<const Rank> accessed() const noexcept { return accessed_; }
    bool has_others() const noexcept { return accessed_.size() < static_cast<std::size_t>(ranks()); }
    /// What all that were not accessed have.
    TargetState& others() noexcept { return others_; }
    const TargetState& others() const noexcept { return others_; }
    /// Calls visit(state) for each that was accessed, and for what all others have.
    template <class Visit>
    void visit_all(const Visit& visit) {
        for (const std::unique_ptr<TargetState>& state : states_)
            visit(*state);
        visit(others_);
    }
    /// Whether holds(state) is true for each of these.
    template <class Predicate>
    bool all_of(const Predicate& holds) const {
        return holds(others_) &&
               std::ranges::all_of(states_, [&](const auto& state) { return holds(*state); });
    }

    /// Says what the memory of each is like.
    void describe_memory(PerRank<TargetMemory> of_each) {
        NF_EXPECT(of_each.ranks() == ranks());
        memory_ = std::move(of_each);
    }
    const TargetMemory& memory_of(Rank target) const noexcept { return memory_[target]; }

    /// From now on the list has room for each target that was accessed. \pre it outlives this
    void keep_room_in(std::vector<Rank>& list) { lists_.push_back(&list); }

  private:
    /// What may be read while another thread sets it.
    class Published {
      public:
        explicit Published(TargetState* state) noexcept : state_(state) {}
        Published() noexcept = default;
        Published(const Published& other) noexcept : state_(other.get()) {}
        Published& operator=(const Published& other) noexcept {
            set(other.get());
            return *this;
        }
        TargetState* get() const noexcept { return state_.load(std::memory_order_acquire); }
        void set(TargetState* state) noexcept { state_.store(state, std::memory_order_release); }

      private:
        std::atomic<TargetState*> state_ = nullptr;
    };

    [[gnu::noinline]] TargetState& add(Rank target);

    TargetState others_;
    Made made_;
    PerRank<Published> of_;
    PerRank<TargetMemory> memory_;
    std::vector<std::unique_ptr<TargetState>> states_;
    std::vector<Rank> accessed_;
    std::vector<std::vector<Rank>*> lists_;
};

}  // namespace nearfetch
