// SPDX-License-Identifier: Apache-2.0
#pragma once

// How parts of distributed arrays move. A request is cut into slices, at most one per owner. A slice is a box
// in the owner's local numbers. It travels packed, its elements contiguous in index order: as one GET or PUT
// if it is contiguous at the owner, else as several, or as one message that the owner packs or unpacks. The
// message takes one round trip (LAPPS, section 5.2, steps (c) to (i)).
//
// For array.hpp; nothing here is for programs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/cache/slice.hpp>
#include <nearfetch/pgas.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// An order of dimensions, as of numpy's transpose: the d-th one is the dimension axes[d] of the source.
template <std::size_t N>
using Axes = std::array<std::size_t, N>;

namespace detail {

template <std::size_t N>
constexpr Axes<N> in_order() {
    Axes<N> axes;
    for (std::size_t d = 0; d < N; ++d)
        axes[d] = d;
    return axes;
}
/// \throws Error unless the axes name each dimension once
void check_axes(std::span<const std::size_t> axes);
/// One value for each dimension, in another order.
template <class Value, std::size_t N>
constexpr std::array<Value, N> reordered(const std::array<Value, N>& values, const Axes<N>& axes) {
    std::array<Value, N> others;
    for (std::size_t d = 0; d < N; ++d)
        others[d] = values[axes[d]];
    return others;
}

/// A contiguous buffer, also of bool. Elements begin as T{}.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t count) : Buffer(std::make_unique<T[]>(count), count) {}
    /// Elements have no value yet.
    static Buffer for_overwrite(std::int64_t count) {
        const auto size = static_cast<std::size_t>(count);
        return Buffer(std::make_unique_for_overwrite<T[]>(size), size);
    }
    Buffer(Buffer&& other) noexcept
        : elements_(std::move(other.elements_)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
        return *this;
    }

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    T* data() { return elements_.get(); }
    const T* data() const { return elements_.get(); }
    T& operator[](std::size_t n) { return elements_[n]; }
    const T& operator[](std::size_t n) const { return elements_[n]; }
    std::span<const T> span() const { return {data(), size_}; }

  private:
    Buffer(std::unique_ptr<T[]> elements, std::size_t size) : elements_(std::move(elements)), size_(size) {}

    std::unique_ptr<T[]> elements_;
    std::size_t size_ = 0;
};

template <std::size_t N, Distribution D>
Slice make_slice(const Layout<N, D>& layout, Rank owner, const Box<N>& local, std::uint64_t address,
                 std::uint64_t element_bytes) {
    Slice slice{owner, address, element_bytes};
    const Index<N> shape = layout.local_shape(owner);
    for (std::size_t d = 0; d < N; ++d) {
        slice.part[4 - N + d] = shape[d];
        slice.lower[4 - N + d] = local.lower[d];
        slice.extent[4 - N + d] = local.extent(d);
    }
    return slice;
}

/// The distance in bytes between neighbours in each dimension.
using Steps = std::array<std::int64_t, 4>;

/// A slice, and the local buffer of its packed elements.
struct SliceMove {
    Slice slice;
    std::byte* packed = nullptr;
    const IndexSet* only = nullptr;  ///< as in PrefetchedSlice
    bool few_messages = false;       ///< more than two GETs or PUTs: the owner packs or unpacks
    /// For get_slices(): the elements are not packed, but have these distances; `packed` is the first one.
    std::optional<Steps> steps = {};
};

/// Run at the owner, with a PackRequest.
void pack_here(const void* closure, void* result);
void unpack_here(const void* closure, void* result);
// Wrappers in the program's own code, which has the same address offset in all its processes.
inline void pack_at_owner(const void* closure, void* result) { pack_here(closure, result); }
inline void unpack_at_owner(const void* closure, void* result) { unpack_here(closure, result); }

/// What an owner was asked for.
struct AskedSlice {
    const Slice* slice;
    bool is_set;               ///< not all elements of the slice
    const std::byte* part;     ///< all that the owner has of the array
    const std::byte* context;  ///< of a SlicePacking
};
/// \param closure of SlicePacking::pack
AskedSlice asked_slice(const void* closure);

/// How a slice travels if its owner packs it: by default its elements, in index order.
struct SlicePacking {
    using Bytes = std::uint64_t (*)(std::span<const std::byte> context, const Slice& slice);
    using Unpack = void (*)(std::span<const std::byte> context, const Slice& slice, const std::byte* from,
                            std::byte* to);
    SlicePacking() = default;
    SlicePacking(Code pack_code) : pack(pack_code) {}
    SlicePacking(Code pack_code, Bytes bytes_of_box, Unpack unpack_box, std::span<const std::byte> of)
        : pack(pack_code), bytes(bytes_of_box), unpack(unpack_box), context(of) {}

    Code pack = nullptr;  ///< run at the owner
    // A packing of the distribution's own, for slices that are complete:
    Bytes bytes = nullptr;               ///< of the message
    Unpack unpack = nullptr;             ///< run by the rank that asks
    std::span<const std::byte> context;  ///< travels with the request
};

/// Work to do while the network is busy. It may be called once, never, or several times.
using OverlapWork = std::function<void()>;

/// \param bypass_cache fetches the current values, not through the page cache
void get_slices(std::span<const SliceMove> moves, Packer packer, bool bypass_cache,
                const SlicePacking& packing, const OverlapWork& overlap_work = {});
/// Bypasses the cache and leaves owners passive. The buffers have to stay until all transfers are done.
std::vector<Transfer> start_get_slices(std::span<const SliceMove> moves);
void put_slices(std::span<const SliceMove> moves, Code unpack);
/// Runs `combine`, a code of combining.hpp, at the owners: one message each.
/// \throws Error where owners do not answer
void combine_slices(std::span<const SliceMove> moves, Code combine);
/// What a copy of contiguous bytes takes: whole cache lines.
constexpr std::uint64_t whole_lines(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }
/// In virtual time, charges this thread for a copy. \param bytes whole_lines() of each run
void charge_copy(std::uint64_t bytes);

/// Indices of one dimension, as ascending ranges.
using IndexRanges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The indices that have one of the given numbers in each dimension.
template <std::size_t N>
using IndexProduct = std::array<IndexRanges, N>;

template <std::size_t N>
IndexProduct<N> product_of(const Box<N>& box) {
    IndexProduct<N> product;
    for (std::size_t d = 0; d < N; ++d)
        product[d] = {{box.lower[d], box.upper[d]}};
    return product;
}

/// What a rank owns of one dimension.
template <std::size_t N, Distribution D>
IndexRanges owned_ranges(const Layout<N, D>& layout, Rank rank, std::size_t d) {
    const std::int64_t count = layout.local_shape(rank)[d];
    const Rank part = layout.coordinates(rank)[d];
    const std::int64_t first = layout.bounds().lower[d];
    IndexRanges ranges;
    for (std::int64_t local = 0; local < count;) {
        const std::int64_t i = first + layout.dimension(d).global(part, local);
        const std::int64_t run = D::contiguous ? count : 1;
        if (!ranges.empty() && ranges.back().second == i)
            ranges.back().second += run;
        else
            ranges.emplace_back(i, i + run);
        local += run;
    }
    return ranges;
}

/// Calls visit(owner, local box) for each rank that owns some of these indices. The box is the smallest that
/// covers them. With a distribution that is not contiguous it may cover others too.
template <std::size_t N, Distribution D, class Visit>
void for_each_owner(const Layout<N, D>& layout, const IndexProduct<N>& wanted, Visit&& visit) {
    struct Share {
        Rank part;
        std::int64_t begin, end;
    };
    std::array<std::vector<Share>, N> shares;
    for (std::size_t d = 0; d < N; ++d)
        for (Rank part = 0; part < layout.grid()[d]; ++part) {
            Share share{part, 0, 0};
            for (const auto& [first, last] : wanted[d]) {
                const std::int64_t begin = layout.below(d, part, first);
                const std::int64_t end = layout.below(d, part, last);
                if (begin >= end) continue;
                share.begin = share.end == 0 ? begin : std::min(share.begin, begin);
                share.end = std::max(share.end, end);
            }
            if (share.end != 0) shares[d].push_back(share);
        }
    Box<N> choices;
    for (std::size_t d = 0; d < N; ++d)
        choices.upper[d] = static_cast<std::int64_t>(shares[d].size());
    for_each_index(choices, [&](const Index<N>& choice) {
        Rank owner = 0;
        Box<N> local;
        for (std::size_t d = 0; d < N; ++d) {
            const Share& share = shares[d][static_cast<std::size_t>(choice[d])];
            owner = owner * layout.grid()[d] + share.part;
            local.lower[d] = share.begin;
            local.upper[d] = share.end;
        }
        visit(owner, local);
    });
}

/// The number of an index in a box, in index order.
template <std::size_t N>
constexpr std::int64_t position(const Box<N>& box, const Index<N>& i) {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < N; ++d)
        sum = sum * box.extent(d) + i[d] - box.lower[d];
    return sum;
}

/// The inverse of position() for a box that begins at 0.
template <std::size_t N>
constexpr Index<N> index_at(const Index<N>& shape, std::int64_t position) {
    Index<N> i{};
    for (std::size_t d = N; d-- > 0; position /= shape[d])
        i[d] = position % shape[d];
    return i;
}

/// The distances between elements that are contiguous in index order.
template <std::size_t N>
constexpr Index<N> strides_of(const Index<N>& shape) {
    Index<N> strides;
    std::int64_t stride = 1;
    for (std::size_t d = N; d-- > 0; stride *= shape[d])
        strides[d] = stride;
    return strides;
}

/// The part of a local box that a slice covers.
template <std::size_t N>
Box<N> common_box(const PrefetchedSlice& slice, const Box<N>& local) {
    Box<N> box;
    for (std::size_t d = 0; d < N; ++d) {
        box.lower[d] = slice.slice.lower[4 - N + d];
        box.upper[d] = box.lower[d] + slice.slice.extent[4 - N + d];
    }
    return intersection(box, local);
}

/// One owner's share of a transfer: a slice of the array, and its elements.
template <class T, std::size_t N, Distribution D>
struct ArrayPart {
    Rank owner;
    Box<N> local;
    Slice slice;
    Buffer<T> packed;
    T* direct = nullptr;              ///< used in place of `packed`
    std::optional<Steps> steps = {};  ///< of `direct`, if it is not packed
    std::size_t reading = 0;          ///< which of several boxes that are read together it is a share of

    /// Uses the program's memory directly if the share is contiguous there.
    void prepare_put(const Layout<N, D>& layout, const Box<N>& box, T* program) {
        bool side_by_side = D::contiguous;
        bool is_one = true;
        for (std::size_t d = 0; d < N; ++d) {
            side_by_side = side_by_side && (is_one || local.extent(d) == box.extent(d));
            is_one = is_one && local.extent(d) == 1;
        }
        if (side_by_side)
            direct = program + position(box, layout.global(owner, local.lower));
        else
            packed = Buffer<T>::for_overwrite(local.size());
    }
    /// Uses it if the elements keep their distances there.
    void prepare_get(const Layout<N, D>& layout, const Box<N>& box, T* program) {
        if constexpr (D::contiguous)
            distribute(program + position(box, layout.global(owner, local.lower)), strides_of(box.shape()));
        else
            packed = Buffer<T>::for_overwrite(local.size());
    }
    /// Has a GET distribute the elements.
    /// \param first place of the first one \param strides distances of neighbours there, in elements
    void distribute(T* first, const Index<N>& strides) {
        direct = first;
        steps.emplace();
        for (std::size_t d = 0; d < N; ++d)
            (*steps)[4 - N + d] = strides[d] * static_cast<std::int64_t>(sizeof(T));
    }
    SliceMove move() {
        auto* const memory = reinterpret_cast<std::byte*>(direct != nullptr ? direct : packed.data());
        return {.slice = slice, .packed = memory, .steps = steps};
    }
    /// Calls visit(position in the share, position in the box, count) for each run that is contiguous in
    /// both.
    template <class Visit>
    void for_each_row(const Layout<N, D>& layout, const Box<N>& box, Visit&& visit) const {
        Box<N> rows = local;
        std::int64_t row = 1;
        if constexpr (D::contiguous) {
            row = local.extent(N - 1);
            rows.upper[N - 1] = rows.lower[N - 1] + 1;
        }
        std::int64_t there = 0;
        for_each_index(rows, [&](const Index<N>& i) {
            visit(there, position(box, layout.global(owner, i)), row);
            there += row;
        });
    }
};

}  // namespace detail

}  // namespace nearfetch
