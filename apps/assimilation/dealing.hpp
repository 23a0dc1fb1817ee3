// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "assimilation/options.hpp"
#include "common/mpi_session.hpp"

namespace nearfetch::assimilation {

/// Which rank has what: elements, members and observations go round the ranks one by one.
///
/// The model needs all elements of a member, the filter all members of an element. So a rank has the state in
/// one of two orders: as the elements of its members, or as the members of its elements (its ensembles).
class Dealing {
  public:
    Dealing(const apps::MpiSession& mpi, const Options& options);

    int rank() const { return rank_; }
    int owner(int item) const { return item % ranks_; }
    std::size_t local(int item) const { return static_cast<std::size_t>(item / ranks_); }
    int count(int items, int rank) const { return (items - rank + ranks_ - 1) / ranks_; }
    int own_count(int items) const { return count(items, rank_); }

    /// From the order of members to that of ensembles, and back. Collective.
    std::vector<double> to_ensembles(const std::vector<double>& members) const;
    std::vector<double> to_members(const std::vector<double>& ensembles) const;

    /// The ensembles of all elements on rank 0; empty on the others. Collective.
    std::vector<double> gather(const apps::MpiSession& mpi, const std::vector<double>& ensembles) const;

  private:
    /// Counts of values, and where those for each rank begin.
    struct Parts {
        std::vector<int> counts, begins;
    };
    Parts parts(int own, int others) const;
    std::vector<double> transposed(const std::vector<double>& values, int rows, int columns) const;

    int rank_;
    int ranks_;
    int elements_;
    int members_;
};

}  // namespace nearfetch::assimilation
