// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace nearfetch::apps {

/// Initialises MPI, and finalises it at the end of the scope.
class MpiSession {
  public:
    MpiSession(int* argc, char*** argv) {
        MPI_Init(argc, argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    }
    ~MpiSession() { MPI_Finalize(); }
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    bool is_root() const { return rank_ == 0; }

  private:
    int rank_ = 0;
    int ranks_ = 1;
};

}  // namespace nearfetch::apps
