// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <tuple>
#include <utility>

#include "python/any_sparse.hpp"
#include "python/array_binding.hpp"
#include "python/keys.hpp"
#include "python/memory.hpp"
#include "python/transfer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

using Ints = std::vector<std::int64_t>;

class Sparse {
  public:
    explicit Sparse(const SparsePlan& plan) : matrix_(make(plan)), keys_({0, 0}, {plan.rows, plan.columns}) {}

    AnySparse& any() const { return *matrix_; }
    const Keys& keys() const { return keys_; }
    const Views& views() const { return views_; }

    /// Where single elements come and go; the Python side keeps it.
    void set_cell(std::uintptr_t cell) { cell_ = reinterpret_cast<void*>(cell); }

    /// \return false: the key names something else than an element
    bool read(nb::handle key) const {
        return with_index(key, [this](const Index<2>& i) { matrix_->read(i, cell_); });
    }
    bool write(nb::handle key) const {
        return with_index(key, [this](const Index<2>& i) { matrix_->write(i, cell_); });
    }
    void read_many(nb::handle indices, nb::handle to) const {
        const Buffer from(indices, false), buffer(to, true);
        const AnySparse& matrix = *matrix_;
        buffer.move([&] { matrix.read_many(from.elements<const std::int64_t>(), buffer.bytes()); });
    }
    void add(nb::handle indices) const {
        const Buffer from(indices, false);
        AnySparse& matrix = *matrix_;
        const nb::gil_scoped_release unlocked;
        matrix.add(from.elements<const std::int64_t>());
    }
    /// Starts, columns and values; the first two are not to be written to. \param self this one
    std::tuple<nb::object, nb::object, nb::object> local(nb::handle self) const {
        const SparseRows<std::byte> own = matrix_->local();
        return {numbers(own.starts, self), numbers(own.columns, self),
                views_.of(own.values, true, matrix_.rank(), self)};
    }

  private:
    static Held<AnySparse> make(const SparsePlan& plan) {
        std::unique_ptr<AnySparse> matrix;
        {
            const nb::gil_scoped_release unlocked;
            matrix = make_any_sparse(plan);
        }
        return Held<AnySparse>(std::move(matrix));
    }
    template <class Use>
    bool with_index(nb::handle key, const Use& use) const {
        std::array<std::int64_t, 4> room;
        const std::span<const std::int64_t> index = keys_.index_of(key, room);
        if (!index.empty()) use(Index<2>{index[0], index[1]});
        return !index.empty();
    }
    nb::object numbers(std::span<const std::int64_t> own, nb::handle self) const {
        const auto bytes = std::as_bytes(own);
        return views_.of({const_cast<std::byte*>(bytes.data()), bytes.size()}, false, matrix_.rank(), self);
    }

    Held<AnySparse> matrix_;
    Keys keys_;
    Views views_;
    void* cell_ = nullptr;
};

Index<2> index_of(const Ints& i) { return {i.at(0), i.at(1)}; }

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

void define_patterns(nb::class_<Sparse>& matrix) {
    matrix.def(
        "prefetch_custom",
        [](const Sparse& self, const std::vector<std::vector<std::pair<Ints, Ints>>>& table, bool consistent,
           bool fixed) {
            AnySparse::Table boxes(table.size());
            for (std::size_t r = 0; r < table.size(); ++r)
                for (const auto& [lower, upper] : table[r])
                    boxes[r].push_back(Box<2>(index_of(lower), index_of(upper)));
            self.any().prefetch_custom(boxes, {consistent, fixed});
        },
        "table"_a, "consistent"_a, "static_domain"_a, Unlocked());
    matrix.def(
        "prefetch_all_to_all",
        [](const Sparse& self, bool consistent, bool fixed) {
            self.any().prefetch_all_to_all({consistent, fixed});
        },
        "consistent"_a, "static_domain"_a, Unlocked());
    matrix.def("update_prefetch", [](const Sparse& self) { self.any().update_prefetch(); }, Unlocked());
    matrix.def(
        "update_prefetch_async",
        [](const Sparse& self) { return Transfer(self.any().update_prefetch_async()); },
        nb::keep_alive<0, 1>());
    matrix.def("evict_prefetch", [](const Sparse& self) { self.any().evict_prefetch(); });
    matrix.def(
        "is_prefetched",
        [](const Sparse& self, const Ints& i) { return self.any().is_prefetched(index_of(i)); }, "index"_a);
}

}  // namespace

void define_sparse(nb::module_& module) {
    module.def(
        "rows_of", [](Rank rank, std::int64_t rows) { return detail::SparseStructure::rows_of(rank, rows); },
        "rank"_a, "rows"_a, "The rows of a sparse matrix that a rank owns: the first, and the end.");
    nb::class_<Sparse> matrix(module, "Sparse");
    matrix.def(
        "__init__",
        [](Sparse* self, std::size_t element_bytes, std::int64_t rows, std::int64_t columns,
           nb::handle starts, nb::handle indices, nb::handle values) {
            const Buffer from(starts, false), where(indices, false), what(values, false);
            new (self) Sparse(
                {element_bytes,
                 rows,
                 columns,
                 {from.elements<const std::int64_t>(), where.elements<const std::int64_t>(), what.bytes()}});
        },
        "element_bytes"_a, "rows"_a, "columns"_a, "starts"_a, "indices"_a, "values"_a);
    matrix.def("set_cell", &Sparse::set_cell, "address"_a);
    matrix.def("read", &Sparse::read, "key"_a.none());
    matrix.def("write", &Sparse::write, "key"_a.none());
    matrix.def("read_many", &Sparse::read_many, "indices"_a, "to"_a);
    matrix.def(
        "resolve",
        [](const Sparse& self, std::int64_t i, std::size_t d) { return self.keys().resolve(i, d); },
        "index"_a, "dimension"_a);
    matrix.def(
        "contains", [](const Sparse& self, const Ints& i) { return self.any().contains(index_of(i)); },
        "index"_a);
    matrix.def(
        "owner", [](const Sparse& self, const Ints& i) { return self.any().owner(index_of(i)); }, "index"_a);
    matrix.def("non_zeros", [](const Sparse& self) { return self.any().non_zeros(); });
    matrix.def("local", [](nb::handle self) { return nb::cast<const Sparse&>(self).local(self); });
    matrix.def("views", [](const Sparse& self) { return self.views().count(); });
    matrix.def("add", &Sparse::add, "indices"_a);
    matrix.def(
        "gather",
        [](const Sparse& self, nb::handle own, nb::handle to) {
            const Buffer from(own, false), all(to, true);
            const nb::gil_scoped_release unlocked;
            self.any().gather(from.bytes(), all.bytes().data());
        },
        "own"_a, "to"_a);
    define_patterns(matrix);
}

}  // namespace nearfetch::python
