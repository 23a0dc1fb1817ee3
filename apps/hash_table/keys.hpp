// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "hash_table/options.hpp"

namespace nearfetch::hash_table {

/// No key and no value.
inline constexpr std::uint64_t kNone = 0;

/// The rank that inserts `key` and changes its value.
inline int owner(std::uint64_t key, int ranks) {
    return static_cast<int>(key % static_cast<std::uint64_t>(ranks));
}

/// How often the value of each key from 1 to `keys` has changed.
class Versions {
  public:
    explicit Versions(std::uint64_t keys) : versions_(keys + 1) {}

    void raise(std::uint64_t key) { ++versions_[key]; }

    /// What the table should have; never kNone.
    std::uint64_t value(std::uint64_t key) const {
        return apps::mixed(apps::mixed(key) + versions_[key]) | 1;
    }

  private:
    std::vector<std::uint32_t> versions_;
};

/// The keys to look up: those from 1 to `keys` are in the table, others are not.
///
/// The key of popularity rank p is drawn in proportion to p^-skew (Zipf's law), by a table of sums.
class Popularity {
  public:
    explicit Popularity(const Options& options) : seed_(options.seed) {
        const auto absent = static_cast<std::uint64_t>(options.absent * static_cast<double>(options.keys));
        sums_.reserve(options.keys + absent);
        double sum = 0;
        for (std::uint64_t popularity_rank = 1; popularity_rank <= options.keys + absent; ++popularity_rank) {
            sum += std::pow(static_cast<double>(popularity_rank), -options.skew);
            sums_.push_back(sum);
        }
        // Popularity is independent of the order of insertion.
        keys_.resize(sums_.size());
        for (std::uint64_t i = 0; i < keys_.size(); ++i)
            keys_[i] = i + 1;
        apps::Random random(apps::mixed(seed_ ^ keys_.size()));
        for (std::uint64_t i = keys_.size(); i > 1; --i)
            std::swap(keys_[i - 1], keys_[random.next() % i]);
    }

    std::uint64_t draw(apps::Random& random) const {
        const auto popularity_rank =
            std::upper_bound(sums_.begin(), sums_.end() - 1, random.uniform() * sums_.back());
        return keys_[static_cast<std::size_t>(popularity_rank - sums_.begin())];
    }

  private:
    std::uint64_t seed_;
    std::vector<double> sums_;
    std::vector<std::uint64_t> keys_;
};

}  // namespace nearfetch::hash_table
