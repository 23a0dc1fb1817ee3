// SPDX-License-Identifier: Apache-2.0
//
// What a window of the whole job takes of its ranks, which are all in one process (SMPI): its creation by all
// of them, and then gets of a hundred targets at equal distances, by eight. Prints one JSON object: simulated
// seconds of the slowest rank, and bytes that a rank allocates.

#include <malloc.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>

namespace {

std::int64_t bytes_in_use() {
    const struct mallinfo2 heap = mallinfo2();
    return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

/// Seconds since then, of the slowest rank.
double slowest(double begin) {
    const double mine = MPI_Wtime() - begin;
    double most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/// What the ranks of the process do at the same time.
struct Step {
    double seconds;
    std::int64_t bytes;
};

template <class Work>
Step step(const Work& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t bytes = bytes_in_use();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    work();
    const double seconds = slowest(begin);
    return {seconds, bytes_in_use() - bytes};
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    constexpr int targets = 100, readers = 8;
    double memory[8] = {};
    MPI_Win window = MPI_WIN_NULL;
    const Step creation = step([&] {
        MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    });
    const bool reads = rank % (ranks / readers) == 0;
    if (reads) MPI_Win_lock_all(0, window);
    const Step access = step([&] {
        if (!reads) return;
        double to = 0;
        for (int i = 1; i <= targets; ++i) {
            const int target = (rank + ranks * i / (targets + 1)) % ranks;
            MPI_Get(&to, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, window);
            MPI_Win_flush(target, window);
        }
    });
    if (rank == 0)
        std::printf(
            "{\"ranks\": %d, \"create_s\": %.9f, \"create_bytes\": %lld, \"access_s\": %.9f, "
            "\"access_bytes\": %lld}\n",
            ranks, creation.seconds, static_cast<long long>(creation.bytes / ranks), access.seconds,
            static_cast<long long>(access.bytes / readers));
    if (reads) MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
