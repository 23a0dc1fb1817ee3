// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changes the bounds of a distributed array (LAPPS, section 5.3.2: domains that change). Part of array.hpp.
//
// Each rank fetches its new elements from their old owners into temporary memory, one slice per owner. After
// a barrier the array's memory is reused or replaced, and filled. So nobody reads memory that is being
// overwritten, and an array grows in place where room follows it.
//
// In the paper an owner finds out at a request that its domain has changed. Here resize() is collective, so
// all ranks know, and the patterns are requested again.

#include <nearfetch/array.hpp>

namespace nearfetch {

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::resize(const Box<N>& bounds, const std::array<Rank, N>& grid,
                                       const Where& where) {
    const Layout<N, D> after(bounds, grid, block_);
    detail::check_ranks(after.ranks());
    const detail::Collective call("resize", where);
    agreement_.check(detail::describe(after, block_, sizeof(T)));
    const std::uint64_t states = detail::check_resize(gathering_.all(resize_state()));
    const Layout<N, D> before = layout_;
    move_to(after);
    if (observer_ != nullptr) {
        detail::SetsByOwner seen = observer_->take();
        detail::SetsByOwner now = renumbered(detail::encode_sets(seen), before);
        now.erase(rank_);
        observer_->seen(std::move(now));
    }
    barrier();
    std::vector<Pattern> patterns = std::exchange(patterns_, {});
    array_prefetch_.evict();
    for (Pattern& pattern : patterns) {
        array_prefetch_.begin(detail::packing_of<T>(layout_), pattern.name);
        pattern.ask(before);
    }
    patterns_ = std::move(patterns);
    if ((states & detail::ResizeState::manual) == 0) return;
    if (!patterns_.empty()) array_prefetch_.update(false);
    barrier();
}

template <class T, std::size_t N, Distribution D>
std::uint64_t DistributedArray<T, N, D>::resize_state() {
    if (!array_prefetch_.is_requested()) patterns_.clear();  // a failed update has evicted them
    std::uint64_t state = ghosts_.empty() ? 0 : detail::ResizeState::contributions;
    for (const Pattern& pattern : patterns_) {
        if (pattern.how.static_domain) state |= detail::ResizeState::static_domain;
        if (!pattern.how.consistent) state |= detail::ResizeState::manual;
    }
    return state;
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::move_to(const Layout<N, D>& after) {
    const Layout<N, D> before = layout_;
    const std::vector<Part> parts = fetch_for(after);
    barrier(std::memory_order_relaxed);
    if (const auto most = static_cast<std::size_t>(after.most()); most > parts_.size()) parts_.change(most);
    layout_ = after;
    find_own();
    std::fill_n(reinterpret_cast<std::byte*>(own_), sizeof(T) * static_cast<std::size_t>(local().size()),
                std::byte{});
    take(before, parts);
}

template <class T, std::size_t N, Distribution D>
detail::SetsByOwner DistributedArray<T, N, D>::renumbered(const detail::EncodedSets& sets,
                                                          const Layout<N, D>& before) const {
    detail::SetsByOwner now;
    for (const auto& [owner, text] : sets) {
        const Index<N> shape = before.local_shape(owner);
        detail::IndexSet::for_each_run(std::span(text), [&](std::int64_t first, std::int64_t count) {
            for (std::int64_t number = first; number < first + count; ++number) {
                const Index<N> i = before.global(owner, detail::index_at(shape, number));
                if (!bounds().contains(i)) continue;
                const Location<N> location = layout_.locate(i);
                now[location.rank].insert(location.position);
            }
        });
    }
    return now;
}

}  // namespace nearfetch
