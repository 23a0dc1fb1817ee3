// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/reduction.hpp"

#include <mpi.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace nearfetch {

namespace {

constexpr std::chrono::seconds patience{5};
constexpr int tag = 0;

/// A communicator of all ranks for nearfetch's messages alone; MPI_COMM_NULL if some do not come.
MPI_Comm meet_all(bool all_come) {
    MPI_Comm comm = MPI_COMM_NULL;
#if defined(NEARFETCH_MPI_SMPI)
    all_come = true;  // simulated ranks all end, and none is busy meanwhile
#endif
    if (all_come) return PMPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS ? comm : MPI_COMM_NULL;
    // Where it does not complete it stays behind; this must live as long.
    static MPI_Comm late = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    if (PMPI_Comm_idup(MPI_COMM_WORLD, &late, &request) != MPI_SUCCESS) return MPI_COMM_NULL;
    const auto end = std::chrono::steady_clock::now() + patience;
    for (int done = 0;;) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return MPI_COMM_NULL;
        if (done) return late;
        if (std::chrono::steady_clock::now() > end) return MPI_COMM_NULL;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void send(const RunSummary& summary, int to, MPI_Comm comm) {
    const std::vector<std::uint8_t> bytes = packed(summary);
    PMPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm);
}

RunSummary receive(int from, MPI_Comm comm) {
    MPI_Status status;
    int size = 0;
    PMPI_Probe(from, tag, comm, &status);
    PMPI_Get_count(&status, MPI_BYTE, &size);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    PMPI_Recv(bytes.data(), size, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
    return unpacked(bytes);
}

}  // namespace

RunSummary reduce_over_world(RunSummary mine, bool all_come) {
    int ranks = 0, rank = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ranks == 1) return mine;
    MPI_Comm comm = meet_all(all_come);
    if (comm == MPI_COMM_NULL) return mine;
    // A binomial tree: what a rank holds at any time is bounded.
    for (int step = 1; step < ranks; step *= 2) {
        if ((rank & step) != 0) {
            send(mine, rank - step, comm);
            break;
        }
        if (rank + step < ranks) mine.add(receive(rank + step, comm));
    }
    PMPI_Comm_free(&comm);
    return mine;
}

}  // namespace nearfetch
