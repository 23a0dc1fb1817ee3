// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "assimilation/model.hpp"
#include "assimilation/options.hpp"

namespace nearfetch::assimilation {

double mean(std::span<const double> values);

/// Multiplies the ensemble's variance; its mean stays.
void inflate(std::span<double> ensemble, double factor);

/// How much an observation counts at a distance: 1 at 0, falling to 0 at twice the cutoff.
/// Source: G. Gaspari and S. E. Cohn, *Construction of correlation functions in two and three dimensions*,
/// 1999, equation 4.10.
double localization(double distance, double cutoff);

/// What one observation does to the ensembles of an ensemble adjustment Kalman filter.
/// Source: J. L. Anderson, *A local least squares framework for ensemble filtering*, 2003.
class Update {
  public:
    explicit Update(int members);

    /// @param prior the ensemble of what is observed
    void compute(std::span<const double> prior, double observed, double error_variance);

    /// Moves another ensemble by its regression on what is observed.
    void regress(std::span<double> ensemble, double weight) const;

    /// All that it consists of, to hand it on to other ranks.
    std::vector<double>& data() { return data_; }

  private:
    std::span<const double> prior() const { return {data_.data() + 2, members_}; }
    std::span<const double> increments() const { return {data_.data() + 2 + members_, members_}; }

    std::size_t members_;
    std::vector<double> data_;  ///< mean and variance of what is observed, its ensemble, the increments
};

/// Where an observation is on the ring of elements, and how far away others are.
class Ring {
  public:
    explicit Ring(const Options& options)
        : elements_(options.elements), middle_((options.span - 1) / 2.0), cutoff_(options.cutoff) {}

    double centre(const Observation& observation) const { return observation.first + middle_; }

    /// The weight of an observation at `centre` for what is at `place`.
    double weight(double centre, double place) const {
        const double apart = std::fmod(std::abs(centre - place), elements_);
        return localization(std::min(apart, elements_ - apart), cutoff_);
    }

    /// Calls `visit(element, weight)` for each element that an observation at `centre` may change.
    template <typename Visit>
    void for_each_in_reach(double centre, Visit visit) const {
        const int last = static_cast<int>(std::floor(centre + 2 * cutoff_));
        for (int i = static_cast<int>(std::ceil(centre - 2 * cutoff_)); i <= last; ++i) {
            const double factor = weight(centre, i);
            if (factor > 0) visit((i + elements_) % elements_, factor);
        }
    }

  private:
    int elements_;
    double middle_;
    double cutoff_;
};

}  // namespace nearfetch::assimilation
