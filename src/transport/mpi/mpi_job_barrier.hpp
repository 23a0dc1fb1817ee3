// SPDX-License-Identifier: Apache-2.0
#pragma once

// The barrier of an MPI job. It is an MPI_Iallreduce of ids, which finds out at once whether all ranks come
// with the same: each sees the largest one, and the largest complement. All ranks make the same MPI calls,
// whatever they are in. Where ids differ, they tell each other what they are in.
//
// That takes all of them. Who waits for long tells the others by a message what it waits in, so that those
// who do wait find out that they differ though another rank never comes.

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

    /// Nobody leaves before all have come. \throws CollectiveError as Job::barrier() does
    void meet(const CollectiveCall& call);

  private:
    /// What one tells who waits for long.
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
    [[noreturn]] void give_up(const CollectiveCall& call);
    [[noreturn]] void exchange_and_throw(const CollectiveCall& call);

    MPI_Comm comm_;
    MpiJobMessages& messages_;
    Rank rank_ = 0;
    Rank ranks_ = 0;
    std::uint64_t round_ = 0;
    std::unique_ptr<Ids> ids_ = std::make_unique<Ids>();  ///< MPI uses them while it is not complete
    std::uint64_t told_round_ = 0;                        ///< the last one that was told of
    std::map<Rank, Notice> heard_;                        ///< the last of each rank
    std::optional<CollectiveError> broken_;               ///< a barrier will never be complete
};

}  // namespace nearfetch
