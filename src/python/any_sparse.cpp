// SPDX-License-Identifier: Apache-2.0
#include "python/any_sparse.hpp"

#include <cstring>
#include <nearfetch/error.hpp>
#include <string>

#include "python/opaque.hpp"

namespace nearfetch::python {

namespace {

template <std::size_t Bytes>
class SparseOf final : public AnySparse {
  public:
    using T = Opaque<Bytes>;

    explicit SparseOf(const SparsePlan& plan) : matrix_(plan.rows, plan.columns, triplets_of(plan)) {}

    std::int64_t non_zeros() const override { return matrix_.non_zeros(); }
    Rank owner(const Index<2>& i) const override { return matrix_.layout().owner(i); }
    SparseRows<std::byte> local() override {
        const SparseRows<T> own = matrix_.local();
        return {own.starts, own.columns, std::as_writable_bytes(own.values)};
    }

    void read(const Index<2>& i, void* to) const override {
        const T value = matrix_.read(i);
        std::memcpy(to, &value, Bytes);
    }
    void write(const Index<2>& i, const void* from) override { matrix_.write(i, value_at<Bytes>(from)); }
    bool contains(const Index<2>& i) const override { return matrix_.contains(i); }
    void read_many(std::span<const std::int64_t> indices, std::span<std::byte> to) const override {
        for (std::byte* element = to.data(); !indices.empty(); indices = indices.subspan(2)) {
            read({indices[0], indices[1]}, element);
            element += Bytes;
        }
    }
    void add(std::span<const std::int64_t> indices) override {
        std::vector<Index<2>> own;
        for (; !indices.empty(); indices = indices.subspan(2))
            own.push_back({indices[0], indices[1]});
        matrix_.add(own);
    }
    void gather(std::span<const std::byte> own, std::byte* to) override {
        gathering_.all(own.data(), own.size(), to);
    }

    void prefetch_custom(const Table& table, const Prefetch& how) override {
        matrix_.prefetch_custom(table, how);
    }
    void prefetch_all_to_all(const Prefetch& how) override { matrix_.prefetch_all_to_all(how); }
    void update_prefetch() override { matrix_.update_prefetch(); }
    PrefetchTransfer update_prefetch_async() override { return matrix_.update_prefetch_async(); }
    void evict_prefetch() override { matrix_.evict_prefetch(); }
    bool is_prefetched(const Index<2>& i) const override { return matrix_.is_prefetched(i); }

  private:
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

    SparseMatrix<T> matrix_;
    detail::Gathering gathering_;
};

}  // namespace

std::unique_ptr<AnySparse> make_any_sparse(const SparsePlan& plan) {
    return with_element_bytes(plan.element_bytes, [&](auto bytes) -> std::unique_ptr<AnySparse> {
        return std::make_unique<SparseOf<bytes>>(plan);
    });
}

}  // namespace nearfetch::python
