// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resident elements: those that can be read in place in this process. Part of array.hpp.
//
// Own elements always are. Prefetched elements are read in their slice, even while another thread of the rank
// refreshes it. The refresh stores whole words, and a word that a thread may read now has the same value
// afterwards: nobody writes it between that thread's acquires.

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
    const Location<N> location = layout_.locate(box.lower);
    if (layout_.owner(last) != location.rank) return {};
    Box<N> wanted(location.local, location.local);
    for (std::size_t d = 0; d < N; ++d)
        wanted.upper[d] += box.extent(d);
    for (detail::PrefetchedSlice* const slice : array_prefetch_.of(location.rank)) {
        const Box<N> common = detail::common_box(*slice, wanted);
        if (common.empty()) continue;
        // The first slice that has an element holds its value.
        if (common != wanted || slice->only != nullptr) return {};
        const std::int64_t at = slice->position(wanted.lower, 0);
        if (slice->consistent) {
            if constexpr (!detail::is_word<T>) return {};
            T first;  // reading one element refreshes a stale slice
            if (!slice->read(at, first) &&
                !(fetch && detail::read_slice(*slice, array_prefetch_.packing(), at, &first, 1)))
                return {};
        }
        Index<N> shape;
        std::copy(slice->slice.extent.end() - N, slice->slice.extent.end(), shape.begin());
        const T* const data = reinterpret_cast<const T*>(slice->data) + at;
        return {{data, box.shape(), View<const T, N>(nullptr, shape).strides()}, slice->consistent};
    }
    return {};
}

/// A prefetched element that was found. Valid until prefetched data is evicted, or the array resized.
template <class T, std::size_t N, Distribution D>
class PrefetchedElement {
  public:
    PrefetchedElement() = default;
    PrefetchedElement(const DistributedArray<T, N, D>& array, const Index<N>& i,
                      const detail::PrefetchedSlice* slice, std::int64_t position)
        : array_(&array), i_(i), slice_(slice), position_(position) {}

    /// Whether it is prefetched.
    explicit operator bool() const { return slice_ != nullptr; }
    /// The value of a(i). \pre it is prefetched
    T read() const {
        T value;
        if (slice_->read(position_, value)) [[likely]]
            return value;
        return array_->read(i_);
    }

  private:
    const DistributedArray<T, N, D>* array_ = nullptr;
    Index<N> i_{};
    const detail::PrefetchedSlice* slice_ = nullptr;
    std::int64_t position_ = -1;
};

template <class T, std::size_t N, Distribution D>
PrefetchedElement<T, N, D> DistributedArray<T, N, D>::prefetched(const Index<N>& i) const {
    if constexpr (D::contiguous)
        if (const auto [slice, position] = array_prefetch_.find_last(i); position >= 0) [[likely]]
            return {*this, i, slice, position};
    check(i);
    const Location<N> location = layout_.locate(i);
    const auto [slice, position] = array_prefetch_.find(location.rank, location.local, location.position);
    if (slice == nullptr) return {};
    if constexpr (D::contiguous) array_prefetch_.remember_used(i, slice);
    return {*this, i, slice, position};
}

namespace detail {

/// Loads an element in place. \pre it is one word, if it is shared
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

/// Resident elements, accessed by their indices in the array.
template <class T, std::size_t N, bool Shared>
class ResidentElements {
  public:
    ResidentElements(const View<const T, N>& elements, const Index<N>& lower)
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

#include <nearfetch/detail/array/parts.hpp>
