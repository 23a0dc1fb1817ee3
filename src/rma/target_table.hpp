// SPDX-License-Identifier: Apache-2.0
#pragma once

// The targets of a window. Of a hundred thousand ranks a program accesses a few: only of these the table has
// a state each. All others share one, which says what the first access of such a target finds: what holds for
// all targets (a setting, calls that were not counted one by one) is noted there, too.
//
// Threads. at() may be called without the mutex; what it returns is the window's to guard.

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "rma/target_state.hpp"

namespace nearfetch {

class TargetTable {
  public:
    /// \throws std::bad_alloc
    explicit TargetTable(Rank ranks);
    TargetTable(const TargetTable&) = delete;
    TargetTable& operator=(const TargetTable&) = delete;

    /// What is called with each target that is made, after it has been given what all others have.
    using Made = std::function<void(Rank, TargetState&)>;
    void when_made(Made made) { made_ = std::move(made); }

    Rank ranks() const noexcept { return ranks_; }
    const TargetState& at(Rank target) const noexcept {
        const auto i = static_cast<std::size_t>(target);
        const Leaf* const leaf = leaves_[i / per_leaf].load(std::memory_order_acquire);
        return *(*leaf)[i % per_leaf].load(std::memory_order_acquire);
    }
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
    bool has_others() const noexcept { return accessed_.size() < static_cast<std::size_t>(ranks_); }
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

    /// From now on the list has room for each target that was accessed. \pre it outlives this
    void keep_room_in(std::vector<Rank>& list) { lists_.push_back(&list); }

  private:
    static constexpr std::size_t per_leaf = 128;
    using Leaf = std::array<std::atomic<TargetState*>, per_leaf>;

    [[gnu::noinline]] TargetState& add(Rank target);
    Leaf* make_leaf();

    Rank ranks_;
    TargetState others_;
    Made made_;
    std::vector<std::atomic<Leaf*>> leaves_;
    std::vector<std::unique_ptr<Leaf>> own_leaves_;  ///< the first one is that of all others
    std::vector<std::unique_ptr<TargetState>> states_;
    std::vector<Rank> accessed_;
    std::vector<std::vector<Rank>*> lists_;
};

}  // namespace nearfetch
