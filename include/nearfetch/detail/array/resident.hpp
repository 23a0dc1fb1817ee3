// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where elements of a distributed array lie in this process. Part of array.hpp.
//
// Own elements do where they always are. Prefetched ones do in their slice, which may be read in place even
// while another thread of the rank brings it anew: it stores whole words, and the word that a thread may read
// now is the same then, because nobody writes what it reads between its acquires.

#include <nearfetch/array.hpp>

namespace nearfetch {

template <class T, std::size_t N, Distribution D>
Resident<T, N> DistributedArray<T, N, D>::resident(const Box<N>& box, bool fetch) const
    requires(D::contiguous)
{
    if (box.empty()) return {};
    Index<N> last = box.upper;
    for (std::int64_t& i : last)
        --i;
    const T* const mine = own(box.lower);
    if (mine != nullptr && own(last) != nullptr) return {{mine, box.shape(), local().strides()}};
    check(box.lower);
    check(last);
    if (mine != nullptr || !may_be_prefetched(box.lower)) return {};
    const Place<N> place = layout_.place(box.lower);
    if (layout_.owner(last) != place.rank) return {};
    Box<N> wanted(place.local, place.local);
    for (std::size_t d = 0; d < N; ++d)
        wanted.upper[d] += box.extent(d);
    for (detail::PrefetchedSlice* const slice : array_prefetch_.of(place.rank)) {
        const Box<N> common = detail::common_box(*slice, wanted);
        if (common.empty()) continue;
        // The first slice that has an element is the one whose value counts.
        if (common != wanted || slice->only != nullptr) return {};
        const std::int64_t at = slice->position(wanted.lower, 0);
        if (slice->consistent) {
            if constexpr (!detail::is_word<T>) return {};
            T first;  // with it all of the slice is fetched anew, if it is stale
            if (!slice->read(at, first) && !(fetch && array_prefetch_.read(*slice, at, &first, 1))) return {};
        }
        Index<N> shape;
        std::copy(slice->slice.extent.end() - N, slice->slice.extent.end(), shape.begin());
        const T* const data = reinterpret_cast<const T*>(slice->data) + at;
        return {{data, box.shape(), View<const T, N>(nullptr, shape).strides()}, slice->consistent};
    }
    return {};
}

namespace detail {

/// An element where it lies. \pre a word, if it is shared
template <bool Shared, class T>
T load(const T& element) {
    if constexpr (Shared && is_word<T>) {
        using Word = WordOf<sizeof(T)>;
        const auto word = std::atomic_ref(*reinterpret_cast<Word*>(const_cast<T*>(&element)));
        return std::bit_cast<T>(word.load(std::memory_order_relaxed));
    } else {
        return element;
    }
}

/// Resident elements, by their indices in the array.
template <class T, std::size_t N, bool Shared>
class ElementsHere {
  public:
    ElementsHere(const View<const T, N>& elements, const Index<N>& lower)
        : elements_(elements), lower_(lower) {}

    T operator[](Index<N> i) const {
        for (std::size_t d = 0; d < N; ++d)
            i[d] -= lower_[d];
        return load<Shared>(elements_[i]);
    }
    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    T operator()(I... i) const {
        return (*this)[Index<N>{static_cast<std::int64_t>(i)...}];
    }

  private:
    View<const T, N> elements_;
    Index<N> lower_;
};

}  // namespace detail

}  // namespace nearfetch
