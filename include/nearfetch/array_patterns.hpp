// SPDX-License-Identifier: Apache-2.0
#pragma once

// A distributed array's prefetch patterns: what each asks for of which owner (LAPPS, appendix A). Part of
// array.hpp; the indices that a pattern stands for are in array_prefetch.hpp.

#include <nearfetch/array.hpp>

namespace nearfetch {

template <class T, std::size_t N, Distribution D>
template <std::invocable Ask>
void DistributedArray<T, N, D>::request(std::string_view what, std::vector<std::uint64_t> arguments,
                                        const Prefetch& how, Ask&& ask) {
    arguments.insert(arguments.end(), {how.consistent, how.static_domain});
    agree(what, std::move(arguments));
    ask();
    hook_.requested(&detail::pack_at_owner);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::ask_for(const std::vector<detail::IndexProduct<N>>& wanted,
                                        const Prefetch& how, bool later) {
    for (const detail::IndexProduct<N>& product : wanted)
        for (const Part& part : parts_of(product))
            if (part.owner != rank_)
                hook_.request(part.slice, layout_.global(part.owner, part.local.lower), how, later);
}

template <class T, std::size_t N, Distribution D>
template <std::invocable Ask>
void DistributedArray<T, N, D>::prefetch(std::string_view what, std::vector<std::uint64_t> arguments,
                                         const Prefetch& how, Ask&& ask) {
    request(what, std::move(arguments), how, ask);
    if (!how.consistent) hook_.update(false);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_stencil(std::int64_t depth, bool corners, const Prefetch& how) {
    detail::check_depth(depth);
    prefetch("prefetch_stencil", {static_cast<std::uint64_t>(depth), corners}, how,
             [&] { ask_for(detail::stencil_pattern(layout_, rank_, depth, corners), how, false); });
}

template <class T, std::size_t N, Distribution D>
PrefetchTransfer DistributedArray<T, N, D>::prefetch_stencil_async(std::int64_t depth, bool corners,
                                                                   const Prefetch& how) {
    detail::check_depth(depth);
    request("prefetch_stencil_async", {static_cast<std::uint64_t>(depth), corners}, how,
            [&] { ask_for(detail::stencil_pattern(layout_, rank_, depth, corners), how, true); });
    return hook_.start_update();
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_row_wise(const Prefetch& how) {
    prefetch("prefetch_row_wise", {}, how,
             [&] { ask_for(detail::line_pattern(layout_, rank_, N - 1), how, false); });
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_column_wise(const Prefetch& how) {
    prefetch("prefetch_column_wise", {}, how,
             [&] { ask_for(detail::line_pattern(layout_, rank_, 0), how, false); });
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_transpose(const Prefetch& how)
    requires(N == 2)
{
    prefetch("prefetch_transpose", {}, how,
             [&] { ask_for(detail::transpose_pattern(layout_, rank_), how, false); });
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_all_to_all(const Prefetch& how) {
    prefetch("prefetch_all_to_all", {}, how, [&] { ask_for({detail::product_of(bounds())}, how, false); });
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_custom(const std::vector<std::vector<Box<N>>>& table,
                                                const Prefetch& how) {
    detail::check_table(table.size());
    const std::span<const Box<N>> row = table[static_cast<std::size_t>(rank_)];
    prefetch("prefetch_custom", detail::describe(table), how,
             [&] { detail::request_boxes(hook_, layout_, rank_, row, parts_.address(), sizeof(T), how); });
}

template <class T, std::size_t N, Distribution D>
Observation DistributedArray<T, N, D>::prefetch_observed(const Prefetch& how) {
    const Observation seen = observed();
    prefetch("prefetch_observed", {observer_ != nullptr}, how, [&] {
        detail::require_observer(observer_.get());
        for (auto& [owner, set] : observer_->take())
            hook_.request_set(part_of(owner), std::move(set), layout_.global(owner, {}), how);
        observer_.reset();
    });
    return seen;
}

template <class T, std::size_t N, Distribution D>
bool DistributedArray<T, N, D>::is_prefetched(const Index<N>& i) const {
    check(i);
    const Place<N> place = layout_.place(i);
    for (const detail::PrefetchedSlice* slice : hook_.of(place.rank))
        if (slice->position(place.local, place.position) >= 0) return true;
    return false;
}

}  // namespace nearfetch
