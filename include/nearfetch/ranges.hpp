// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of a distributed array as a range: standard algorithms run over elements of any rank.
//
//     const std::int64_t above = std::ranges::count_if(elements(a), [](double x) { return x > 0.5; });
//     std::ranges::copy(elements(a, {{0, 0}, {1, 100}}), row.begin());  // a slice: row 0
//     std::ranges::sort(elements(b));                                  // by one rank, in place
//
// A rank runs the algorithm alone, and reads and writes as by a(i, j): own and prefetched elements are local,
// others go through the page cache. For all elements of a rank there is local(), whose iterators are for
// local memory. What rank runs what is up to the program: a range synchronises nobody.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nearfetch/array.hpp>
#include <ranges>
#include <type_traits>

namespace nearfetch {

namespace detail {

/// An element that algorithms may swap with another one: it is what array[i] is, and no T&.
template <class T, std::size_t N, Distribution D>
class ElementReference : public DistributedArray<T, N, D>::Element {
  public:
    using Element = typename DistributedArray<T, N, D>::Element;
    using Element::operator=;

    explicit(false) ElementReference(const Element& element) : Element(element) {}
    ElementReference(const ElementReference&) = default;
    const ElementReference& operator=(const ElementReference& other) const {
        Element::operator=(other);
        return *this;
    }
    // The elements may be of other ranks.
    friend void swap(const ElementReference& a, const ElementReference& b) {  // NOLINT: it may fail
        const T value = a;
        a = b;
        b = value;
    }
};

}  // namespace detail

/// The elements of a box in index order: a random-access view. Elements of an array that is not const may be
/// assigned to. The array outlives it, and keeps its bounds.
template <class T, std::size_t N, Distribution D, bool Writable>
class ElementRange : public std::ranges::view_interface<ElementRange<T, N, D, Writable>> {
  public:
    using Array = std::conditional_t<Writable, DistributedArray<T, N, D>, const DistributedArray<T, N, D>>;
    class iterator;

    ElementRange() = default;
    /// \throws Error when the box is out of bounds
    ElementRange(Array& array, const Box<N>& box) : array_(&array), box_(box) {
        if (!array.bounds().contains(box))
            detail::out_of_bounds(box.lower, array.bounds().lower, array.bounds().upper);
        size_ = box.empty() ? 0 : box.size();
    }

    iterator begin() const { return iterator(*array_, box_, 0); }
    iterator end() const { return iterator(*array_, box_, size_); }

  private:
    Array* array_ = nullptr;
    Box<N> box_;
    std::int64_t size_ = 0;
};

template <class T, std::size_t N, Distribution D, bool Writable>
class ElementRange<T, N, D, Writable>::iterator {
  public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // it has no addresses of elements
    using value_type = T;
    using difference_type = std::int64_t;
    using reference = std::conditional_t<Writable, detail::ElementReference<T, N, D>, T>;

    iterator() = default;
    iterator(Array& array, const Box<N>& box, std::int64_t position) : array_(&array), box_(box) {
        move_to(position);
    }

    reference operator*() const { return (*array_)[index_]; }
    reference operator[](difference_type n) const { return *(*this + n); }
    /// Of the element in the array.
    const Index<N>& index() const { return index_; }

    iterator& operator++() {
        ++position_;
        std::size_t d = N;
        while (d > 0 && ++index_[d - 1] == box_.upper[d - 1]) {
            --d;
            index_[d] = box_.lower[d];
        }
        return *this;
    }
    iterator& operator--() {
        move_to(position_ - 1);
        return *this;
    }
    iterator operator++(int) {
        iterator before = *this;
        ++*this;
        return before;
    }
    iterator operator--(int) {
        iterator before = *this;
        --*this;
        return before;
    }
    iterator& operator+=(difference_type n) {
        move_to(position_ + n);
        return *this;
    }
    iterator& operator-=(difference_type n) { return *this += -n; }
    friend iterator operator+(iterator it, difference_type n) { return it += n; }
    friend iterator operator+(difference_type n, iterator it) { return it += n; }
    friend iterator operator-(iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(const iterator& a, const iterator& b) {
        return a.position_ - b.position_;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.position_ == b.position_; }
    friend std::strong_ordering operator<=>(const iterator& a, const iterator& b) {
        return a.position_ <=> b.position_;
    }

  private:
    /// An end has some index.
    void move_to(std::int64_t position) {
        position_ = position;
        if (box_.empty()) return;
        index_ = detail::index_at(box_.shape(), position);
        for (std::size_t d = 0; d < N; ++d)
            index_[d] += box_.lower[d];
    }

    Array* array_ = nullptr;
    Box<N> box_;
    std::int64_t position_ = 0;
    Index<N> index_{};
};

/// The elements of a box, by default of the whole array.
/// \throws Error when the box is out of bounds
template <class T, std::size_t N, Distribution D>
ElementRange<T, N, D, true> elements(DistributedArray<T, N, D>& array, const Box<N>& box) {
    return {array, box};
}
template <class T, std::size_t N, Distribution D>
ElementRange<T, N, D, false> elements(const DistributedArray<T, N, D>& array, const Box<N>& box) {
    return {array, box};
}
template <class T, std::size_t N, Distribution D>
ElementRange<T, N, D, true> elements(DistributedArray<T, N, D>& array) {
    return {array, array.bounds()};
}
template <class T, std::size_t N, Distribution D>
ElementRange<T, N, D, false> elements(const DistributedArray<T, N, D>& array) {
    return {array, array.bounds()};
}

}  // namespace nearfetch
