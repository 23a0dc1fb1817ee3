// SPDX-License-Identifier: Apache-2.0
#include "python/any_sparse.hpp"

#include <vector>

#include "python/elements_of.hpp"

namespace nearfetch::python {

namespace {

template <std::size_t Bytes>
class SparseOf final : public ElementsOf<AnySparse, SparseMatrix<Opaque<Bytes>>, Bytes, 2> {
  public:
    using T = Opaque<Bytes>;
    using Base = ElementsOf<AnySparse, SparseMatrix<T>, Bytes, 2>;

    explicit SparseOf(const SparsePlan& plan) : Base(plan.rows, plan.columns, triplets_of(plan)) {}

    /// One by one, through the cache.
    void read_many(Indices indices, std::span<std::byte> to) const override {
        std::byte* element = to.data();
        for (; !indices.empty(); indices = indices.subspan(2), element += Bytes)
            this->read(indices, element);
    }
    std::int64_t non_zeros() const override { return elements_.non_zeros(); }
    Rank owner(Indices i) const override { return elements_.layout().owner(index_of<2>(i)); }
    SparseRows<std::byte> local() override {
        const SparseRows<T> own = elements_.local();
        return {own.starts, own.columns, std::as_writable_bytes(own.values)};
    }
    bool contains(Indices i) const override { return elements_.contains(index_of<2>(i)); }
    void add(Indices indices) override {
        std::vector<Index<2>> own;
        for_each<2>(indices, [&](const Index<2>& i) { own.push_back(i); });
        elements_.add(own);
    }

  private:
    using Base::elements_;
    static std::vector<Triplet<T>> triplets_of(const SparsePlan& plan) {
        const std::int64_t first = SparseMatrix<T>::rows_of(rank(), plan.rows).first;
        std::vector<Triplet<T>> triplets;
        triplets.reserve(plan.own.columns.size());
        for (std::size_t row = 0; row + 1 < plan.own.starts.size(); ++row)
            for (auto n = static_cast<std::size_t>(plan.own.starts[row]);
                 n < static_cast<std::size_t>(plan.own.starts[row + 1]); ++n)
                triplets.push_back({first + static_cast<std::int64_t>(row), plan.own.columns[n],
                                    value_at<Bytes>(plan.own.values.data() + n * Bytes)});
        return triplets;
    }
};

}  // namespace

std::unique_ptr<AnySparse> make_any_sparse(const SparsePlan& plan) {
    return with_element_bytes(plan.element_bytes, [&](auto bytes) -> std::unique_ptr<AnySparse> {
        return std::make_unique<SparseOf<bytes>>(plan);
    });
}

}  // namespace nearfetch::python
