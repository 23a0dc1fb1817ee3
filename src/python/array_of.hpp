// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <nearfetch/array.hpp>

#include "python/any_array.hpp"
#include "python/opaque.hpp"

namespace nearfetch::python {

template <std::size_t N>
Index<N> index_of(Indices i) {
    Index<N> index;
    std::copy_n(i.begin(), N, index.begin());
    return index;
}

template <std::size_t N>
Box<N> box_of(const AnyBox& box) {
    return Box<N>(index_of<N>(box.lower), index_of<N>(box.upper));
}

template <std::size_t Bytes, std::size_t N, Distribution D>
class ArrayOf final : public AnyArray {
  public:
    using T = Opaque<Bytes>;
    using Array = DistributedArray<T, N, D>;

    explicit ArrayOf(const Plan& plan) : array_(bounds_of(plan), grid_of(plan), block_of(plan)) {}

    Array& array() noexcept { return array_; }
    const Array& array() const noexcept { return array_; }

    std::size_t element_bytes() const noexcept override { return Bytes; }
    std::vector<std::int64_t> lower() const override { return list(array_.bounds().lower); }
    std::vector<std::int64_t> upper() const override { return list(array_.bounds().upper); }
    std::vector<Rank> grid() const override {
        return {array_.layout().grid().begin(), array_.layout().grid().end()};
    }
    Rank owner(Indices i) const override { return array_.owner(index_of<N>(i)); }
    std::vector<std::int64_t> local_shape() const override {
        return list(array_.layout().local_shape(rank()));
    }
    std::span<std::byte> local() const override {
        const View<T, N> own = array_.local();
        if (own.empty()) return {};
        return std::as_writable_bytes(std::span(own.data(), static_cast<std::size_t>(own.size())));
    }
    detail::IndexRanges local_indices(std::size_t dimension) const override {
        return detail::owned_ranges(array_.layout(), rank(), dimension);
    }

    void read(Indices i, void* to) const override {
        const T value = array_.read(index_of<N>(i));
        std::memcpy(to, &value, Bytes);
    }
    void write(Indices i, const void* from) override { array_.write(index_of<N>(i), value_at<Bytes>(from)); }
    void read_many(Indices indices, std::span<std::byte> to) const override {
        std::byte* element = to.data();
        for_each(indices, [&](const Index<N>& i) {
            const T value = array_.read(i);
            std::memcpy(element, &value, Bytes);
            element += Bytes;
        });
    }
    void get(const AnyBox& any, std::span<std::byte> to) const override {
        array_.get(box_of<N>(any), std::span(reinterpret_cast<T*>(to.data()), to.size() / Bytes));
    }
    void put(const AnyBox& any, std::span<const std::byte> from) override {
        array_.put(box_of<N>(any), std::span(reinterpret_cast<const T*>(from.data()), from.size() / Bytes));
    }
    void fill(const void* value) override { array_.fill(value_at<Bytes>(value)); }
    void assign(const AnyArray& from) override {
        if (!assign_from<Block>(from) && !assign_from<Cyclic>(from) && !assign_from<BlockCyclic>(from))
            throw Error("assign: an array of another kind", "elements are copied as they are",
                        "use arrays of the same dtype and as many dimensions");
    }
    void gather(std::span<const std::byte> own, std::byte* to) override {
        gathering_.all(own.data(), own.size(), to);
    }
    void resize(const Plan& plan) override {
        array_.resize(bounds_of(plan), plan.grid.empty() ? array_.layout().grid() : grid_of(plan));
    }
    void contribute(Indices indices, std::span<const std::byte> values, Add add) override {
        for_each(indices, [&](const Index<N>& i) {
            if (array_.own(i) == nullptr && !array_.is_prefetched(i)) detail::not_a_ghost(i);
        });
        const std::byte* value = values.data();
        for_each(indices, [&](const Index<N>& i) {
            array_.contribute(i, value_at<Bytes>(value), Adding{add});
            value += Bytes;
        });
    }
    void accumulate_ghosts(Add add) override { array_.accumulate_ghosts(Adding{add}); }

    void prefetch(Pattern pattern, std::int64_t depth, bool corners, const Prefetch& how) override {
        switch (pattern) {
            case Pattern::stencil:
                array_.prefetch_stencil(depth, corners, how);
                break;
            case Pattern::row_wise:
                array_.prefetch_row_wise(how);
                break;
            case Pattern::column_wise:
                array_.prefetch_column_wise(how);
                break;
            case Pattern::transpose:
                if constexpr (N == 2)
                    array_.prefetch_transpose(how);
                else
                    throw Error("prefetch_transpose: an array of " + std::to_string(N) + " dimensions",
                                "a matrix has two", "use prefetch_custom");
                break;
            case Pattern::all_to_all:
                array_.prefetch_all_to_all(how);
                break;
        }
    }
    void prefetch_custom(const std::vector<std::vector<AnyBox>>& table, const Prefetch& how) override {
        std::vector<std::vector<Box<N>>> boxes(table.size());
        for (std::size_t r = 0; r < table.size(); ++r)
            for (const AnyBox& box : table[r])
                boxes[r].push_back(box_of<N>(box));
        array_.prefetch_custom(boxes, how);
    }
    void observe(std::uint64_t most_bytes) override { array_.observe(most_bytes); }
    Observation observed() const override { return array_.observed(); }
    Observation prefetch_observed(const Prefetch& how) override { return array_.prefetch_observed(how); }
    void update_prefetch() override { array_.update_prefetch(); }
    PrefetchTransfer update_prefetch_async() override { return array_.update_prefetch_async(); }
    PrefetchTransfer prefetch_stencil_async(std::int64_t depth, bool corners, const Prefetch& how) override {
        return array_.prefetch_stencil_async(depth, corners, how);
    }
    void evict_prefetch() override { array_.evict_prefetch(); }
    bool is_prefetched(Indices i) const override { return array_.is_prefetched(index_of<N>(i)); }

  private:
    struct Adding {
        Add add;
        void operator()(T& sum, const T& value) const { add(&sum, &value); }
    };
    template <class Visit>
    static void for_each(Indices indices, const Visit& visit) {
        for (; !indices.empty(); indices = indices.subspan(N))
            visit(index_of<N>(indices));
    }
    static std::vector<std::int64_t> list(const Index<N>& i) { return {i.begin(), i.end()}; }
    static Box<N> bounds_of(const Plan& plan) {
        return Box<N>(index_of<N>(plan.lower), index_of<N>(plan.upper));
    }
    static std::array<Rank, N> grid_of(const Plan& plan) {
        if (plan.grid.empty()) return balanced_grid<N>(ranks());
        std::array<Rank, N> grid;
        std::copy_n(plan.grid.begin(), N, grid.begin());
        return grid;
    }
    static Index<N> block_of(const Plan& plan) {
        return plan.block.empty() ? Layout<N, D>::ones() : index_of<N>(plan.block);
    }
    static Rank rank() { return nearfetch::rank(); }

    template <Distribution Other>
    bool assign_from(const AnyArray& from) {
        const auto* const other = dynamic_cast<const ArrayOf<Bytes, N, Other>*>(&from);
        if (other != nullptr) array_.assign(other->array());
        return other != nullptr;
    }

    Array array_;
    detail::Gathering gathering_;
};

/// For one number of dimensions and one distribution; each has a source file of its own.
template <std::size_t N, Distribution D>
std::unique_ptr<AnyArray> make_array_of(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<1, Block>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<2, Block>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<3, Block>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<4, Block>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<1, Cyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<2, Cyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<3, Cyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<4, Cyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<1, BlockCyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<2, BlockCyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<3, BlockCyclic>(const Plan& plan);
template <>
std::unique_ptr<AnyArray> make_array_of<4, BlockCyclic>(const Plan& plan);

}  // namespace nearfetch::python
