// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boxes of a distributed array, and whole arrays, in one slice from or to each owner. Part of array.hpp.

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
void DistributedArray<T, N, D>::fetch(std::vector<Part>& parts, detail::Packer packer, bool around) {
    std::vector<detail::SliceMove> moves;
    for (Part& part : parts)
        moves.push_back(part.move());
    detail::get_slices(moves, packer, around, &detail::pack_at_owner);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::get(const Box<N>& box, std::span<T> to) const {
    check("get", box, to.size());
    std::vector<Part> parts = parts_of(detail::product_of(box));
    for (Part& part : parts)
        part.prepare(layout_, box, to.data());
    fetch(parts, detail::Packer::owner, false);
    for (const Part& part : parts)
        if (!part.packed.empty())
            part.for_each_row(layout_, box, [&](std::int64_t there, std::int64_t here, std::int64_t n) {
                std::copy_n(part.packed.data() + there, n, to.data() + here);
            });
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::put(const Box<N>& box, std::span<const T> from) {
    check("put", box, from.size());
    std::vector<Part> parts = parts_of(detail::product_of(box));
    std::vector<detail::SliceMove> moves;
    for (Part& part : parts) {
        part.prepare(layout_, box, const_cast<T*>(from.data()));  // a PUT only reads it
        if (!part.packed.empty())
            part.for_each_row(layout_, box, [&](std::int64_t there, std::int64_t here, std::int64_t n) {
                std::copy_n(from.data() + here, n, part.packed.data() + there);
            });
        moves.push_back(part.move());
    }
    detail::put_slices(moves, &detail::unpack_at_owner);
    for (const Part& part : parts)
        write_through(part);
    hook_.wrote();
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::write_through(const Part& part) {
    const T* const elements = part.direct != nullptr ? part.direct : part.packed.data();
    for (detail::PrefetchedSlice* const slice : hook_.of(part.owner)) {
        Box<N> rows;
        for (std::size_t d = 0; d < N; ++d) {
            rows.lower[d] = slice->slice.lower[4 - N + d];
            rows.upper[d] = rows.lower[d] + slice->slice.extent[4 - N + d];
        }
        rows = intersection(rows, part.local);
        const std::int64_t row = slice->only == nullptr ? rows.extent(N - 1) : 1;
        if (rows.empty()) continue;
        if (slice->only == nullptr) rows.upper[N - 1] = rows.lower[N - 1] + 1;
        for_each_index(rows, [&](const Index<N>& i) {
            const Place<N> place = layout_.place(layout_.global(part.owner, i));
            const std::int64_t position = slice->position(i, place.position);
            if (position < 0) return;
            detail::write_prefetched(*slice, position, elements + detail::position(part.local, i), row,
                                     pointer(place).address());
        });
    }
}

template <class T, std::size_t N, Distribution D>
template <Distribution Other>
void DistributedArray<T, N, D>::assign(const DistributedArray<T, N, Other>& from) {
    if (from.bounds() != bounds())
        throw Error("assign: an array of other bounds", "each index gets the element of the same index",
                    "use arrays of the same bounds");
    agree("assign", {});
    auto parts = from.parts_of(detail::own_product(layout_, rank_));
    for (auto& part : parts)
        part.packed.resize(static_cast<std::size_t>(part.local.size()));
    from.fetch(parts, detail::Packer::owner, false);
    for (const auto& part : parts) {
        const T* element = part.packed.data();
        for_each_index(part.local, [&](const Index<N>& local) {
            if (T* const to = own(from.layout().global(part.owner, local))) *to = *element;
            ++element;
        });
    }
    barrier();
}

}  // namespace nearfetch
