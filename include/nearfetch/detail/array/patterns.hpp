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
PrefetchPattern DistributedArray<T, N, D>::prefetch(Pattern pattern) {
    if (!array_prefetch_.is_requested()) patterns_.clear();  // a failed update has evicted them
    const auto same = [&](const Pattern& other) {
        return other.what == pattern.what && other.arguments == pattern.arguments && other.how == pattern.how;
    };
    const detail::SlicePacking packing = detail::packing_of<T>(layout_);
    auto called = std::ranges::find_if(patterns_, same);
    if (called == patterns_.end()) {
        pattern.name = array_prefetch_.begin(packing);
        called = patterns_.insert(called, std::move(pattern));
    } else {
        array_prefetch_.begin(packing, called->name);
    }
    ++called->calls;
    called->ask(layout_);
    if (!called->how.consistent && !called->how.later) array_prefetch_.update(false);
    return called->name;
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::agree(std::vector<std::uint64_t> arguments, const Prefetch& how) {
    arguments.insert(arguments.end(), {how.consistent, how.static_domain, how.later});
    agreement_.check(arguments, how.barrier);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::evict_prefetch() {
    array_prefetch_.evict();
    patterns_.clear();
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::evict_prefetch(PrefetchPattern name) {
    const auto pattern = std::ranges::find(patterns_, name, &Pattern::name);
    if (pattern == patterns_.end() || --pattern->calls > 0) return;
    patterns_.erase(pattern);
    array_prefetch_.evict(name);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::ask_for(const std::vector<detail::IndexProduct<N>>& wanted,
                                        const Prefetch& how) {
    for (const detail::IndexProduct<N>& product : wanted) {
        const std::vector<Part> parts = parts_of(product);
        std::int64_t elements = 0;
        for (const Part& part : parts)
            if (part.owner != rank_) elements += part.local.size();
        make_replica(elements, detail::replica_for_boxes);
        for (const Part& part : parts)
            if (part.owner != rank_)
                array_prefetch_.request(part.slice, layout_.global(part.owner, part.local.lower), how);
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
PrefetchPattern DistributedArray<T, N, D>::prefetch_wanted(const char* what,
                                                           std::vector<std::uint64_t> arguments,
                                                           const Prefetch& how, const Wanted& wanted,
                                                           const Where& where) {
    const detail::Collective call(what, where);
    agree(arguments, how);
    return prefetch({what, std::move(arguments), how,
                     [this, how, wanted](const Layout<N, D>&) { ask_for(wanted(), how); }});
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_stencil(const Stencil& stencil, const Prefetch& how,
                                                            const Where& where) {
    detail::check_halo(stencil, N);
    return prefetch_wanted(
        "prefetch_stencil", detail::describe<N>(stencil), how,
        [=, this] { return detail::stencil_pattern(layout_, rank_, stencil); }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchTransfer DistributedArray<T, N, D>::prefetch_stencil_async(const Stencil& stencil,
                                                                   const Prefetch& how, const Where& where) {
    detail::check_halo(stencil, N);
    Prefetch begun = how;
    begun.later = true;
    prefetch_wanted(
        "prefetch_stencil_async", detail::describe<N>(stencil), begun,
        [=, this] { return detail::stencil_pattern(layout_, rank_, stencil); }, where);
    return array_prefetch_.start_update();
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_row_wise(const Prefetch& how, const Where& where) {
    return prefetch_wanted(
        "prefetch_row_wise", {}, how, [this] { return detail::line_pattern(layout_, rank_, N - 1); }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_column_wise(const Prefetch& how, const Where& where) {
    return prefetch_wanted(
        "prefetch_column_wise", {}, how, [this] { return detail::line_pattern(layout_, rank_, 0); }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_lines(std::size_t dimension, const Prefetch& how,
                                                          const Where& where) {
    return prefetch_wanted(
        "prefetch_lines", {dimension}, how,
        [=, this] { return detail::line_pattern(layout_, rank_, dimension); }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_transpose(const Prefetch& how, const Where& where)
    requires(N >= 2)
{
    return prefetch_wanted(
        "prefetch_transpose", {}, how, [this] { return detail::transpose_pattern(layout_, rank_); }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_all_to_all(const Prefetch& how, const Where& where) {
    return prefetch_wanted(
        "prefetch_all_to_all", {}, how, [this] { return std::vector{detail::product_of(bounds())}; }, where);
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_custom(const std::vector<std::vector<Box<N>>>& table,
                                                           const Prefetch& how, const Where& where) {
    detail::check_table(table.size());
    const detail::Collective call("prefetch_custom", where);
    agree(detail::describe(table), how);
    const std::vector<Box<N>>& row = table[static_cast<std::size_t>(rank_)];
    return prefetch({"prefetch_custom", detail::describe(std::vector<std::vector<Box<N>>>{row}), how,
                     [this, row, how](const Layout<N, D>&) {
                         detail::request_boxes(array_prefetch_, layout_, rank_, std::span<const Box<N>>(row),
                                               parts_.address(), sizeof(T), how);
                     }});
}

template <class T, std::size_t N, Distribution D>
PrefetchPattern DistributedArray<T, N, D>::prefetch_boxes(
    const std::function<std::vector<Box<N>>(const Layout<N, D>&, Rank)>& wanted, std::uint64_t name,
    const Prefetch& how, const Where& where) {
    const detail::Collective call("prefetch_custom", where);
    agree({}, how);
    return prefetch(
        {"prefetch_custom", {name != 0 ? name : ++distinct_}, how, [this, wanted, how](const Layout<N, D>&) {
             const std::vector<Box<N>> boxes = wanted(layout_, rank_);
             detail::request_boxes(array_prefetch_, layout_, rank_, std::span<const Box<N>>(boxes),
                                   parts_.address(), sizeof(T), how);
         }});
}

template <class T, std::size_t N, Distribution D>
Observation DistributedArray<T, N, D>::prefetch_observed(const Prefetch& how, const Where& where) {
    const detail::Collective call("prefetch_observed", where);
    agree({observer_ != nullptr}, how);
    detail::require_observer(observer_.get());
    const Observation seen = observed();
    auto sets = std::make_shared<detail::SetsByOwner>(observer_->take());
    observer_.reset();
    // The first time as they are, and after a resize with their new numbers.
    const auto ask = [this, how, encoded = detail::encode_sets(*sets),
                      sets](const Layout<N, D>& before) mutable {
        if (sets == nullptr) {
            sets = std::make_shared<detail::SetsByOwner>(renumbered(encoded, before));
            encoded = detail::encode_sets(*sets);
        }
        ask_for_observed(std::move(*std::exchange(sets, nullptr)), how);
    };
    // Observations with elements are distinct.
    prefetch({"prefetch_observed", {seen.elements == 0 ? 0 : ++distinct_}, how, ask});
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
