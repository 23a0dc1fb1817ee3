// SPDX-License-Identifier: Apache-2.0
#pragma once

// The prefetch patterns of a distributed array: what each asks for of which owner (LAPPS, appendix A). Part
// of array.hpp. detail/array/prefetch.hpp computes the indices of a pattern.

#include <nearfetch/array.hpp>

namespace nearfetch {

namespace detail {

/// A replica is made when boxes of more than 1/4 of the array are asked for.
inline constexpr std::int64_t replica_for_boxes = 4;
/// The same for sets: 1/8, because finding an element in a set costs more.
inline constexpr std::int64_t replica_for_sets = 8;

}  // namespace detail

template <class T, std::size_t N, Distribution D>
template <std::invocable Ask>
void DistributedArray<T, N, D>::request(std::vector<std::uint64_t> arguments, const Prefetch& how,
                                        Ask&& ask) {
    arguments.insert(arguments.end(), {how.consistent, how.static_domain});
    agreement_.check(arguments, how.barrier);
    ask();
    array_prefetch_.requested(detail::packing_of<T>(layout_));
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::ask_for(const std::vector<detail::IndexProduct<N>>& wanted,
                                        const Prefetch& how, bool later) {
    for (const detail::IndexProduct<N>& product : wanted) {
        const std::vector<Part> parts = parts_of(product);
        std::int64_t elements = 0;
        for (const Part& part : parts)
            if (part.owner != rank_) elements += part.local.size();
        make_replica(elements, detail::replica_for_boxes);
        for (const Part& part : parts)
            if (part.owner != rank_)
                array_prefetch_.request(part.slice, layout_.global(part.owner, part.local.lower), how, later);
    }
}

/// Makes a replica if more than 1/`least_part` of the array is asked for.
template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::make_replica(std::int64_t elements, std::int64_t least_part) {
    if constexpr (N == 1 && D::contiguous)
        if (elements > bounds().size() / least_part)
            array_prefetch_.make_replica(bounds().lower[0], bounds().size(), sizeof(T));
}

template <class T, std::size_t N, Distribution D>
template <std::invocable Ask>
void DistributedArray<T, N, D>::prefetch(std::vector<std::uint64_t> arguments, const Prefetch& how,
                                         Ask&& ask) {
    request(std::move(arguments), how, ask);
    if (!how.consistent) array_prefetch_.update(false);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_wanted(const char* what, std::vector<std::uint64_t> arguments,
                                                const Prefetch& how, const Wanted& wanted,
                                                const Where& where) {
    const detail::Collective call(what, where);
    prefetch(arguments, how, [&] { ask_for(wanted(), how, false); });
    remember({what, std::move(arguments), how,
              [this, how, wanted](const Layout<N, D>&) { ask_for(wanted(), how, false); }});
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::remember(Pattern pattern) {
    const auto same = [&](const Pattern& other) {
        return other.what == pattern.what && other.arguments == pattern.arguments && other.how == pattern.how;
    };
    if (std::none_of(patterns_.begin(), patterns_.end(), same)) patterns_.push_back(std::move(pattern));
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_stencil(const Stencil& stencil, const Prefetch& how,
                                                 const Where& where) {
    detail::check_depth(stencil.depth);
    prefetch_wanted(
        "prefetch_stencil", detail::describe(stencil), how,
        [=, this] { return detail::stencil_pattern(layout_, rank_, stencil); }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchTransfer DistributedArray<T, N, D>::prefetch_stencil_async(const Stencil& stencil,
                                                                   const Prefetch& how, const Where& where) {
    detail::check_depth(stencil.depth);
    const detail::Collective call("prefetch_stencil_async", where);
    const Wanted wanted = [=, this] { return detail::stencil_pattern(layout_, rank_, stencil); };
    request(detail::describe(stencil), how, [&] { ask_for(wanted(), how, true); });
    remember({"prefetch_stencil", detail::describe(stencil), how,
              [this, how, wanted](const Layout<N, D>&) { ask_for(wanted(), how, false); }});
    return array_prefetch_.start_update();
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_row_wise(const Prefetch& how, const Where& where) {
    prefetch_wanted(
        "prefetch_row_wise", {}, how, [this] { return detail::line_pattern(layout_, rank_, N - 1); }, where);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_column_wise(const Prefetch& how, const Where& where) {
    prefetch_wanted(
        "prefetch_column_wise", {}, how, [this] { return detail::line_pattern(layout_, rank_, 0); }, where);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_transpose(const Prefetch& how, const Where& where)
    requires(N == 2)
{
    prefetch_wanted(
        "prefetch_transpose", {}, how, [this] { return detail::transpose_pattern(layout_, rank_); }, where);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_all_to_all(const Prefetch& how, const Where& where) {
    prefetch_wanted(
        "prefetch_all_to_all", {}, how, [this] { return std::vector{detail::product_of(bounds())}; }, where);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_custom(const std::vector<std::vector<Box<N>>>& table,
                                                const Prefetch& how, const Where& where) {
    detail::check_table(table.size());
    const detail::Collective call("prefetch_custom", where);
    const std::vector<Box<N>>& row = table[static_cast<std::size_t>(rank_)];
    const auto ask = [this, row, how](const Layout<N, D>&) {
        detail::request_boxes(array_prefetch_, layout_, rank_, std::span<const Box<N>>(row), parts_.address(),
                              sizeof(T), how);
    };
    prefetch(detail::describe(table), how, [&] { ask(layout_); });
    remember({"prefetch_custom", detail::describe(std::vector<std::vector<Box<N>>>{row}), how, ask});
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::prefetch_boxes(
    const std::function<std::vector<Box<N>>(const Layout<N, D>&, Rank)>& wanted, std::uint64_t name,
    const Prefetch& how, const Where& where) {
    const detail::Collective call("prefetch_custom", where);
    const auto ask = [this, wanted, how](const Layout<N, D>&) {
        const std::vector<Box<N>> boxes = wanted(layout_, rank_);
        detail::request_boxes(array_prefetch_, layout_, rank_, std::span<const Box<N>>(boxes),
                              parts_.address(), sizeof(T), how);
    };
    prefetch({}, how, [&] { ask(layout_); });
    remember({"prefetch_custom", {name != 0 ? name : patterns_.size() + 1}, how, ask});
}

template <class T, std::size_t N, Distribution D>
Observation DistributedArray<T, N, D>::prefetch_observed(const Prefetch& how, const Where& where) {
    const detail::Collective call("prefetch_observed", where);
    const Observation seen = observed();
    detail::EncodedSets encoded;
    prefetch({observer_ != nullptr}, how, [&] {
        detail::require_observer(observer_.get());
        detail::SetsByOwner sets = observer_->take();
        observer_.reset();
        encoded = detail::encode_sets(sets);
        ask_for_observed(std::move(sets), how);
    });
    const auto again = [this, how, sets = std::move(encoded)](const Layout<N, D>& before) mutable {
        detail::SetsByOwner now = renumbered(sets, before);
        sets = detail::encode_sets(now);
        ask_for_observed(std::move(now), how);
    };
    // Distinguishes observations, which may have different elements.
    remember({"prefetch_observed", {seen.elements == 0 ? 0 : patterns_.size() + 1}, how, again});
    return seen;
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::ask_for_observed(detail::SetsByOwner sets, const Prefetch& how) {
    std::int64_t elements = 0;
    for (const auto& [owner, set] : sets)
        if (owner != rank_) elements += set.size();
    make_replica(elements, detail::replica_for_sets);
    for (auto& [owner, set] : sets) {
        if (owner == rank_) continue;
        // A run costs more than a few bytes. Under manual consistency the bytes of a gap would be old for
        // others.
        if (how.consistent) set.close_gaps(static_cast<std::int64_t>(detail::most_closed_bytes / sizeof(T)));
        array_prefetch_.request_set(part_of(owner), std::move(set), layout_.global(owner, {}), how);
    }
}

template <class T, std::size_t N, Distribution D>
bool DistributedArray<T, N, D>::is_prefetched(const Index<N>& i) const {
    check(i);
    const Location<N> location = layout_.locate(i);
    return array_prefetch_.find(location.rank, location.local, location.position).first != nullptr;
}

template <class T, std::size_t N, Distribution D>
template <class Add>
void DistributedArray<T, N, D>::contribute(const Index<N>& i, const T& value, const Add& add) {
    if (T* const mine = own(i)) {
        add(*mine, value);
        return;
    }
    check(i);
    const Location<N> location = layout_.locate(i);
    const auto [slice, position] = array_prefetch_.find(location.rank, location.local, location.position);
    if (slice == nullptr) detail::not_a_ghost(i);
    ghosts_.add(*slice, position, value, array_prefetch_.evictions(), add);
}

template <class T, std::size_t N, Distribution D>
template <class Add>
void DistributedArray<T, N, D>::accumulate_ghosts(const Add& add, const Where& where) {
    const detail::Collective call("accumulate_ghosts", where);
    if (!exchange_.is_prepared()) {
        agreement_.check({});  // agrees to allocate
        exchange_.prepare();
    }
    // Sums are sent before the barrier of the agreement. If it fails, they are kept here and sent again in a
    // later round, and receivers drop this round's messages.
    const std::uint64_t round = detail::barriers() + 1;
    ghosts_.send(exchange_, round);
    agreement_.check({});
    ghosts_.clear();
    exchange_.receive(round, [&](std::uint64_t there, const std::byte* sums, std::uint64_t bytes) {
        T* element = own_ + there / sizeof(T);
        for (std::uint64_t at = 0; at < bytes; at += sizeof(T), ++element) {
            T sum;
            std::memcpy(&sum, sums + at, sizeof(T));
            add(*element, std::as_const(sum));
        }
    });
    barrier();
}

}  // namespace nearfetch
