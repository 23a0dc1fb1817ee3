// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/distribution.hpp>
#include <utility>

#include "python/any_elements.hpp"
#include "python/opaque.hpp"

namespace nearfetch::python {

template <std::size_t N>
Index<N> index_of(Indices i) {
    Index<N> index;
    std::copy_n(i.begin(), N, index.begin());
    return index;
}

/// As index_of, without a copy: a vector load of numbers just written one by one would stall. \pre the
/// numbers outlive it
template <std::size_t N>
const Index<N>& index_in_place(Indices i) {
    static_assert(sizeof(Index<N>) == N * sizeof(std::int64_t));
    return *reinterpret_cast<const Index<N>*>(i.data());
}

/// Several, without a copy.
template <std::size_t N>
std::span<const Index<N>> indices_in_place(Indices indices) {
    static_assert(sizeof(Index<N>) == N * sizeof(std::int64_t));
    return {reinterpret_cast<const Index<N>*>(indices.data()), indices.size() / N};
}

template <std::size_t N>
Box<N> box_of(const AnyBox& box) {
    return Box<N>(index_of<N>(box.lower), index_of<N>(box.upper));
}

/// Calls visit(index) for each index.
template <std::size_t N, class Visit>
void for_each(Indices indices, const Visit& visit) {
    for (; !indices.empty(); indices = indices.subspan(N))
        visit(index_of<N>(indices));
}

/// Implements AnyElements by a C++ array or matrix of N dimensions with opaque elements.
/// \tparam Any an interface derived from AnyElements
template <class Any, class Container, std::size_t Bytes, std::size_t N>
class ElementsOf : public Any {
  public:
    void read(Indices i, void* to) const override {
        const Opaque<Bytes> value = elements_.read(index_in_place<N>(i));
        std::memcpy(to, &value, Bytes);
    }
    void write(Indices i, const void* from) override {
        elements_.write(index_in_place<N>(i), value_at<Bytes>(from));
    }
    void gather(const char* what, std::span<const std::byte> own, std::byte* to) override {
        const detail::Collective call(what, {});
        gathering_.all(own.data(), own.size(), to);
    }

    PrefetchPattern prefetch_custom(const AnyTable& table, const Prefetch& how) override {
        std::vector<std::vector<Box<N>>> boxes(table.size());
        for (std::size_t r = 0; r < table.size(); ++r)
            for (const AnyBox& box : table[r])
                boxes[r].push_back(box_of<N>(box));
        return elements_.prefetch_custom(boxes, how);
    }
    PrefetchPattern prefetch_all_to_all(const Prefetch& how) override {
        return elements_.prefetch_all_to_all(how);
    }
    void update_prefetch() override { elements_.update_prefetch(); }
    PrefetchTransfer update_prefetch_async() override { return elements_.update_prefetch_async(); }
    void evict_prefetch() override { elements_.evict_prefetch(); }
    void evict_prefetch(PrefetchPattern pattern) override { elements_.evict_prefetch(pattern); }
    bool is_prefetched(Indices i) const override { return elements_.is_prefetched(index_of<N>(i)); }

  protected:
    template <class... Arguments>
    explicit ElementsOf(Arguments&&... arguments) : elements_(std::forward<Arguments>(arguments)...) {}

    // First: what an access reads.
    Container elements_;

  private:
    detail::Gathering gathering_;
};

}  // namespace nearfetch::python
