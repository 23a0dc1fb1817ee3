// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "assimilation/options.hpp"

namespace nearfetch::assimilation {

/// What the program has to arrive at, computed without communication.
struct Reference {
    std::vector<double> ensembles;  ///< members of element 0, then those of element 1, ...
    double error_without = 0;       ///< of the ensemble's mean if nothing is assimilated
};

Reference run_serially(const Options& options);

}  // namespace nearfetch::assimilation
