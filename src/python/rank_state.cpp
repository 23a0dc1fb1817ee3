// SPDX-License-Identifier: Apache-2.0
#include "python/rank_state.hpp"

#include <Python.h>

#include <nearfetch/detail/base/error.hpp>

namespace nearfetch::python {

thread_local constinit RankState* RankState::here_ = nullptr;

namespace {

// Owns what the raw pointer, used at every access, points to.
thread_local std::shared_ptr<RankState> current_state;

/// Keeps a rank's memory alive, or counts the view if that is impossible.
struct View {
    std::shared_ptr<void> memory;
    std::shared_ptr<void> count;
};

}  // namespace

std::shared_ptr<RankState> RankState::current() {
    require();
    return current_state;
}

void RankState::refuse() {
    throw Error("this thread is no rank", "ranks run what launch() is given, or what follows init()",
                "call nearfetch.init() first, or call this in the function for launch()");
}

RankState::Use::Use(std::shared_ptr<RankState> state) : state_(std::move(state)) {
    here_ = state_.get();
    current_state = state_;
}

RankState::Use::~Use() {
    {
        const std::lock_guard lock(state_->mutex_);
        state_->ended_ = true;
        state_->dropped_.clear();
    }
    while (!state_->owned_.empty())
        state_->owned_.pop_back();
    here_ = nullptr;
    current_state.reset();
}

void RankState::add(std::unique_ptr<Owned> owned) {
    sweep();
    owned_.push_back(std::move(owned));
}

void RankState::drop(const Owned* owned) noexcept {
    if (here_ != this) {
        const std::lock_guard lock(mutex_);
        if (!ended_) dropped_.push_back(owned);
        return;
    }
    owned_.remove_if([&](const auto& one) { return one.get() == owned; });
}

void RankState::sweep() {
    std::vector<const Owned*> dropped;
    {
        const std::lock_guard lock(mutex_);
        dropped.swap(dropped_);
    }
    for (const Owned* one : dropped)
        drop(one);
}

void RankState::require_no_views() const {
    // Objects that only refer to one another, as a caught error and its frames, live until a collection.
    if (view_.use_count() > 1) PyGC_Collect();
    if (view_.use_count() > 1)
        throw Error("a view of an array's local part outlives its program",
                    "MPI takes the memory back when the program ends", "keep a copy: array.local.copy()");
}

std::shared_ptr<void> RankState::view(const std::byte* place) {
    std::shared_ptr<void> memory = job_->keep(place);
    if (memory != nullptr) return memory;
    return std::make_shared<View>(View{nullptr, view_});
}

void refuse_foreign_use() {
    throw Error("an array, or a transfer of one, cannot be used here",
                "it belongs to a rank whose program has ended, or that is another thread",
                "use it in that rank, while its program runs");
}

}  // namespace nearfetch::python
