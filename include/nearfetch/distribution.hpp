// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions of one's own, for array.hpp: who owns an index, what each rank needs, and how it travels.
// LAPPS calls this its low-level interface (Kayraklioglu, Ferguson and El-Ghazawi 2018, section 5.2 and
// appendix A). There are three parts. All arrays, patterns, consistency and counters stand on them.
//
//   Distribution         a class: which part has a number, and as which of its local numbers. It is the only
//                        part that is needed. DistributedArray<T, N, Yours> is the array.
//   a.prefetch_custom(f) a function of the layout and a rank: the boxes that the rank reads.
//   Packing<T, N, Yours> a specialisation: what an owner sends for a box, and what is made of it here.
//
// LAPPS's names in ours: serializeData is Packing::pack, getSerializedSize is Packing::bytes, and
// getDeserializationContainer with its access functions is Packing::unpack. requestPrefetch is
// prefetch_custom, accessPrefetch is a.prefetched(i), and also a(i). In LAPPS the owner tells the size in a
// message of its own. Here the layout says it, so a fetch is one round trip.
//
// examples/folded.cpp has all three.

#include <cstddef>
#include <cstdint>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/array/view.hpp>

namespace nearfetch {

/// Whether a distribution does what Distribution says, found out by trying all numbers. For tests of one's
/// own: an array with a wrong one has wrong elements, and nothing notices.
template <Distribution D>
bool is_right(const D& distribution, Rank parts) {
    const std::int64_t size = distribution.size();
    std::int64_t all = 0;
    for (Rank part = 0; part < parts; ++part) {
        std::int64_t before = 0;
        for (std::int64_t i = 0; i < size; ++i) {
            if (distribution.below(part, i) != before) return false;
            if (distribution.part(i) != part) continue;
            if (distribution.local(i) != before || distribution.global(part, before) != i) return false;
            if (D::contiguous && distribution.global(part, 0) + before != i) return false;
            ++before;
        }
        if (distribution.below(part, size) != before) return false;
        all += before;
    }
    return all == size;
}

/// A box of one owner's elements that is packed. Its elements are numbered from 0 in each dimension, in the
/// order of the owner's local numbers.
template <std::size_t N, Distribution D>
class PackedBox {
  public:
    /// \param local the owner's local numbers
    PackedBox(const Layout<N, D>& layout, Rank owner, const Box<N>& local)
        : layout_(layout), owner_(owner), local_(local) {}

    const Layout<N, D>& layout() const { return layout_; }
    Rank owner() const { return owner_; }
    Index<N> shape() const { return local_.shape(); }
    /// The array's index of an element. \pre 0 <= at < shape()
    Index<N> index(Index<N> at) const {
        for (std::size_t d = 0; d < N; ++d)
            at[d] += local_.lower[d];
        return layout_.global(owner_, at);
    }

  private:
    const Layout<N, D>& layout_;
    Rank owner_;
    Box<N> local_;
};

/// How the elements of a box travel when they are prefetched. Without a specialisation they travel as they
/// are. A specialisation has three static functions:
///   std::uint64_t bytes(const PackedBox<N, D>&)
///       the size of the message in bytes; it depends on the box alone
///   void pack(const PackedBox<N, D>&, const View<const T, N>& elements, std::byte* to)
///       runs at the owner and writes all bytes of the message
///   void unpack(const PackedBox<N, D>&, const std::byte* from, const View<T, N>& elements)
///       runs at the rank that prefetches and writes all elements; `from` is nullptr if bytes() is 0
/// Both views have the shape of the box. A large box is packed in pieces, which are boxes. The functions may
/// run in any thread of the process, several at a time. They throw nothing and communicate nothing. `from`
/// and `to` are not aligned. Elements that do not form a box, and those that come by GETs
/// (Prefetch{.static_domain}, update_prefetch_async()), travel as they are. So both ways have to give the
/// same elements.
/// \pre D is trivially copyable: the layout travels with the request
template <class T, std::size_t N, class D>
struct Packing;

/// Whether a specialisation of Packing has what it needs.
template <class T, std::size_t N, class D>
concept IsPacking = requires(const PackedBox<N, D>& box, const View<const T, N>& owned,
                             const View<T, N>& here, const std::byte* from, std::byte* to) {
    { Packing<T, N, D>::bytes(box) } -> std::convertible_to<std::uint64_t>;
    Packing<T, N, D>::pack(box, owned, to);
    Packing<T, N, D>::unpack(box, from, here);
};

}  // namespace nearfetch
