// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract of every job and its endpoints. The cases are collective and run one after another on one job,
// with any contents of its segments and any number of ranks.

#include <ostream>
#include <span>

#include "transport/job.hpp"

namespace nearfetch::test {

struct ContractCase {
    const char* name;
    void (*run)(Job& job);

    friend std::ostream& operator<<(std::ostream& out, const ContractCase& which) {
        return out << which.name;
    }
};

std::span<const ContractCase> contract_cases();

// Those of segment_cases.cpp.
void added_segments_are_as_the_first(Job& job);
void too_much_memory_is_refused_alike(Job& job);

}  // namespace nearfetch::test
