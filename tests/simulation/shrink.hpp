// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nearfetch::simulation {

/// Removes operations as long as the program still fails, in ever smaller ranges (Zeller and Hildebrandt
/// 2002, "Simplifying and isolating failure-inducing input", without tests of subsets), and then shortens
/// ranges. At most `runs` runs.
template <class Op, class Fails>
std::vector<Op> shrunk(std::vector<Op> ops, Fails&& fails, int runs) {
    for (std::size_t run = ops.size() / 2 + 1; run > 0 && runs > 0;) {
        bool changed = false;
        for (std::size_t end = ops.size(); end > 0 && runs > 0;) {
            const std::size_t begin = end > run ? end - run : 0;
            std::vector<Op> fewer;
            for (std::size_t i = 0; i < ops.size(); ++i)
                if (i < begin || i >= end) fewer.push_back(ops[i]);
            if (--runs, fails(fewer)) {
                ops = std::move(fewer);
                changed = true;
            }
            end = begin;
        }
        if (run > 1)
            run = run / 2;
        else if (!changed)
            break;
    }
    for (std::size_t i = 0; i < ops.size(); ++i)
        while (ops[i].size_bytes > 1 && runs-- > 0) {
            const std::uint64_t size = ops[i].size_bytes;
            ops[i].size_bytes = size > 16 ? size / 2 : size - 1;
            if (fails(ops)) continue;
            ops[i].size_bytes = size;
            break;
        }
    return ops;
}

}  // namespace nearfetch::simulation
