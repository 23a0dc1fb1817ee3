// SPDX-License-Identifier: Apache-2.0

// The Fortran entry points of the calls that are interposed by hand.
//
// An MPI library's Fortran layer turns the arguments into C's and calls PMPI, so it does not reach the C
// entry points of the interposer. The entry points here turn the arguments, too, but call MPI. They never
// call the library's Fortran entry points: then no call is seen twice. Each is a line of a table: the name,
// the parameters, and the call.
//
// Open MPI: mpif.h and `use mpi` call mpi_get_, and mpi_f08 calls mpi_get_f08_ with the same arguments. A
// handle is one INTEGER. `use mpi` has third names for allocations into a TYPE(C_PTR).
//
// MPICH: mpif.h, `use mpi`, and each call of mpi_f08 with a buffer reach the C entry points by themselves.
// The other calls of mpi_f08 go to PMPI, and are caught here as mpi_wait_f08_.

#include "mpi/fortran/fortran.hpp"

#if (defined(OPEN_MPI) || defined(MPICH_NUMVERSION)) && !defined(MPI_ABI)

#include <new>

using namespace nearfetch::fortran;  // NOLINT: the table below is the file

namespace {

/// Stores what `call` returns. `ierror` is null where mpi_f08 left the optional argument out.
template <class Call>
void finish(Out ierror, const Call& call) {
    int code = MPI_ERR_NO_MEM;
    try {
        code = call();
    } catch (const std::bad_alloc&) {
    }
    if (ierror != nullptr) *ierror = code;
}

}  // namespace

/// Defines mpi_<name>_.
#define ENTRY(name, parameters, call)                                                 \
    extern "C" __attribute__((visibility("default"))) void mpi_##name##_ parameters { \
        finish(ierror, [&] { return call; });                                         \
    }
/// A second name for mpi_<name>_.
#define ALIAS(name, second, parameters) \
    extern "C"                          \
        __attribute__((visibility("default"), alias("mpi_" #name "_"))) void mpi_##second##_ parameters;

#if defined(OPEN_MPI)
#define FORTRAN(name, parameters, call) \
    ENTRY(name, parameters, call)       \
    ALIAS(name, name##_f08, parameters)
#else
#define FORTRAN(name, parameters, call) ENTRY(name##_f08, parameters, call)
#endif

FORTRAN(init, (Out ierror), MPI_Init(nullptr, nullptr))
FORTRAN(init_thread, (In required, Out provided, Out ierror),
        MPI_Init_thread(nullptr, nullptr, *required, number_out(provided)))

#if defined(OPEN_MPI)
#define ACCESS Choice origin, In origin_n, In origin_type, In rank, Address disp, In n, In type
#define ACCESS_IN buffer_in(origin), *origin_n, type_in(origin_type), *rank, *disp, *n, type_in(type)
#define FETCH                                                                                        \
    Choice origin, In origin_n, In origin_type, Choice result, In result_n, In result_type, In rank, \
        Address disp, In n, In type
#define FETCH_IN                                                                                            \
    buffer_in(origin), *origin_n, type_in(origin_type), buffer_in(result), *result_n, type_in(result_type), \
        *rank, *disp, *n, type_in(type)

FORTRAN(get, (ACCESS, In win, Out ierror), MPI_Get(ACCESS_IN, win_in(win)))
FORTRAN(put, (ACCESS, In win, Out ierror), MPI_Put(ACCESS_IN, win_in(win)))
FORTRAN(rget, (ACCESS, In win, Out request, Out ierror),
        MPI_Rget(ACCESS_IN, win_in(win), new_request_out(request)))
FORTRAN(rput, (ACCESS, In win, Out request, Out ierror),
        MPI_Rput(ACCESS_IN, win_in(win), new_request_out(request)))
FORTRAN(accumulate, (ACCESS, In op, In win, Out ierror), MPI_Accumulate(ACCESS_IN, op_in(op), win_in(win)))
FORTRAN(raccumulate, (ACCESS, In op, In win, Out request, Out ierror),
        MPI_Raccumulate(ACCESS_IN, op_in(op), win_in(win), new_request_out(request)))
FORTRAN(get_accumulate, (FETCH, In op, In win, Out ierror),
        MPI_Get_accumulate(FETCH_IN, op_in(op), win_in(win)))
FORTRAN(rget_accumulate, (FETCH, In op, In win, Out request, Out ierror),
        MPI_Rget_accumulate(FETCH_IN, op_in(op), win_in(win), new_request_out(request)))
FORTRAN(fetch_and_op,
        (Choice origin, Choice result, In type, In rank, Address disp, In op, In win, Out ierror),
        MPI_Fetch_and_op(buffer_in(origin), buffer_in(result), type_in(type), *rank, *disp, op_in(op),
                         win_in(win)))
FORTRAN(compare_and_swap,
        (Choice origin, Choice compare, Choice result, In type, In rank, Address disp, In win, Out ierror),
        MPI_Compare_and_swap(buffer_in(origin), buffer_in(compare), buffer_in(result), type_in(type), *rank,
                             *disp, win_in(win)))
FORTRAN(abort, (In comm, In code, Out ierror), MPI_Abort(comm_in(comm), *code))

FORTRAN(win_create, (Choice base, Address size, In unit, In info, In comm, Out win, Out ierror),
        MPI_Win_create(buffer_in(base), *size, *unit, info_in(info), comm_in(comm), new_win_out(win)))
#endif

#define ALLOCATION(Unit) (Address size, Unit unit, In info, In comm, void* base, Out win, Out ierror)
#define ALLOCATION_IN *size, *unit, info_in(info), comm_in(comm), base, new_win_out(win)

FORTRAN(win_allocate, ALLOCATION(In), MPI_Win_allocate(ALLOCATION_IN))
FORTRAN(win_allocate_shared, ALLOCATION(In), MPI_Win_allocate_shared(ALLOCATION_IN))
#if defined(OPEN_MPI)
ALIAS(win_allocate, win_allocate_cptr, ALLOCATION(In))
ALIAS(win_allocate_shared, win_allocate_shared_cptr, ALLOCATION(In))
#elif MPI_VERSION >= 4
ENTRY(win_allocate_f08_large, ALLOCATION(Address), MPI_Win_allocate_c(ALLOCATION_IN))
ENTRY(win_allocate_shared_f08_large, ALLOCATION(Address), MPI_Win_allocate_shared_c(ALLOCATION_IN))
#endif
FORTRAN(win_create_dynamic, (In info, In comm, Out win, Out ierror),
        MPI_Win_create_dynamic(info_in(info), comm_in(comm), new_win_out(win)))
FORTRAN(win_free, (Out win, Out ierror), MPI_Win_free(freed_win_out(win)))
FORTRAN(win_set_info, (In win, In info, Out ierror), MPI_Win_set_info(win_in(win), info_in(info)))

FORTRAN(win_lock, (In kind, In rank, In assertion, In win, Out ierror),
        MPI_Win_lock(*kind, *rank, *assertion, win_in(win)))
FORTRAN(win_lock_all, (In assertion, In win, Out ierror), MPI_Win_lock_all(*assertion, win_in(win)))
FORTRAN(win_unlock, (In rank, In win, Out ierror), MPI_Win_unlock(*rank, win_in(win)))
FORTRAN(win_unlock_all, (In win, Out ierror), MPI_Win_unlock_all(win_in(win)))
FORTRAN(win_flush, (In rank, In win, Out ierror), MPI_Win_flush(*rank, win_in(win)))
FORTRAN(win_flush_all, (In win, Out ierror), MPI_Win_flush_all(win_in(win)))
FORTRAN(win_flush_local, (In rank, In win, Out ierror), MPI_Win_flush_local(*rank, win_in(win)))
FORTRAN(win_flush_local_all, (In win, Out ierror), MPI_Win_flush_local_all(win_in(win)))
FORTRAN(win_sync, (In win, Out ierror), MPI_Win_sync(win_in(win)))
FORTRAN(win_fence, (In assertion, In win, Out ierror), MPI_Win_fence(*assertion, win_in(win)))
FORTRAN(win_start, (In group, In assertion, In win, Out ierror),
        MPI_Win_start(group_in(group), *assertion, win_in(win)))
FORTRAN(win_complete, (In win, Out ierror), MPI_Win_complete(win_in(win)))

FORTRAN(wait, (Out request, StatusOut status, Out ierror),
        MPI_Wait(requests_out(1, request), status_out(status)))
FORTRAN(waitall, (In n, Out requests, StatusOut statuses, Out ierror),
        MPI_Waitall(*n, requests_out(*n, requests), statuses_out(*n, statuses)))
FORTRAN(waitany, (In n, Out requests, Out index, StatusOut status, Out ierror),
        MPI_Waitany(*n, requests_out(*n, requests), indices_out(1, index), status_out(status)))
FORTRAN(waitsome, (In n, Out requests, Out done, Out indices, StatusOut statuses, Out ierror),
        MPI_Waitsome(*n, requests_out(*n, requests), number_out(done), indices_out(*n, indices),
                     statuses_out(*n, statuses)))
FORTRAN(test, (Out request, Out flag, StatusOut status, Out ierror),
        MPI_Test(requests_out(1, request), flag_out(flag), status_out(status)))
FORTRAN(testall, (In n, Out requests, Out flag, StatusOut statuses, Out ierror),
        MPI_Testall(*n, requests_out(*n, requests), flag_out(flag), statuses_out(*n, statuses)))
FORTRAN(testany, (In n, Out requests, Out index, Out flag, StatusOut status, Out ierror),
        MPI_Testany(*n, requests_out(*n, requests), indices_out(1, index), flag_out(flag),
                    status_out(status)))
FORTRAN(testsome, (In n, Out requests, Out done, Out indices, StatusOut statuses, Out ierror),
        MPI_Testsome(*n, requests_out(*n, requests), number_out(done), indices_out(*n, indices),
                     statuses_out(*n, statuses)))
FORTRAN(request_free, (Out request, Out ierror), MPI_Request_free(requests_out(1, request)))
FORTRAN(request_get_status, (In request, Out flag, StatusOut status, Out ierror),
        MPI_Request_get_status(request_in(request), flag_out(flag), status_out(status)))

#if !defined(OPEN_MPI)
#if MPI_VERSION >= 4
FORTRAN(session_init, (In info, In errhandler, Out session, Out ierror),
        MPI_Session_init(info_in(info), *errhandler, session))
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
FORTRAN(request_get_status_all, (In n, In requests, Out flag, StatusOut statuses, Out ierror),
        MPI_Request_get_status_all(*n, requests, flag_out(flag), statuses_out(*n, statuses)))
FORTRAN(request_get_status_any, (In n, In requests, Out index, Out flag, StatusOut status, Out ierror),
        MPI_Request_get_status_any(*n, requests, indices_out(1, index), flag_out(flag), status_out(status)))
FORTRAN(request_get_status_some, (In n, In requests, Out done, Out indices, StatusOut statuses, Out ierror),
        MPI_Request_get_status_some(*n, requests, number_out(done), indices_out(*n, indices),
                                    statuses_out(*n, statuses)))
#endif
#endif

#endif
