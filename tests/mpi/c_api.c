/* SPDX-License-Identifier: Apache-2.0 */
/* A C program: the public header compiles as C, and the C symbols of every kind of call are served. */
#include <mpi.h>
#include <nearfetch/mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures = 0;
static int rank = 0, size = 1;

#define CHECK_EQ(seen, expected)                                                                        \
    do {                                                                                                \
        long long seen_value = (long long)(seen), expected_value = (long long)(expected);               \
        if (seen_value != expected_value && ++failures <= 20)                                           \
            fprintf(stderr, "%s:%d: rank %d: %s: expected %lld, seen %lld\n", __FILE__, __LINE__, rank, \
                    #seen, expected_value, seen_value);                                                 \
    } while (0)

static double value_of(int owner, int index, int version) { return owner * 1000.0 + index + version * 0.25; }

static void store(MPI_Win win, double* memory, int n, int version) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < n; ++i)
        memory[i] = value_of(rank, i, version);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(NEARFETCH_CALL(nearfetch_win_invalidate, (win)), MPI_SUCCESS);
}

static double score(int target, nearfetch_count offset_bytes, nearfetch_count size_bytes, void* context) {
    ++*(int*)context;
    return (double)(target + offset_bytes - size_bytes);
}

int main(int argc, char** argv) {
    enum { n = 100 };
    double *memory = NULL, seen[n], one = 1.0, old = -1.0;
    unsigned long long hits = 0;
    int all = 0, scored = 0, flag = 0;
    MPI_Win win;
    MPI_Request request;
    MPI_Datatype column;
    alarm(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int target = (rank + 1) % size;
    MPI_Win_allocate(n * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Type_vector(10, 1, 10, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    CHECK_EQ(NEARFETCH_CALL(nearfetch_win_set_score, (win, score, &scored)), MPI_SUCCESS);
    for (int version = 0; version < 3; ++version) {
        store(win, memory, n, version);
        MPI_Win_lock_all(0, win);
        CHECK_EQ(NEARFETCH_CALL(nearfetch_win_prefetch, (win, target, 10, 20, MPI_DOUBLE)), MPI_SUCCESS);
        for (int pass = 0; pass < 3; ++pass) {
            memset(seen, 0, sizeof seen);
            CHECK_EQ(MPI_Get(seen, 50, MPI_DOUBLE, target, 5, 50, MPI_DOUBLE, win), MPI_SUCCESS);
            CHECK_EQ(MPI_Win_flush(target, win), MPI_SUCCESS);
            for (int i = 0; i < 50; ++i)
                CHECK_EQ(seen[i] * 4, value_of(target, i + 5, version) * 4);
            CHECK_EQ(MPI_Rget(seen, 10, MPI_DOUBLE, target, 3, 1, column, win, &request), MPI_SUCCESS);
            for (flag = 0; !flag;)
                CHECK_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
            for (int i = 0; i < 10; ++i)
                CHECK_EQ(seen[i] * 4, value_of(target, 10 * i + 3, version) * 4);
        }
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        one = 7.5;
        CHECK_EQ(MPI_Put(&one, 1, MPI_DOUBLE, target, 5, 1, MPI_DOUBLE, win), MPI_SUCCESS);
        CHECK_EQ(MPI_Win_flush(target, win), MPI_SUCCESS);
        CHECK_EQ(MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, target, 5, MPI_SUM, win), MPI_SUCCESS);
        CHECK_EQ(MPI_Win_flush(target, win), MPI_SUCCESS);
        CHECK_EQ(old * 4, 30);
        CHECK_EQ(MPI_Get(seen, 2, MPI_DOUBLE, target, 5, 2, MPI_DOUBLE, win), MPI_SUCCESS);
        CHECK_EQ(MPI_Win_unlock(target, win), MPI_SUCCESS);
        CHECK_EQ(seen[0] * 4, 60);
        CHECK_EQ(seen[1] * 4, value_of(target, 6, version) * 4);
    }
    CHECK_EQ(NEARFETCH_CALL(nearfetch_win_stats, (win, "hits", &hits)), MPI_SUCCESS);
    if (nearfetch_counter_name) {
        unsigned long long value = 0;
        int counters = 0;
        for (; nearfetch_counter_name(counters) != NULL; ++counters)
            CHECK_EQ(nearfetch_win_stats(win, nearfetch_counter_name(counters), &value), MPI_SUCCESS);
        CHECK_EQ(counters > 20 && strcmp(nearfetch_counter_name(0), "gets") == 0, 1);
        CHECK_EQ(nearfetch_counter_name(-1) == NULL, 1);
    }
    CHECK_EQ(NEARFETCH_CALL(nearfetch_win_set_score, (win, NULL, NULL)), MPI_SUCCESS);
    MPI_Type_free(&column);
    MPI_Win_free(&win);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("%s %d failures, %llu hits, %d scored\n", all ? "FAILED" : "passed", all, hits, scored);
    return all != 0;
}
