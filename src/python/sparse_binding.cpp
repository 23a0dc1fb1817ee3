// SPDX-License-Identifier: Apache-2.0
#include "python/array_binding.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "python/any_sparse.hpp"
#include "python/elements_binding.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

class Sparse : public Elements<AnySparse> {
  public:
    explicit Sparse(const SparsePlan& plan)
        : Elements(Keys({0, 0}, {plan.rows, plan.columns}), [&] { return make_any_sparse(plan); }) {}

    bool contains(const Ints& i) const { return any().contains(checked(i)); }
    void add(nb::handle indices) const {
        const Buffer from(indices, false);
        AnySparse& matrix = any();
        const nb::gil_scoped_release unlocked;
        matrix.add(from.elements<const std::int64_t>());
    }
    /// Starts, columns and values; the first two are read-only. \param self this object's Python handle
    std::tuple<nb::object, nb::object, nb::object> local(nb::handle self) const {
        const SparseRows<std::byte> own = any().local();
        return {view(std::as_bytes(own.starts), false, self), view(std::as_bytes(own.columns), false, self),
                view(own.values, true, self)};
    }
};

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
    matrix.def("contains", &Sparse::contains, "index"_a);
    matrix.def("non_zeros", [](const Sparse& self) { return self.any().non_zeros(); });
    matrix.def("add", &Sparse::add, "indices"_a);
    define_elements(matrix);
}

}  // namespace nearfetch::python
