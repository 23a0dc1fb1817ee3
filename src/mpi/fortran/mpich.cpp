// SPDX-License-Identifier: Apache-2.0

// Fortran on MPICH. mpif.h, `use mpi`, and every call of mpi_f08 with a buffer reach the C entry points by
// themselves, and must not be seen a second time. The other calls of mpi_f08 go to PMPI directly; these are
// caught here, as mpi_wait_f08_. Handles are the same integers in both languages, and TYPE(MPI_Status) is C's
// status.

#include <mpi.h>

#if defined(MPICH_NUMVERSION) && !defined(MPI_ABI)

#include "mpi/fortran/fortran.hpp"

// The objects that stand for "ignore", told by their address. A program without mpi_f08 may lack them. (Some
// versions of mpi.h declare them too, hence names of our own.)
extern "C" {
extern char status_ignore __asm__("MPIR_F08_MPI_STATUS_IGNORE_OBJ") __attribute__((weak));
extern char statuses_ignore __asm__("MPIR_F08_MPI_STATUSES_IGNORE_OBJ") __attribute__((weak));
}

namespace nearfetch::fortran {
namespace {

static_assert(sizeof(MPI_Fint) == sizeof(int) && sizeof(MPI_Request) == sizeof(MPI_Fint));

MPI_Status* one(MPI_Status* status) {
    return static_cast<void*>(status) == &status_ignore ? MPI_STATUS_IGNORE : status;
}
MPI_Status* all(MPI_Status* statuses) {
    return static_cast<void*>(statuses) == &statuses_ignore ? MPI_STATUSES_IGNORE : statuses;
}

}  // namespace
}  // namespace nearfetch::fortran

using namespace nearfetch::fortran;  // NOLINT: the table below is the file

#define F08(name, parameters, call) NEARFETCH_FORTRAN(name##_f08, parameters, call)

F08(init, (Out ierror), MPI_Init(nullptr, nullptr))
F08(init_thread, (In required, Out provided, Out ierror),
    MPI_Init_thread(nullptr, nullptr, *required, Number(provided)))
#if MPI_VERSION >= 4
F08(session_init, (In info, In errhandler, Out session, Out ierror),
    MPI_Session_init(*info, *errhandler, session))
#endif

F08(win_allocate, (Address size, In unit, In info, In comm, void* base, Out win, Out ierror),
    MPI_Win_allocate(*size, *unit, *info, *comm, base, win))
F08(win_allocate_shared, (Address size, In unit, In info, In comm, void* base, Out win, Out ierror),
    MPI_Win_allocate_shared(*size, *unit, *info, *comm, base, win))
#if MPI_VERSION >= 4
NEARFETCH_FORTRAN(win_allocate_f08_large,
                  (Address size, Address unit, In info, In comm, void* base, Out win, Out ierror),
                  MPI_Win_allocate_c(*size, *unit, *info, *comm, base, win))
NEARFETCH_FORTRAN(win_allocate_shared_f08_large,
                  (Address size, Address unit, In info, In comm, void* base, Out win, Out ierror),
                  MPI_Win_allocate_shared_c(*size, *unit, *info, *comm, base, win))
#endif
F08(win_create_dynamic, (In info, In comm, Out win, Out ierror), MPI_Win_create_dynamic(*info, *comm, win))
F08(win_free, (Out win, Out ierror), MPI_Win_free(win))
F08(win_set_info, (In win, In info, Out ierror), MPI_Win_set_info(*win, *info))

F08(win_lock, (In kind, In rank, In assertion, In win, Out ierror),
    MPI_Win_lock(*kind, *rank, *assertion, *win))
F08(win_lock_all, (In assertion, In win, Out ierror), MPI_Win_lock_all(*assertion, *win))
F08(win_unlock, (In rank, In win, Out ierror), MPI_Win_unlock(*rank, *win))
F08(win_unlock_all, (In win, Out ierror), MPI_Win_unlock_all(*win))
F08(win_flush, (In rank, In win, Out ierror), MPI_Win_flush(*rank, *win))
F08(win_flush_all, (In win, Out ierror), MPI_Win_flush_all(*win))
F08(win_flush_local, (In rank, In win, Out ierror), MPI_Win_flush_local(*rank, *win))
F08(win_flush_local_all, (In win, Out ierror), MPI_Win_flush_local_all(*win))
F08(win_sync, (In win, Out ierror), MPI_Win_sync(*win))
F08(win_fence, (In assertion, In win, Out ierror), MPI_Win_fence(*assertion, *win))
F08(win_start, (In group, In assertion, In win, Out ierror), MPI_Win_start(*group, *assertion, *win))
F08(win_complete, (In win, Out ierror), MPI_Win_complete(*win))

F08(wait, (Out request, MPI_Status* status, Out ierror), MPI_Wait(request, one(status)))
F08(waitall, (In n, Out requests, MPI_Status* statuses, Out ierror), MPI_Waitall(*n, requests, all(statuses)))
F08(waitany, (In n, Out requests, Out index, MPI_Status* status, Out ierror),
    MPI_Waitany(*n, requests, Indices(index), one(status)))
F08(waitsome, (In n, Out requests, Out done, Out indices, MPI_Status* statuses, Out ierror),
    MPI_Waitsome(*n, requests, done, Indices(*n, indices), all(statuses)))
F08(test, (Out request, Out flag, MPI_Status* status, Out ierror), MPI_Test(request, Flag(flag), one(status)))
F08(testall, (In n, Out requests, Out flag, MPI_Status* statuses, Out ierror),
    MPI_Testall(*n, requests, Flag(flag), all(statuses)))
F08(testany, (In n, Out requests, Out index, Out flag, MPI_Status* status, Out ierror),
    MPI_Testany(*n, requests, Indices(index), Flag(flag), one(status)))
F08(testsome, (In n, Out requests, Out done, Out indices, MPI_Status* statuses, Out ierror),
    MPI_Testsome(*n, requests, done, Indices(*n, indices), all(statuses)))
F08(request_free, (Out request, Out ierror), MPI_Request_free(request))
F08(request_get_status, (In request, Out flag, MPI_Status* status, Out ierror),
    MPI_Request_get_status(*request, Flag(flag), one(status)))
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
F08(request_get_status_all, (In n, In requests, Out flag, MPI_Status* statuses, Out ierror),
    MPI_Request_get_status_all(*n, requests, Flag(flag), all(statuses)))
F08(request_get_status_any, (In n, In requests, Out index, Out flag, MPI_Status* status, Out ierror),
    MPI_Request_get_status_any(*n, requests, Indices(index), Flag(flag), one(status)))
F08(request_get_status_some, (In n, In requests, Out done, Out indices, MPI_Status* statuses, Out ierror),
    MPI_Request_get_status_some(*n, requests, done, Indices(*n, indices), all(statuses)))
#endif

#endif  // MPICH
