// SPDX-License-Identifier: Apache-2.0

// MPI begins, or is aborted. Before its library is called for the first time it is found; when it has begun
// the process asks which world it is in.

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>

#include "base/ticks.hpp"
#include "mpi/interposer.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/simulated_time.hpp"
#include "mpi/window_table.hpp"

namespace nearfetch {

namespace {

/// For nearfetch run, which looks for that file.
void leave_a_mark() noexcept {
    const char* const path = std::getenv("NEARFETCH_SEEN_FILE");
    if (path == nullptr || *path == '\0') return;
    if (const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644); file >= 0) close(file);
}

/// Before MPI begins.
void prepare() noexcept {
    need_mpi_library();
    simulated::use_clock();
}

int begun(int status) noexcept {
    if (status != MPI_SUCCESS) return status;
    leave_a_mark();
    interposer.world.look();
    interposer.process.begin_ticks = ticks();
    interposer.windows().begin();
    return status;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

int MPI_Init(int* argc, char*** argv) {
    prepare();
    return begun(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    prepare();
    return begun(PMPI_Init_thread(argc, argv, required, provided));
}

#if defined(NEARFETCH_MPI_SMPI)
int MPI_Finalize() {
    interposer.windows().finalize();
    return PMPI_Finalize();
}
#endif

int MPI_Abort(MPI_Comm comm, int code) {
    interposer.windows().write_before_end("MPI_Abort");
    return PMPI_Abort(comm, code);
}

#if MPI_VERSION >= 4
int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    prepare();
    leave_a_mark();
    interposer.world.begin_session();
    return PMPI_Session_init(info, errhandler, session);
}
#endif
}
