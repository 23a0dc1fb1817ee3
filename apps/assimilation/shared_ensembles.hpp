// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "assimilation/dealing.hpp"
#include "common/mpi_window.hpp"
#include "common/stopwatch.hpp"

namespace nearfetch::assimilation {

/// The ensembles of all elements, in a window that exists for as long as this does.
class SharedEnsembles {
  public:
    /// Collective.
    SharedEnsembles(const Dealing& dealing, const Options& options);

    /// Lets all ranks read this rank's ensembles of now. Collective: nobody may be reading.
    void publish(const std::vector<double>& ensembles);

    /// An element's members: a lock, a get and an unlock where another rank has them. Valid until the next
    /// read.
    std::span<const double> read(int element);

    std::uint64_t remote_gets() const { return remote_gets_; }
    double seconds() const { return watch_.seconds(); }

  private:
    const Dealing& dealing_;
    int members_;
    apps::Window window_;
    std::vector<double> buffer_;
    std::uint64_t remote_gets_ = 0;
    apps::Stopwatch watch_;
};

}  // namespace nearfetch::assimilation
