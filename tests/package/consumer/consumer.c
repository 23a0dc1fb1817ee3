/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program of somebody else: rank 0 reads a value of its neighbour, says that its copy is old, and reads
 * again. It prints what it saw, and which of nearfetch's functions it found.
 */

#include <mpi.h>
#include <nearfetch/mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank = 0, size = 0, seen = -1, status = MPI_SUCCESS;
    int* memory = NULL;
    unsigned long long gets = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = 100 + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2; ++i) {
        MPI_Get(&seen, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_flush_all(win);
        status = NEARFETCH_CALL(nearfetch_win_invalidate, (win));
    }
    MPI_Win_unlock_all(win);
    if (nearfetch_win_stats) nearfetch_win_stats(win, "gets", &gets);
    if (rank == 0)
        printf("seen %d status %d loaded %d gets %llu\n", seen, status, nearfetch_win_invalidate != NULL,
               gets);
    MPI_Win_free(&win);
    MPI_Finalize();
    return seen == 100 + (rank + 1) % size ? 0 : 1;
}
