// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every job and its endpoints promise, however its ranks were started. The cases are collective, go one
// after the other on one job, whatever is in its segments, and hold for any number of ranks.

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

}  // namespace nearfetch::test
