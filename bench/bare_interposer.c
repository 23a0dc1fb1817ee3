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

int MPI_Rget(void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
    return PMPI_Rget(origin, origin_count, origin_type, target, displacement, target_count, target_type,
                     window, request);
}

int MPI_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
    return PMPI_Put(origin, origin_count, origin_type, target, displacement, target_count, target_type,
                    window);
}

int MPI_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                   MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win window) {
    return PMPI_Accumulate(origin, origin_count, origin_type, target, displacement, target_count, target_type,
                           op, window);
}

int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint displacement,
                     MPI_Op op, MPI_Win window) {
    return PMPI_Fetch_and_op(origin, result, type, target, displacement, op, window);
}

int MPI_Win_lock(int lock_type, int target, int assert, MPI_Win window) {
    return PMPI_Win_lock(lock_type, target, assert, window);
}
int MPI_Win_unlock(int target, MPI_Win window) { return PMPI_Win_unlock(target, window); }
int MPI_Win_fence(int assert, MPI_Win window) { return PMPI_Win_fence(assert, window); }
int MPI_Win_flush(int target, MPI_Win window) { return PMPI_Win_flush(target, window); }
int MPI_Win_flush_all(MPI_Win window) { return PMPI_Win_flush_all(window); }
int MPI_Win_flush_local(int target, MPI_Win window) { return PMPI_Win_flush_local(target, window); }
int MPI_Win_flush_local_all(MPI_Win window) { return PMPI_Win_flush_local_all(window); }

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
    return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) { return PMPI_Wait(request, status); }
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return PMPI_Waitall(count, requests, statuses);
}
int MPI_Allreduce(const void* own, void* result, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return PMPI_Allreduce(own, result, count, type, op, comm);
}
int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
