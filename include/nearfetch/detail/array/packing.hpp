// SPDX-License-Identifier: Apache-2.0
#pragma once

// From the Packing of a distribution to the functions that move slices. For array.hpp.

#include <cstring>
#include <nearfetch/detail/array/slices.hpp>
#include <nearfetch/distribution.hpp>
#include <span>
#include <type_traits>

namespace nearfetch::detail {

template <class T, std::size_t N, class D>
concept HasPacking = requires { sizeof(Packing<T, N, D>); };

/// Packing<T, N, D> for slices. The context of a SlicePacking is the layout.
template <class T, std::size_t N, Distribution D>
class PackingFunctions {
    static_assert(IsPacking<T, N, D>, "Packing lacks bytes(), pack() or unpack(), see distribution.hpp");
    static_assert(std::is_trivially_copyable_v<D>, "the layout travels with the request");

  public:
    static std::uint64_t bytes(std::span<const std::byte> context, const Slice& slice) {
        const Layout<N, D> layout = layout_in(context.data());
        return Packing<T, N, D>::bytes(box_of(layout, slice));
    }
    static void unpack(std::span<const std::byte> context, const Slice& slice, const std::byte* from,
                       std::byte* to) {
        const Layout<N, D> layout = layout_in(context.data());
        const PackedBox<N, D> box = box_of(layout, slice);
        Packing<T, N, D>::unpack(box, from, View<T, N>(reinterpret_cast<T*>(to), box.shape()));
    }
    /// Runs at the owner.
    static void pack(const void* closure, void* result) {
        const AskedSlice asked = asked_slice(closure);
        if (asked.is_set) return pack_here(closure, result);
        const Slice& slice = *asked.slice;
        const Layout<N, D> layout = layout_in(asked.context);
        const PackedBox<N, D> box = box_of(layout, slice);
        const View<const T, N> part(reinterpret_cast<const T*>(asked.part), layout.local_shape(slice.owner));
        Packing<T, N, D>::pack(box, part.sub(local_box(slice)), static_cast<std::byte*>(result));
    }

  private:
    static Layout<N, D> layout_in(const std::byte* context) {
        Layout<N, D> layout;
        std::memcpy(static_cast<void*>(&layout), context, sizeof layout);
        return layout;
    }
    static Box<N> local_box(const Slice& slice) {
        Box<N> box;
        for (std::size_t d = 0; d < N; ++d) {
            box.lower[d] = slice.lower[4 - N + d];
            box.upper[d] = box.lower[d] + slice.extent[4 - N + d];
        }
        return box;
    }
    static PackedBox<N, D> box_of(const Layout<N, D>& layout, const Slice& slice) {
        return {layout, slice.owner, local_box(slice)};
    }
};

/// How the slices of an array travel. \pre the layout outlives it
template <class T, std::size_t N, Distribution D>
SlicePacking packing_of(const Layout<N, D>& layout) {
    if constexpr (HasPacking<T, N, D>) {
        using Functions = PackingFunctions<T, N, D>;
        return {&Functions::pack, &Functions::bytes, &Functions::unpack,
                std::as_bytes(std::span(&layout, 1))};
    } else {
        return &pack_at_owner;
    }
}

}  // namespace nearfetch::detail
