// SPDX-License-Identifier: Apache-2.0
// Worlds that are spawned: the ranks start two more processes, and all read each other's memory.
//   together    by a window of all, then one of each world
//   apart       the worlds disconnect before there is any window, and each has one of its own
//   full        as together, and at the end no file may grow
#include <sys/resource.h>

#include "check.hpp"

using namespace check;

namespace {

constexpr int elements = 512;

/// Reads all of `comm`, whose ranks change what they expose between the rounds.
void read_all(MPI_Comm comm) {
    int me = 0, ranks = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    long* base = nullptr;
    MPI_Win win;
    MPI_Win_allocate(elements * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &base, &win);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < elements; ++i)
            base[i] = 1000L * round + 10L * i + me;
        MPI_Win_sync(win);
        MPI_Barrier(comm);
        for (int target = 0; target < ranks; ++target)
            for (int i = 0; i < elements; i += 37) {
                long seen = -1;
                MPI_Get(&seen, 1, MPI_LONG, target, i, 1, MPI_LONG, win);
                MPI_Win_flush(target, win);
                CHECK_EQ(seen, 1000L * round + 10L * i + target);
            }
        MPI_Barrier(comm);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &state().rank);
    MPI_Comm_size(MPI_COMM_WORLD, &state().size);
    const std::string_view what = argc > 1 ? argv[1] : "";
    MPI_Comm others;
    MPI_Comm_get_parent(&others);
    const bool spawned = others != MPI_COMM_NULL;
    if (!spawned)
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    if (what != "apart") {
        MPI_Comm all;
        MPI_Intercomm_merge(others, spawned ? 1 : 0, &all);
        read_all(all);
        MPI_Comm_free(&all);
    }
    MPI_Comm_disconnect(&others);
    read_all(MPI_COMM_WORLD);
    int failures = 0;
    MPI_Allreduce(&state().failures, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank() == 0 && failures == 0) std::cout << "right" << std::endl;
    if (what == "full") {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit nothing{100, 100};
        setrlimit(RLIMIT_FSIZE, &nothing);
    }
    MPI_Finalize();
    return failures != 0;
}
