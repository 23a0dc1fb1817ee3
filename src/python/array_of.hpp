// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <nearfetch/array.hpp>

#include "python/accesses_of.hpp"
#include "python/any_array.hpp"
#include "python/gather_of.hpp"

namespace nearfetch::python {

template <std::size_t Bytes, std::size_t N, Distribution D>
class ArrayOf final : public AccessesOf<Bytes, N, D> {
  public:
    using T = Opaque<Bytes>;
    using Array = DistributedArray<T, N, D>;
    using Base = AccessesOf<Bytes, N, D>;

    explicit ArrayOf(const Plan& plan)
        : Base(box_of<N>(plan.bounds), grid_of(plan), block_of(plan), plan.halo) {}

    const Array& array() const noexcept { return elements_; }

    std::vector<Rank> grid() const override {
        return {elements_.layout().grid().begin(), elements_.layout().grid().end()};
    }
    Rank owner(Indices i) const override { return elements_.owner(index_of<N>(i)); }
    std::vector<std::int64_t> local_shape(Rank of) const override {
        return list(elements_.layout().local_shape(of));
    }
    std::span<std::byte> local() const override { return bytes_of(elements_.local()); }
    std::span<std::byte> with_halo(std::int64_t depth, bool periodic) override {
        return bytes_of(elements_.with_halo(depth, periodic));
    }
    detail::IndexRanges local_indices(std::size_t dimension) const override {
        return detail::owned_ranges(elements_.layout(), rank(), dimension);
    }

    void fill(const void* value) override { elements_.fill(value_at<Bytes>(value)); }
    void assign(const AnyArray& from, std::span<const std::size_t> axes) override {
        if (axes.size() != N)
            throw Error("assign with " + std::to_string(axes.size()) + " axes",
                        "the array has " + std::to_string(N) + " dimensions", "name each of them");
        Axes<N> order;
        std::ranges::copy(axes, order.begin());
        if (!assign_from<Block>(from, order) && !assign_from<Cyclic>(from, order) &&
            !assign_from<BlockCyclic>(from, order))
            throw Error("assign: an array of another kind", "elements are copied as they are",
                        "use arrays of the same dtype and as many dimensions");
    }
    void resize(const Plan& plan) override {
        elements_.resize(box_of<N>(plan.bounds),
                         plan.grid.empty() ? elements_.layout().grid() : grid_of(plan));
    }
    PrefetchPattern prefetch_stencil(const Stencil& stencil, const Prefetch& how) override {
        return elements_.prefetch_stencil(stencil, how);
    }
    PrefetchPattern prefetch_lines(std::size_t dimension, const Prefetch& how) override {
        return elements_.prefetch_lines(dimension, how);
    }
    PrefetchPattern prefetch_transposed(const Prefetch& how) override {
        if constexpr (N >= 2)
            return elements_.prefetch_transpose(how);
        else
            throw Error("a line has no transpose");
    }
    void observe(std::uint64_t most_bytes) override { elements_.observe(most_bytes); }
    Observation observed() const override { return elements_.observed(); }
    Observation prefetch_observed(const Prefetch& how) override { return elements_.prefetch_observed(how); }
    PrefetchTransfer prefetch_stencil_async(const Stencil& stencil, const Prefetch& how) override {
        return elements_.prefetch_stencil_async(stencil, how);
    }
    std::unique_ptr<AnyGather> make_gather(Indices indices, Items items) const override {
        if constexpr (N > 1)
            if (items == Items::rows)
                return std::make_unique<GatherOf<Gather<Row<Opaque<Bytes>>, D, N - 1>>>(elements_, indices);
        return std::make_unique<GatherOf<Gather<Opaque<Bytes>, D, N>>>(elements_, indices);
    }

  private:
    using Base::elements_;
    /// \pre contiguous
    static std::span<std::byte> bytes_of(const View<T, N>& view) {
        if (view.empty()) return {};
        return std::as_writable_bytes(std::span(view.data(), static_cast<std::size_t>(view.size())));
    }
    static std::vector<std::int64_t> list(const Index<N>& i) { return {i.begin(), i.end()}; }
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
    bool assign_from(const AnyArray& from, const Axes<N>& axes) {
        const auto* const other = dynamic_cast<const ArrayOf<Bytes, N, Other>*>(&from);
        if (other != nullptr) elements_.assign(other->array(), axes);
        return other != nullptr;
    }
};

/// For one dimension and distribution; each has its own source file.
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
