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

    explicit SparseOf(const SparsePlan& plan) : Base(plan.rows, plan.columns, rows_of(plan.own)) {}

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
    static SparseRows<const T> rows_of(const SparseRows<const std::byte>& own) {
        return {own.starts,
                own.columns,
                {reinterpret_cast<const T*>(own.values.data()), own.values.size() / Bytes}};
    }
};

}  // namespace

std::unique_ptr<AnySparse> make_any_sparse(const SparsePlan& plan) {
    return with_element_bytes(plan.element_bytes, [&](auto bytes) -> std::unique_ptr<AnySparse> {
        return std::make_unique<SparseOf<bytes>>(plan);
    });
}

}  // namespace nearfetch::python
