// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "assimilation/options.hpp"

namespace nearfetch::assimilation {

/// Random numbers that the Fortran program has, too: no product in this generator exceeds 63 bits.
class PortableRandom {
  public:
    /// Streams of one seed are told apart by their number.
    PortableRandom(std::uint64_t seed, std::uint64_t stream);

    /// From 1 to 2^31 - 2.
    std::uint64_t next() { return engine_(); }

    /// Mean 0 and variance 1, and nearly normal: a sum of 12 uniform numbers.
    double normal();

  private:
    std::minstd_rand engine_;
};

/// Advances `state` by time steps of Lorenz's model of 1996, a ring of at least 4 elements, by Runge and
/// Kutta's method of fourth order.
void advance(std::vector<double>& state, int steps);

struct Observation {
    int first = 0;  ///< it is the mean of `span` elements from here on
    double value = 0;
};

/// The true state, which the filter does not know, and the observations of it. All ranks compute the same.
class Nature {
  public:
    explicit Nature(const Options& options);

    void advance();
    std::vector<Observation> observe(int cycle) const;

    /// Root mean square of the differences between the ensembles' means and the truth.
    /// @param ensembles members of element 0, then those of element 1, ...
    double error(const std::vector<double>& ensembles) const;

  private:
    const Options& options_;
    std::vector<double> truth_;
};

/// The state that a member of the ensemble begins with; it knows nothing of the truth.
std::vector<double> first_member(const Options& options, int member);

/// A number that tells two sequences of doubles apart by their bits.
std::uint64_t digest(const std::vector<double>& values);

}  // namespace nearfetch::assimilation
