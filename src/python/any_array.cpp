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

void require_matrix(std::size_t dimensions) {
    if (dimensions != 2)
        throw Error("prefetch_transpose: an array of " + std::to_string(dimensions) + " dimensions",
                    "a matrix has two", "use prefetch_custom");
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
