// SPDX-License-Identifier: Apache-2.0
#include "python/any_array.hpp"

#include <nearfetch/detail/base/error.hpp>
#include <string>

#include "python/array_of.hpp"
#include "python/wide_array.hpp"

namespace nearfetch::python {

namespace {

template <Distribution D>
std::unique_ptr<AnyArray> make_distributed(const Plan& plan) {
    switch (plan.bounds.lower.size()) {
        case 1:
            return make_array_of<1, D>(plan);
        case 2:
            return make_array_of<2, D>(plan);
        case 3:
            return make_array_of<3, D>(plan);
        case 4:
            return make_array_of<4, D>(plan);
        default:
            throw Error("an array of " + std::to_string(plan.bounds.lower.size()) + " dimensions",
                        "there are arrays of 1 to 4", "use one of these");
    }
}

}  // namespace

PrefetchPattern AnyArray::prefetch(Pattern pattern, const Stencil& stencil, const Prefetch& how) {
    const std::size_t dimensions = grid().size();
    const auto lines = [&](const char* name, std::size_t dimension) {
        const detail::Collective call(name, Where::current());
        return prefetch_lines(dimension, how);
    };
    switch (pattern) {
        case Pattern::row_wise:
            return lines("prefetch_row_wise", dimensions - 1);
        case Pattern::column_wise:
            return lines("prefetch_column_wise", 0);
        case Pattern::transpose:
            if (dimensions != 2)
                throw Error("prefetch_transpose: an array of " + std::to_string(dimensions) + " dimensions",
                            "a matrix has two", "use prefetch_custom");
            return prefetch_transposed(how);
        default:
            return prefetch_stencil(stencil, how);
    }
}

std::unique_ptr<AnyArray> make_any_array(DistributionKind kind, const Plan& plan) {
    if (!is_compiled_for(plan.element_bytes)) return std::make_unique<WideArray>(kind, plan);
    switch (kind) {
        case DistributionKind::block:
            return make_distributed<Block>(plan);
        case DistributionKind::cyclic:
            return make_distributed<Cyclic>(plan);
        default:
            return make_distributed<BlockCyclic>(plan);
    }
}

}  // namespace nearfetch::python
