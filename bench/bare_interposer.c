/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The least that any LD_PRELOAD layer under one-sided calls can cost: it stands between the program and MPI,
 * and does nothing but jump on. What nearfetch costs where it leaves gets alone is to be read beside this.
 */

#include <mpi.h>

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
    return PMPI_Get(origin, origin_count, origin_type, target, displacement, target_count, target_type,
                    window);
}

int MPI_Win_flush(int target, MPI_Win window) { return PMPI_Win_flush(target, window); }
int MPI_Win_flush_all(MPI_Win window) { return PMPI_Win_flush_all(window); }
int MPI_Win_flush_local(int target, MPI_Win window) { return PMPI_Win_flush_local(target, window); }
int MPI_Win_flush_local_all(MPI_Win window) { return PMPI_Win_flush_local_all(window); }
