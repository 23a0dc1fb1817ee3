// SPDX-License-Identifier: Apache-2.0
#include "assimilation/filter.hpp"

#include <cstddef>

namespace nearfetch::assimilation {

double mean(std::span<const double> values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

void inflate(std::span<double> ensemble, double factor) {
    const double middle = mean(ensemble);
    const double stretch = std::sqrt(factor);
    for (double& x : ensemble)
        x = middle + stretch * (x - middle);
}

double localization(double distance, double cutoff) {
    const double z = distance / cutoff;
    if (z >= 2) return 0;
    if (z <= 1) return (((-0.25 * z + 0.5) * z + 0.625) * z - 5.0 / 3.0) * z * z + 1;
    return ((((z / 12 - 0.5) * z + 0.625) * z + 5.0 / 3.0) * z - 5) * z + 4 - 2 / (3 * z);
}

Update::Update(int members)
    : members_(static_cast<std::size_t>(members)), data_(2 + 2 * static_cast<std::size_t>(members)) {}

void Update::compute(std::span<const double> prior, double observed, double error_variance) {
    const double middle = mean(prior);
    double squares = 0;
    for (std::size_t m = 0; m < members_; ++m) {
        data_[2 + m] = prior[m];
        squares += (prior[m] - middle) * (prior[m] - middle);
    }
    const double variance = squares / static_cast<double>(members_ - 1);
    data_[0] = middle;
    data_[1] = variance;
    const double after = 1 / (1 / variance + 1 / error_variance);
    const double moved = after * (middle / variance + observed / error_variance);
    const double shrink = std::sqrt(after / variance);
    for (std::size_t m = 0; m < members_; ++m)
        data_[2 + members_ + m] = (moved + shrink * (prior[m] - middle)) - prior[m];
}

void Update::regress(std::span<double> ensemble, double weight) const {
    const double variance = data_[1];
    // Members that agree learn nothing.
    if (!(variance > 0)) return;
    const double middle = mean(ensemble);
    double products = 0;
    for (std::size_t m = 0; m < members_; ++m)
        products += (ensemble[m] - middle) * (prior()[m] - data_[0]);
    const double factor = weight * (products / static_cast<double>(members_ - 1)) / variance;
    for (std::size_t m = 0; m < members_; ++m)
        ensemble[m] += factor * increments()[m];
}

}  // namespace nearfetch::assimilation
