// SPDX-License-Identifier: Apache-2.0
#pragma once

// Transfers of boxes and whole arrays, one slice per owner. Part of array.hpp.
//
// A get reads what is prefetched of each owner. It asks the owner for the smallest box that covers the rest.

#include <nearfetch/array.hpp>

namespace nearfetch {

template <class T, std::size_t N, Distribution D>
auto DistributedArray<T, N, D>::parts_of(const detail::IndexProduct<N>& wanted) const -> std::vector<Part> {
    std::vector<Part> parts;
    detail::for_each_owner(layout_, wanted, [&](Rank owner, const Box<N>& local) {
        parts.push_back(
            {owner, local, detail::make_slice(layout_, owner, local, parts_.address(), sizeof(T)), {}});
    });
    return parts;
}

template <class T, std::size_t N, Distribution D>
auto DistributedArray<T, N, D>::parts_of(std::span<const Reading> readings) const -> std::vector<Part> {
    if (readings.size() == 1) return parts_of(detail::product_of(readings[0].box));
    std::vector<Part> all;
    for (std::size_t n = 0; n < readings.size(); ++n)
        for (Part& part : parts_of(detail::product_of(readings[n].box))) {
            part.reading = n;
            all.push_back(std::move(part));
        }
    std::ranges::stable_sort(all, {}, &Part::owner);
    return all;
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::check(const char* what, const Box<N>& box, std::size_t size) const {
    if (!box.empty()) {
        Index<N> last = box.upper;
        for (std::int64_t& i : last)
            --i;
        check(box.lower);
        check(last);
    }
    const std::int64_t indices = box.empty() ? 0 : box.size();
    if (static_cast<std::int64_t>(size) != indices) detail::wrong_size(what, size, indices);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::fetch(std::vector<Part>& parts, bool around) {
    std::vector<detail::SliceMove> moves;
    for (Part& part : parts)
        moves.push_back(part.move());
    detail::get_slices(moves, detail::Packer::owner, around, &detail::pack_at_owner);
}

template <class T, std::size_t N, Distribution D>
auto DistributedArray<T, N, D>::fetch_for(const Layout<N, D>& owned) const -> std::vector<Part> {
    std::vector<Part> parts = parts_of(detail::own_product(owned, rank_));
    for (Part& part : parts)
        part.packed = detail::Buffer<T>::for_overwrite(part.local.size());
    fetch(parts, true);
    return parts;
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::take(const auto& layout, const auto& parts, const Axes<N>& axes) {
    for (const auto& part : parts) {
        const T* element = part.packed.data();
        for_each_index(part.local, [&](const Index<N>& local) {
            if (T* const to = own(detail::reordered(layout.global(part.owner, local), axes))) *to = *element;
            ++element;
        });
    }
}

namespace detail {

/// Calls visit(index, position in the slice, count) for each run of a slice's elements that are in a box of
/// local numbers.
template <bool Rows, std::size_t N, class Visit>
void for_each_common(const PrefetchedSlice& slice, const Box<N>& local, const Index<N>& shape,
                     Visit&& visit) {
    const Box<N> common = common_box(slice, local);
    if (slice.only != nullptr && slice.only->size() < common.size()) {
        std::int64_t at = 0;
        slice.only->for_each_run([&](std::int64_t first, std::int64_t count) {
            for (const std::int64_t end = at + count; at < end; ++at, ++first)
                if (const Index<N> i = index_at(shape, first); common.contains(i))
                    visit(i, slice.strategy_selector == nullptr ? at : first, 1);
        });
        return;
    }
    Box<N> firsts = common;
    const bool in_rows = Rows && slice.only == nullptr && !common.empty();
    if (in_rows) firsts.upper[N - 1] = firsts.lower[N - 1] + 1;
    for_each_index(firsts, [&](const Index<N>& i) {
        const std::int64_t at = slice.position(i, position(Box<N>({}, shape), i));
        if (at >= 0) visit(i, at, in_rows ? common.extent(N - 1) : 1);
    });
}

/// The smallest box that covers the indices whose flag is 0. There is one flag per index, in index order.
template <std::size_t N>
Box<N> box_of_zeros(const Box<N>& box, const std::vector<char>& numbers) {
    Box<N> zeros(box.upper, box.lower);
    auto number = numbers.begin();
    for_each_index(box, [&](const Index<N>& i) {
        if (*number++ != 0) return;
        for (std::size_t d = 0; d < N; ++d) {
            zeros.lower[d] = std::min(zeros.lower[d], i[d]);
            zeros.upper[d] = std::max(zeros.upper[d], i[d] + 1);
        }
    });
    return zeros;
}

}  // namespace detail

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::refresh_stale_slices(std::span<const Part> parts) const {
    std::vector<detail::PrefetchedSlice*> slices;
    for (auto from = parts.begin(), end = from; from != parts.end(); from = end) {
        const Rank owner = from->owner;
        end = std::find_if(from, parts.end(), [&](const Part& part) { return part.owner != owner; });
        for (detail::PrefetchedSlice* const slice : array_prefetch_.of(owner))
            // The box of a set may cover much more than its elements.
            if (std::any_of(from, end, [&](const Part& part) {
                    return !detail::common_box(*slice, part.local).empty() &&
                           (slice->only == nullptr || part.local.shape() == layout_.local_shape(owner));
                }))
                slices.push_back(slice);
    }
    if (!slices.empty()) detail::refresh_stale(slices, array_prefetch_.packing());
}

template <class T, std::size_t N, Distribution D>
std::vector<char> DistributedArray<T, N, D>::get_prefetched(const Part& part, const Box<N>& box,
                                                            T* to) const {
    std::vector<char> here(static_cast<std::size_t>(part.local.size()), 0);
    const Index<N> shape = layout_.local_shape(part.owner);
    for (detail::PrefetchedSlice* const slice : array_prefetch_.of(part.owner))
        detail::for_each_common<D::contiguous>(
            *slice, part.local, shape, [&](const Index<N>& i, std::int64_t at, std::int64_t count) {
                char* const known = here.data() + detail::position(part.local, i);
                T* const program = to + detail::position(box, layout_.global(part.owner, i));
                for (std::int64_t n = 0, run = 0; n < count; n += run) {
                    const bool wanted = known[n] == 0;
                    run = std::find(known + n, known + count, wanted ? 1 : 0) - (known + n);
                    if (wanted &&
                        detail::read_slice(*slice, array_prefetch_.packing(), at + n, program + n, run))
                        std::fill_n(known + n, run, char{1});
                }
            });
    return here;
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::get(const Box<N>& box, std::span<T> to) const {
    check("get", box, to.size());
    const Reading all{box, to.data()};
    read_boxes({&all, 1}, true);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::get_from_owners(const Box<N>& box, std::span<T> to) const {
    check("get_from_owners", box, to.size());
    const Reading all{box, to.data()};
    read_boxes({&all, 1}, false);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::read_boxes(std::span<const Reading> readings, bool use_prefetched) const {
    struct Known {
        Box<N> local;
        std::vector<char> here;  ///< one flag per element; empty: none is prefetched
    };
    std::vector<Part> parts = parts_of(readings);
    std::vector<Known> known(parts.size());
    if (use_prefetched) refresh_stale_slices(parts);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        Part& part = parts[k];
        const auto& [box, to] = readings[part.reading];
        if (!use_prefetched || array_prefetch_.of(part.owner).empty()) {
            part.prepare_get(layout_, box, to);
            continue;
        }
        known[k] = {part.local, get_prefetched(part, box, to)};
        part.local = detail::box_of_zeros(part.local, known[k].here);
        part.slice = detail::make_slice(layout_, part.owner, part.local, parts_.address(), sizeof(T));
        part.packed = detail::Buffer<T>::for_overwrite(part.local.size());
    }
    fetch(parts, false);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const Part& part = parts[k];
        if (part.packed.empty()) continue;
        const auto& [box, to] = readings[part.reading];
        const auto copy = [&, to = to](std::int64_t there, std::int64_t here, std::int64_t n) {
            std::copy_n(part.packed.data() + there, n, to + here);
        };
        detail::charge_copy(part.packed.size() * sizeof(T));
        if (known[k].here.empty()) {
            part.for_each_row(layout_, box, copy);
            continue;
        }
        std::int64_t there = 0;
        for_each_index(part.local, [&](const Index<N>& i) {
            if (known[k].here[static_cast<std::size_t>(detail::position(known[k].local, i))] == 0)
                copy(there, detail::position(box, layout_.global(part.owner, i)), 1);
            ++there;
        });
    }
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::put(const Box<N>& box, std::span<const T> from) {
    check("put", box, from.size());
    std::vector<Part> parts = parts_of(detail::product_of(box));
    std::vector<detail::SliceMove> moves;
    for (Part& part : parts) {
        part.prepare_put(layout_, box, const_cast<T*>(from.data()));  // a PUT only reads it
        if (!part.packed.empty())
            part.for_each_row(layout_, box, [&](std::int64_t there, std::int64_t here, std::int64_t n) {
                std::copy_n(from.data() + here, n, part.packed.data() + there);
            });
        detail::charge_copy(part.packed.size() * sizeof(T));
        moves.push_back(part.move());
    }
    detail::put_slices(moves, &detail::unpack_at_owner);
    for (const Part& part : parts)
        write_through(part);
    array_prefetch_.note_write();
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::write_through(const Part& part) {
    const T* const elements = part.direct != nullptr ? part.direct : part.packed.data();
    for (detail::PrefetchedSlice* const slice : array_prefetch_.of(part.owner)) {
        Box<N> rows = detail::common_box(*slice, part.local);
        const std::int64_t row = slice->only == nullptr ? rows.extent(N - 1) : 1;
        if (rows.empty()) continue;
        if (slice->only == nullptr) rows.upper[N - 1] = rows.lower[N - 1] + 1;
        for_each_index(rows, [&](const Index<N>& i) {
            const Location<N> location = layout_.locate(layout_.global(part.owner, i));
            const std::int64_t position = slice->position(i, location.position);
            if (position < 0) return;
            detail::write_prefetched(*slice, position, elements + detail::position(part.local, i), row,
                                     pointer(location).address());
        });
    }
}

template <class T, std::size_t N, Distribution D>
template <Distribution Other>
void DistributedArray<T, N, D>::assign(const DistributedArray<T, N, Other>& from, const Axes<N>& axes,
                                       const Where& where) {
    detail::check_axes(axes);
    const Box<N>& others = from.bounds();
    if (Box<N>(detail::reordered(others.lower, axes), detail::reordered(others.upper, axes)) != bounds())
        throw Error("assign: an array of other bounds",
                    "each index gets the element of the same index in the order of the axes",
                    "use arrays of the same bounds");
    const bool is_this = !parts_.empty() && from.parts_.address() == parts_.address();
    if (is_this && axes != detail::in_order<N>())
        throw Error("assign: an array to itself, in another order of its dimensions",
                    "elements are read when others are written already", "use another array");
    std::vector<std::uint64_t> source = detail::describe(from.layout(), from.block_, sizeof(T));
    source.push_back(from.parts_.address());
    source.insert(source.end(), axes.begin(), axes.end());
    const detail::Collective call("assign", where);
    agreement_.check(source);
    const detail::IndexProduct<N> here = detail::own_product(layout_, rank_);
    const Index<N> strides_here = detail::strides_of(own_shape_);
    detail::IndexProduct<N> wanted;
    Index<N> strides;
    for (std::size_t d = 0; d < N; ++d) {
        wanted[axes[d]] = here[d];
        strides[axes[d]] = strides_here[d];
    }
    constexpr bool keeps_distances = D::contiguous && Other::contiguous;
    auto parts = from.parts_of(wanted);
    for (auto& part : parts) {
        if constexpr (keeps_distances) {
            const Index<N> first = from.layout().global(part.owner, part.local.lower);
            part.distribute(own(detail::reordered(first, axes)), strides);
        } else {
            part.packed = detail::Buffer<T>::for_overwrite(part.local.size());
        }
    }
    from.fetch(parts, false);
    if constexpr (!keeps_distances) take(from.layout(), parts, axes);
    barrier();
}

}  // namespace nearfetch
