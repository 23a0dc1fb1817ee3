// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "common/command_line.hpp"

namespace nearfetch::assimilation {

struct Options {
    apps::CommonOptions common;
    int elements = 960;
    int members = 20;
    int observations = 1920;  ///< of a cycle
    int span = 4;             ///< elements that an observation is the mean of
    int cycles = 5;
    int steps = 2;           ///< of the model, before each cycle's observations
    double cutoff = 4;       ///< half the distance from which on an observation changes nothing, in elements
    double error = 1;        ///< standard deviation of an observation's error
    double inflation = 1.1;  ///< factor of the ensembles' variances before each cycle's observations
    std::uint64_t seed = 1;
    bool check = true;
};

apps::Parsed parse_options(int argc, const char* const* argv, Options& options);

}  // namespace nearfetch::assimilation
