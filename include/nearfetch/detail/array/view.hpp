// SPDX-License-Identifier: Apache-2.0
#pragma once

// Views of a rank's own part of a distributed array. A view is plain memory with strides, indexed from 0. Its
// iterators are random-access iterators in index order, the last dimension fastest. A view is a value and
// owns nothing.
//
//     View<double, 2> mine = a.local();
//     std::ranges::sort(mine.at(0));                       // the first row
//     std::ranges::fill(mine.slice(1, 0), 0.0);            // the first column
//     const double most = *std::ranges::max_element(mine);

#include <compare>
#include <cstddef>
#include <iterator>
#include <nearfetch/detail/array/distribution.hpp>
#include <string>
#include <type_traits>

namespace nearfetch {

template <class T, std::size_t N>
class View {
  public:
    class iterator;

    View() = default;
    /// \param strides in elements
    View(T* data, const Index<N>& shape, const Index<N>& strides)
        : data_(data), shape_(shape), strides_(strides) {}
    /// Contiguous elements.
    View(T* data, const Index<N>& shape) : data_(data), shape_(shape) {
        std::int64_t stride = 1;
        for (std::size_t d = N; d-- > 0; stride *= shape[d])
            strides_[d] = stride;
    }

    T* data() const { return data_; }
    const Index<N>& shape() const { return shape_; }
    const Index<N>& strides() const { return strides_; }
    std::int64_t extent(std::size_t d) const { return shape_[d]; }
    std::int64_t size() const { return Box<N>({}, shape_).size(); }
    bool empty() const { return size() == 0; }

    /// \pre i is in the view
    T& operator[](const Index<N>& i) const { return data_[offset(i)]; }
    /// \pre i is in the view
    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    T& operator()(I... i) const {
        return (*this)[Index<N>{static_cast<std::int64_t>(i)...}];
    }

    /// A box of the view. \throws Error unless the box is inside
    View sub(const Box<N>& box) const {
        if (!Box<N>({}, shape_).contains(box))
            throw Error("view: a part that is not inside", "a view has the indices from 0 up to its shape",
                        "ask for a part of these");
        return View(box.empty() ? data_ : data_ + offset(box.lower), box.shape(), strides_);
    }
    /// The elements with index `i` in dimension `d`. \throws Error for an index out of range
    View<T, N - 1> slice(std::size_t d, std::int64_t i) const
        requires(N > 1)
    {
        if (d >= N || i < 0 || i >= shape_[d])
            throw Error("view: index " + std::to_string(i) + " of dimension " + std::to_string(d),
                        "a view has the indices from 0 up to its shape", "ask for one of these");
        Index<N - 1> shape{};
        Index<N - 1> strides{};
        for (std::size_t to = 0, from = 0; from < N; ++from) {
            if (from == d) continue;
            shape[to] = shape_[from];
            strides[to++] = strides_[from];
        }
        return View<T, N - 1>(data_ + i * strides_[d], shape, strides);
    }
    View<T, N - 1> at(std::int64_t i) const
        requires(N > 1)
    {
        return slice(0, i);
    }

    iterator begin() const { return iterator(*this, 0); }
    iterator end() const { return iterator(*this, size()); }

  private:
    std::int64_t offset(const Index<N>& i) const {
        std::int64_t sum = 0;
        for (std::size_t d = 0; d < N; ++d)
            sum += i[d] * strides_[d];
        return sum;
    }

    T* data_ = nullptr;
    Index<N> shape_{};
    Index<N> strides_{};
};

/// Valid as long as the memory, even after the view.
template <class T, std::size_t N>
class View<T, N>::iterator {
  public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_cv_t<T>;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    iterator() = default;
    iterator(const View& view, std::int64_t position) : view_(view) { move_to(position); }

    T& operator*() const { return *at_; }
    T* operator->() const { return at_; }
    T& operator[](difference_type n) const { return *(*this + n); }
    iterator& operator++() {
        ++position_;
        at_ += view_.strides_[N - 1];
        if (++index_[N - 1] == view_.shape_[N - 1]) [[unlikely]]
            move_to(position_);
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
    friend auto operator<=>(const iterator& a, const iterator& b) { return a.position_ <=> b.position_; }

  private:
    void move_to(std::int64_t position) {
        position_ = position;
        if (position < 0 || position >= view_.size()) return;  // an end
        for (std::size_t d = N; d-- > 0; position /= view_.shape_[d])
            index_[d] = position % view_.shape_[d];
        at_ = &view_[index_];
    }

    View view_;
    std::int64_t position_ = 0;
    Index<N> index_{};
    T* at_ = nullptr;
};

/// Elements, own or prefetched, that can be read in place in this process.
template <class T, std::size_t N>
struct Resident {
    View<const T, N> elements;
    /// Other threads of the rank may store the same values there: read word by word.
    bool shared = false;
    /// Whether the elements are resident.
    explicit operator bool() const { return elements.data() != nullptr; }
};

}  // namespace nearfetch
