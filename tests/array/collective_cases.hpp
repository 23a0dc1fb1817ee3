// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs in which rank 0 calls another collective function than the other ranks, or the same with other
// arguments. The error is caught in all ranks, so one program can run all cases.

#include <functional>
#include <nearfetch/array.hpp>
#include <nearfetch/sparse.hpp>
#include <string>
#include <vector>

namespace nearfetch::test {

struct CollectiveArrays {
    BlockArray<long, 1> a{Index<1>{12}};
    BlockArray<long, 1> b{Index<1>{12}};
    SparseMatrix<double> s{4, 4};
};

using CollectiveUse = std::function<void(CollectiveArrays&)>;

struct Mismatch {
    const char* title;
    const char* odd;  ///< rank 0's call
    CollectiveUse of_rank_0;
    const char* even;  ///< the other ranks' call
    CollectiveUse of_others;
};

inline long largest(BlockArray<long, 1>& a) {
    return a.reduce(0L, [](long x, long y) { return x > y ? x : y; });
}

inline const std::vector<Mismatch>& mismatches() {
    using A = CollectiveArrays;
    static const CollectiveUse wait = [](A&) { barrier(); };
    static const std::vector<Mismatch> all = {
        {"sum_barrier", "sum", [](A& x) { x.a.sum(); }, "barrier", wait},
        {"barrier_sum", "barrier", wait, "sum", [](A& x) { x.a.sum(); }},
        {"sum_reduce", "sum", [](A& x) { x.a.sum(); }, "reduce", [](A& x) { largest(x.a); }},
        {"two_types_of_reduce", "reduce", [](A& x) { largest(x.a); }, "reduce",
         [](A& x) { x.a.reduce(0, std::plus<>()); }},
        {"sums_of_two_arrays", "sum", [](A& x) { x.a.sum(); }, "sum", [](A& x) { x.b.sum(); }},
        {"sums_of_dense_and_sparse", "sum", [](A& x) { x.a.sum(); }, "sum", [](A& x) { x.s.sum(); }},
        {"fill_barrier", "fill", [](A& x) { x.a.fill(1); }, "barrier", wait},
        {"two_values_of_fill", "fill", [](A& x) { x.a.fill(1); }, "fill", [](A& x) { x.a.fill(2); }},
        {"fills_of_two_arrays", "fill", [](A& x) { x.a.fill(1); }, "fill", [](A& x) { x.b.fill(1); }},
        {"array_barrier", "DistributedArray", [](A&) { BlockArray<long, 1>({9}); }, "barrier", wait},
        {"arrays_of_two_sizes", "DistributedArray", [](A&) { BlockArray<long, 1>({9}); }, "DistributedArray",
         [](A&) { BlockArray<long, 1>({10}); }},
        {"arrays_of_two_types", "DistributedArray", [](A&) { BlockArray<long, 1>({9}); }, "DistributedArray",
         [](A&) { BlockArray<int, 1>({9}); }},
        {"array_sparse", "DistributedArray", [](A&) { BlockArray<long, 1>({9}); }, "SparseMatrix",
         [](A&) { SparseMatrix<double>(5, 5); }},
        {"assign_fill", "assign", [](A& x) { x.a.assign(x.b); }, "fill", [](A& x) { x.a.fill(3); }},
        {"assign_both_ways", "assign", [](A& x) { x.a.assign(x.b); }, "assign",
         [](A& x) { x.b.assign(x.a); }},
        {"resize_sum", "resize", [](A& x) { x.a.resize({20}); }, "sum", [](A& x) { x.a.sum(); }},
        {"two_resizes", "resize", [](A& x) { x.a.resize({20}); }, "resize", [](A& x) { x.a.resize({21}); }},
        {"two_depths_of_stencil", "prefetch_stencil", [](A& x) { x.b.prefetch_stencil(1); },
         "prefetch_stencil", [](A& x) { x.b.prefetch_stencil(2); }},
        {"two_patterns", "prefetch_row_wise", [](A& x) { x.b.prefetch_row_wise(); }, "prefetch_all_to_all",
         [](A& x) { x.b.prefetch_all_to_all(); }},
        {"observed_barrier", "prefetch_observed",
         [](A& x) {
             x.b.observe();
             x.b.prefetch_observed();
         },
         "barrier", wait},
        {"a_pattern_without_a_barrier", "fill",
         [](A& x) {
             x.b.prefetch_all_to_all({.barrier = false});
             x.b.fill(3);
         },
         "fill", [](A& x) { x.b.fill(3); }},
        {"ghosts_barrier", "accumulate_ghosts", [](A& x) { x.a.accumulate_ghosts(); }, "barrier", wait},
        {"sparse_add_sum", "add", [](A& x) { x.s.add({}); }, "sum", [](A& x) { x.s.sum(); }},
        {"sparse_rows_dense_rows", "prefetch_rows",
         [](A& x) { x.s.prefetch_rows(std::vector<detail::IndexRanges>(static_cast<std::size_t>(ranks()))); },
         "prefetch_row_wise", [](A& x) { x.b.prefetch_row_wise(); }},
    };
    return all;
}

/// The error of the calling rank; empty if there is none, or it is not the expected one.
inline std::string told_of(const Mismatch& one, CollectiveArrays& arrays) {
    const auto in = [](const std::string& who, const char* what) {
        return who + " in " + what + " at " + __FILE__ + ":";
    };
    try {
        (rank() == 0 ? one.of_rank_0 : one.of_others)(arrays);
    } catch (const CollectiveError& error) {
        const std::string text = error.what();
        const std::string others = ranks() == 2   ? "rank 1"
                                   : ranks() == 3 ? "ranks 1 and 2"
                                                  : "ranks 1 to " + std::to_string(ranks() - 1);
        const bool names_both = text.find(in("rank 0", one.odd)) != std::string::npos &&
                                text.find(in(others, one.even)) != std::string::npos;
        return names_both ? text : "";
    }
    return "";
}

}  // namespace nearfetch::test
