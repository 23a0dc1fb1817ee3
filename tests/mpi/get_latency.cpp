// SPDX-License-Identifier: Apache-2.0

// What gets of some sizes take, from rank 0 to the last rank: a line for each size, bytes and microseconds.

#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

double get_us(MPI_Win window, int target, std::vector<char>& buffer, int bytes) {
    constexpr int gets = 10;
    const double begin = MPI_Wtime();
    for (int i = 0; i < gets; ++i) {
        MPI_Get(buffer.data(), bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window);
        MPI_Win_flush(target, window);
    }
    return (MPI_Wtime() - begin) / gets * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    constexpr int sizes[] = {8, 1024, 65536};
    std::vector<char> buffer(sizes[2]);
    void* memory = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(sizes[2], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    if (rank == 0)
        for (const int bytes : sizes)
            std::printf("%d %.3f\n", bytes, get_us(window, ranks - 1, buffer, bytes));
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
