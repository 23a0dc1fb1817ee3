// SPDX-License-Identifier: Apache-2.0
// Windows of sessions (MPI-4), one after the other, of which only a later one has threads: each works as
// without nearfetch. With the argument "world" MPI_Init has been called before, without threads.
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int elements = 65536;

/// \return how many values were wrong
int read(MPI_Win win, unsigned seed) {
    int wrong = 0;
    unsigned x = seed;
    for (int k = 0; k < 2000; ++k) {
        x = x * 1664525 + 1013904223;
        const int at = static_cast<int>((x >> 8) % (elements - 16));
        int seen[16] = {};
        MPI_Get(seen, 16, MPI_INT, 1, at, 16, MPI_INT, win);
        MPI_Win_flush(1, win);
        for (int j = 0; j < 16; ++j)
            wrong += seen[j] != at + j;
    }
    return wrong;
}

int use_window(MPI_Comm comm, int threads) {
    int rank = 0, *base = nullptr;
    MPI_Win win;
    MPI_Comm_rank(comm, &rank);
    MPI_Win_allocate(elements * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &base, &win);
    for (int i = 0; i < elements; ++i)
        base[i] = i;
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    MPI_Barrier(comm);
    std::atomic<int> wrong{0};
    if (rank == 0 && threads == 1) wrong += read(win, 1);
    if (rank == 0 && threads > 1) {
        std::vector<std::thread> readers;
        for (int i = 0; i < threads; ++i)
            readers.emplace_back([&wrong, win, i] { wrong += read(win, static_cast<unsigned>(i)); });
        for (std::thread& reader : readers)
            reader.join();
    }
    MPI_Barrier(comm);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return wrong;
}

/// \return as use_window(), none if the session has no threads
int use_session(const char* level, int threads) {
    // MPICH aborts now and then where one rank begins a session while another ends the one before.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided != MPI_THREAD_MULTIPLE) threads = 1;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "nearfetch.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    const int wrong = use_window(comm, threads);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    const bool world = argc > 1 && std::string(argv[1]) == "world";
    int wrong = 0;
    if (world) {
        MPI_Init(&argc, &argv);
        wrong += use_window(MPI_COMM_WORLD, 1);
    }
    wrong += use_session("MPI_THREAD_SINGLE", 1);
    wrong += use_session("MPI_THREAD_MULTIPLE", 4);
    wrong += use_session("MPI_THREAD_SINGLE", 1);
    if (world) MPI_Finalize();
    if (wrong != 0) std::printf("%d wrong values\n", wrong);
    return wrong != 0;
}
