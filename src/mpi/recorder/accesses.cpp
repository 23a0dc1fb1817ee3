// SPDX-License-Identifier: Apache-2.0

// The accesses, as the recorder sees them.

#include <mpi.h>

#include "mpi/recorder/recorder.hpp"
#include "mpi/wrappers/large_count.hpp"

namespace nearfetch {

namespace {

template <class Call>
int access(EventKind kind, const RecordedAccess& what, const MPI_Request* request, const Call& call) {
    const std::uint64_t begin = ticks();
    const int status = call();
    if (status == MPI_SUCCESS) recorder.add_access(kind, what, begin, request);
    return status;
}

/// Of an atomic: one that only reads is a read.
EventKind fetching(MPI_Op op) noexcept { return op == MPI_NO_OP ? EventKind::read : EventKind::atomic; }

/// Where a get's bytes go, if they are one run.
template <class Count>
const std::byte* origin_of(const void* origin, Count origin_count, MPI_Datatype origin_type, Count count,
                           MPI_Datatype type) noexcept {
    return origin_count == count && origin_type == type ? static_cast<const std::byte*>(origin) : nullptr;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

#define ORIGIN(COUNT) const void *origin, COUNT origin_count, MPI_Datatype origin_type
#define TARGET(COUNT) int rank, MPI_Aint disp, COUNT count, MPI_Datatype type
#define ORIGIN_IN origin, origin_count, origin_type
#define TARGET_IN rank, disp, count, type
#define RESULT(COUNT) void *result, COUNT result_count, MPI_Datatype result_type
#define RESULT_IN result, result_count, result_type
#define AT(WHERE) \
    RecordedAccess { WHERE, rank, disp, count, type, win }

// The bodies are the same for int and MPI_Count.
#define NEARFETCH_ACCESSES(SUFFIX, COUNT)                                                                 \
    int MPI_Get##SUFFIX(void* origin, COUNT origin_count, MPI_Datatype origin_type, TARGET(COUNT),        \
                        MPI_Win win) {                                                                    \
        return access(EventKind::get, AT(origin_of(ORIGIN_IN, count, type)), nullptr,                     \
                      [&] { return PMPI_Get##SUFFIX(ORIGIN_IN, TARGET_IN, win); });                       \
    }                                                                                                     \
    int MPI_Rget##SUFFIX(void* origin, COUNT origin_count, MPI_Datatype origin_type, TARGET(COUNT),       \
                         MPI_Win win, MPI_Request* request) {                                             \
        return access(EventKind::get, AT(nullptr), request,                                               \
                      [&] { return PMPI_Rget##SUFFIX(ORIGIN_IN, TARGET_IN, win, request); });             \
    }                                                                                                     \
    int MPI_Put##SUFFIX(ORIGIN(COUNT), TARGET(COUNT), MPI_Win win) {                                      \
        return access(EventKind::put, AT(nullptr), nullptr,                                               \
                      [&] { return PMPI_Put##SUFFIX(ORIGIN_IN, TARGET_IN, win); });                       \
    }                                                                                                     \
    int MPI_Rput##SUFFIX(ORIGIN(COUNT), TARGET(COUNT), MPI_Win win, MPI_Request* request) {               \
        return access(EventKind::put, AT(nullptr), request,                                               \
                      [&] { return PMPI_Rput##SUFFIX(ORIGIN_IN, TARGET_IN, win, request); });             \
    }                                                                                                     \
    int MPI_Accumulate##SUFFIX(ORIGIN(COUNT), TARGET(COUNT), MPI_Op op, MPI_Win win) {                    \
        return access(EventKind::update, AT(nullptr), nullptr,                                            \
                      [&] { return PMPI_Accumulate##SUFFIX(ORIGIN_IN, TARGET_IN, op, win); });            \
    }                                                                                                     \
    int MPI_Raccumulate##SUFFIX(ORIGIN(COUNT), TARGET(COUNT), MPI_Op op, MPI_Win win,                     \
                                MPI_Request* request) {                                                   \
        return access(EventKind::update, AT(nullptr), request,                                            \
                      [&] { return PMPI_Raccumulate##SUFFIX(ORIGIN_IN, TARGET_IN, op, win, request); });  \
    }                                                                                                     \
    int MPI_Get_accumulate##SUFFIX(ORIGIN(COUNT), RESULT(COUNT), TARGET(COUNT), MPI_Op op, MPI_Win win) { \
        return access(fetching(op), AT(nullptr), nullptr, [&] {                                           \
            return PMPI_Get_accumulate##SUFFIX(ORIGIN_IN, RESULT_IN, TARGET_IN, op, win);                 \
        });                                                                                               \
    }                                                                                                     \
    int MPI_Rget_accumulate##SUFFIX(ORIGIN(COUNT), RESULT(COUNT), TARGET(COUNT), MPI_Op op, MPI_Win win,  \
                                    MPI_Request* request) {                                               \
        return access(fetching(op), AT(nullptr), request, [&] {                                           \
            return PMPI_Rget_accumulate##SUFFIX(ORIGIN_IN, RESULT_IN, TARGET_IN, op, win, request);       \
        });                                                                                               \
    }

extern "C" {

NEARFETCH_ACCESSES(, int)
#if NEARFETCH_LARGE_COUNT
NEARFETCH_ACCESSES(_c, MPI_Count)
#endif

int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Op op,
                     MPI_Win win) {
    return access(fetching(op), {nullptr, rank, disp, 1, type, win}, nullptr,
                  [&] { return PMPI_Fetch_and_op(origin, result, type, rank, disp, op, win); });
}

int MPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int rank,
                         MPI_Aint disp, MPI_Win win) {
    return access(EventKind::atomic, {nullptr, rank, disp, 1, type, win}, nullptr,
                  [&] { return PMPI_Compare_and_swap(origin, compare, result, type, rank, disp, win); });
}
}
