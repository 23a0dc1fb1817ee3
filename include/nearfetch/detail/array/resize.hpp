// SPDX-License-Identifier: Apache-2.0
#pragma once

// Other bounds for a distributed array (LAPPS, section 5.3.2: domains that change). Part of array.hpp.
//
// Each rank fetches what it is going to own, from whom it was before, to memory of its own: one slice from
// each owner. When all have it the array's memory is reused, or changed for more, and filled. So nobody reads
// what is being overwritten, and an array at the end of the segment grows where it is.
//
// All ranks know when bounds change. So nothing that was prefetched has to find out at an access or an update
// (in the paper the owner serialises, and may find that it has something else now): patterns are asked for
// again, as sparse matrices do when indices are added.

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
        detail::SetsByOwner now = renumbered(detail::texts_of(seen), before);
        now.erase(rank_);
        observer_->seen(std::move(now));
    }
    barrier();
    std::vector<Pattern> patterns = std::exchange(patterns_, {});
    array_prefetch_.evict();
    for (Pattern& pattern : patterns)
        pattern.ask(before);
    if (!patterns.empty()) array_prefetch_.requested(&detail::pack_at_owner);
    patterns_ = std::move(patterns);
    if ((states & detail::ResizeState::manual) == 0) return;
    if (!patterns_.empty()) array_prefetch_.update(false);
    barrier();
}

template <class T, std::size_t N, Distribution D>
std::uint64_t DistributedArray<T, N, D>::resize_state() {
    if (!array_prefetch_.is_requested()) patterns_.clear();  // an update that failed has evicted them
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
    const std::vector<Part> parts = fetch_for(after, true);
    barrier(std::memory_order_relaxed);
    if (const auto most = static_cast<std::size_t>(after.most()); most > parts_.size()) parts_.change(most);
    layout_ = after;
    find_own();
    std::fill_n(reinterpret_cast<std::byte*>(own_), sizeof(T) * static_cast<std::size_t>(local().size()),
                std::byte{});
    take(before, parts);
}

template <class T, std::size_t N, Distribution D>
detail::SetsByOwner DistributedArray<T, N, D>::renumbered(const detail::SetTexts& sets,
                                                          const Layout<N, D>& before) const {
    detail::SetsByOwner now;
    for (const auto& [owner, text] : sets) {
        const Index<N> shape = before.local_shape(owner);
        detail::IndexSet::for_each_run(std::span(text), [&](std::int64_t first, std::int64_t count) {
            for (std::int64_t number = first; number < first + count; ++number) {
                const Index<N> i = before.global(owner, detail::index_at(shape, number));
                if (!bounds().contains(i)) continue;
                const Place<N> place = layout_.place(i);
                now[place.rank].insert(place.position);
            }
        });
    }
    return now;
}

}  // namespace nearfetch
