// SPDX-License-Identifier: Apache-2.0
//
// Ranks that read and write in turn under locks, for a fixed time: reads of any rank's records under shared
// locks, and so many writes a second under exclusive ones, all ranks together. A record is a number and its
// complement; a read that finds anything else was no snapshot. Prints one JSON object: operations, seconds,
// and torn reads, of which there must be none.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>

#include "arguments.hpp"
#include "common/mpi_session.hpp"
#include "windows.hpp"

namespace nearfetch::bench {
namespace {

constexpr int records = 256;

struct Record {
    std::uint64_t number;
    std::uint64_t complement;
};

struct Done {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t torn = 0;
};

class Turns {
  public:
    explicit Turns(const apps::MpiSession& mpi) : mpi_(mpi), random_(static_cast<unsigned>(mpi.rank()) + 1) {
        Record* memory = nullptr;
        MPI_Win_allocate(records * sizeof(Record), sizeof(Record), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                         &win_);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mpi.rank(), 0, win_);
        std::fill_n(memory, records, Record{0, ~std::uint64_t{0}});
        MPI_Win_unlock(mpi.rank(), win_);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~Turns() { MPI_Win_free(&win_); }
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    /// \param writes_per_second of this rank
    Done run(double seconds, double writes_per_second) {
        Done done;
        const double begin = now_ns();
        for (double elapsed = 0; elapsed < seconds; elapsed = (now_ns() - begin) / 1e9) {
            if (static_cast<double>(done.writes) < elapsed * writes_per_second) {
                write();
                ++done.writes;
            } else {
                done.torn += read() ? 0 : 1;
                ++done.reads;
            }
        }
        return done;
    }

  private:
    /// Another rank.
    int any_target() {
        return (mpi_.rank() + 1 + static_cast<int>(random_() % static_cast<unsigned>(mpi_.ranks() - 1))) %
               mpi_.ranks();
    }
    bool read() {
        const int target = any_target();
        Record record{0, 0};
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win_);
        MPI_Get(&record, sizeof record, MPI_BYTE, target, static_cast<MPI_Aint>(random_() % records),
                sizeof record, MPI_BYTE, win_);
        MPI_Win_unlock(target, win_);
        return record.complement == ~record.number;
    }
    void write() {
        const int target = any_target();
        const std::uint64_t number = random_();
        const Record record{number, ~number};
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win_);
        MPI_Put(&record, sizeof record, MPI_BYTE, target, static_cast<MPI_Aint>(random_() % records),
                sizeof record, MPI_BYTE, win_);
        MPI_Win_unlock(target, win_);
    }

    const apps::MpiSession& mpi_;
    std::mt19937 random_;
    MPI_Win win_ = MPI_WIN_NULL;
};

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch;
    using namespace nearfetch::bench;
    const Arguments arguments(argc, argv, {"--writes", "--milliseconds"});
    const double writes = static_cast<double>(arguments.number("--writes", 1));
    const double seconds = static_cast<double>(arguments.number("--milliseconds", 1000)) / 1e3;
    const apps::MpiSession mpi(&argc, &argv);
    if (mpi.ranks() < 2) {
        std::fprintf(stderr, "lock_turns: one rank (nobody else has anything to read): start at least two\n");
        return apps::kBadUse;
    }
    const Done mine = Turns(mpi).run(seconds, writes / mpi.ranks());
    Done all;
    MPI_Reduce(&mine, &all, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (mpi.is_root())
        std::printf("{\"reads\": %llu, \"writes\": %llu, \"torn\": %llu, \"seconds\": %g}\n",
                    static_cast<unsigned long long>(all.reads), static_cast<unsigned long long>(all.writes),
                    static_cast<unsigned long long>(all.torn), seconds);
    return mine.torn != 0;
}
