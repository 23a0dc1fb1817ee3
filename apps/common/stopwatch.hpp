// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace nearfetch::apps {

/// Seconds that were spent in something that is entered again and again, by MPI's clock: where ranks are
/// simulated, theirs.
class Stopwatch {
  public:
    void start() { started_ = MPI_Wtime(); }
    void stop() { spent_ += MPI_Wtime() - started_; }
    double seconds() const { return spent_; }

  private:
    double started_ = 0;
    double spent_ = 0;
};

}  // namespace nearfetch::apps
