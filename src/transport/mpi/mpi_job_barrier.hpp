// SPDX-License-Identifier: Apache-2.0
#pragma once

// The barrier of an MPI job: an MPI_Iallreduce of ids. Each rank gets the largest id and the largest
// complement, and so sees at once whether all calls are the same. All ranks make the same MPI calls, whatever
// they are in. If ids differ they exchange descriptions.
//
// That needs all ranks. A rank that waits for long sends the others a notice of its call. So waiting ranks
// detect a difference even if another rank never arrives.

#include <mpi.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "transport/collective.hpp"
#include "transport/mpi/mpi_job_messages.hpp"

namespace nearfetch {

class MpiJobBarrier {
  public:
    MpiJobBarrier(MPI_Comm comm, MpiJobMessages& messages);
    ~MpiJobBarrier();
    MpiJobBarrier(const MpiJobBarrier&) = delete;
    MpiJobBarrier& operator=(const MpiJobBarrier&) = delete;

    /// Waits for all ranks. \throws CollectiveError as Job::barrier()
    void meet(const CollectiveCall& call);

  private:
    /// Notice of a rank that waits for long.
    struct Notice {
        std::uint64_t round = 0;
        std::uint64_t id = 0;
        std::array<char, 496> text = {};
    };
    struct Ids {
        std::array<std::uint64_t, 2> mine, most;
    };

    Notice notice_of(const CollectiveCall& call) const;
    CollectiveArrival arrival_of(Rank rank, const Notice& notice) const;
    void wait(MPI_Request& request, const CollectiveCall& call);
    void tell(const CollectiveCall& call);
    void listen();
    bool differs(std::uint64_t id) const;
    [[noreturn]] void abort_job(const CollectiveCall& call);
    [[noreturn]] void exchange_and_throw(const CollectiveCall& call);

    MPI_Comm comm_;
    MpiJobMessages& messages_;
    Rank rank_ = 0;
    Rank ranks_ = 0;
    std::uint64_t round_ = 0;
    std::unique_ptr<Ids> ids_ = std::make_unique<Ids>();  ///< used by MPI until completion
    std::uint64_t told_round_ = 0;                        ///< the last round with a notice sent
    std::map<Rank, Notice> heard_;                        ///< the last notice of each rank
    std::optional<CollectiveError> broken_;               ///< set when a barrier can never complete
};

}  // namespace nearfetch
