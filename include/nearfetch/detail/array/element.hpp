// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a(i, j) is where it may be written, and accesses to elements of other ranks. Part of array.hpp.

#include <nearfetch/array.hpp>

namespace nearfetch {

/// An element that reads and writes like a T. `auto` gives another one of these, not a T.
template <class T, std::size_t N, Distribution D>
class DistributedArray<T, N, D>::Element {
  public:
    Element(DistributedArray& array, const Index<N>& i) : array_(array), i_(i), own_(array.own(i)) {}
    Element(const Element&) = default;

    operator T() const {
        if (own_ != nullptr) [[likely]]
            return *own_;
        return array_.read_remote(i_);
    }
    const Element& operator=(const T& value) const {
        if (own_ != nullptr) [[likely]]
            *own_ = value;
        else
            array_.write_remote(i_, value);
        return *this;
    }
    const Element& operator=(const Element& other) const { return *this = static_cast<T>(other); }
    const Element& operator+=(const T& value) const { return *this = static_cast<T>(*this) + value; }
    const Element& operator-=(const T& value) const { return *this = static_cast<T>(*this) - value; }
    const Element& operator*=(const T& value) const { return *this = static_cast<T>(*this) * value; }
    const Element& operator/=(const T& value) const { return *this = static_cast<T>(*this) / value; }
    /// Its address, for atomics. A change by it is not written through to prefetched slices.
    /// \throws Error out of bounds
    GlobalPtr<T> operator&() const {
        array_.check(i_);
        return array_.pointer(array_.layout_.locate(i_));
    }

  private:
    DistributedArray& array_;
    Index<N> i_;
    T* own_;
};

template <class T, std::size_t N, Distribution D>
bool DistributedArray<T, N, D>::read_prefetched(const Index<N>& i, const Location<N>& location,
                                                T& value) const {
    if (!may_be_prefetched(i)) return false;
    const auto [slice, position] = array_prefetch_.find(location.rank, location.local, location.position);
    if (slice == nullptr) return false;
    if constexpr (D::contiguous) array_prefetch_.remember_used(i, slice);
    return detail::read_slice(*slice, array_prefetch_.packing(), position, value);
}

template <class T, std::size_t N, Distribution D>
void DistributedArray<T, N, D>::write_remote(const Index<N>& i, const T& value) {
    check(i);
    const Location<N> location = layout_.locate(i);
    const GlobalPtr<T> there = pointer(location);
    nearfetch::put(there, value);
    if constexpr (D::contiguous) {
        if (array_prefetch_.write_through_last(i, value)) return;
    }
    if (may_be_prefetched(i)) {
        detail::PrefetchedSlice* const slice = array_prefetch_.write_through(
            location.rank, location.local, location.position, value, there.address());
        if (D::contiguous && slice != nullptr) array_prefetch_.remember_used(i, slice);
    }
}

}  // namespace nearfetch
