// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace nearfetch::apps {

/// A sum of doubles whose error does not grow with their number.
/// Source: A. Neumaier, *Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen*, 1974.
class CompensatedSum {
  public:
    void add(double value) {
        const double next = sum_ + value;
        lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - next) + value : (value - next) + sum_;
        sum_ = next;
    }
    double value() const { return sum_ + lost_; }

  private:
    double sum_ = 0;
    double lost_ = 0;
};

}  // namespace nearfetch::apps
