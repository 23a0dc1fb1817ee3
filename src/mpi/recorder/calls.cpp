// SPDX-License-Identifier: Apache-2.0

// The other calls that the recorder sees by hand: windows, epochs, requests, and the beginning of MPI.

#include <mpi.h>

#include <vector>

#include "mpi/mpi_library.hpp"
#include "mpi/recorder/acquire_scope.hpp"
#include "mpi/window_group.hpp"
#include "mpi/wrappers/window_creation.hpp"

namespace nearfetch {

namespace {

template <class Create>
int create_window(const char* call, WindowMemory memory, MPI_Aint size, MPI_Aint unit, MPI_Info /*info*/,
                  MPI_Comm comm, const void* base, const MPI_Win* win, const Create& make) {
    const std::uint64_t begin = ticks();
    const int status = make();
    recorder.acquire(call, begin);
    if (status == MPI_SUCCESS && comm != MPI_COMM_NULL && memory != WindowMemory::shared)
        recorder.add_window(*win, comm, static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(unit),
                            memory == WindowMemory::declared ? *static_cast<void* const*>(base) : nullptr);
    return status;
}

/// Makes the library's call, and records it if it succeeds.
template <class Call>
int recorded(EventKind kind, MPI_Win win, int target, bool flag, const Call& call) {
    const std::uint64_t begin = ticks();
    const int status = call();
    if (status == MPI_SUCCESS) recorder.add(kind, win, target, flag, begin);
    return status;
}

/// A call that completes requests. \param found how many it has completed, and where they stand
template <class Call, class Found>
int complete_requests(const char* name, int count, const MPI_Request* requests, const Call& call,
                      const Found& found) {
    if (!recorder.is_on() || count <= 0) return call();
    const std::vector<MPI_Request> before(requests, requests + count);
    const std::uint64_t begin = ticks();
    const int status = call();
    bool synchronises = status != MPI_SUCCESS;
    std::uint64_t since = begin;
    if (status == MPI_SUCCESS)
        found([&](int i) {
            const MPI_Request one = before[static_cast<std::size_t>(i)];
            if (one == MPI_REQUEST_NULL) return;
            synchronises |= recorder.complete(one, since);
            since = ticks();  // the time is that of the first one
        });
    if (synchronises) recorder.acquire(name, since);
    return status;
}

/// Each of so many.
auto all_of(int count) {
    return [count](const auto& each) {
        for (int i = 0; i < count; ++i)
            each(i);
    };
}
/// The one that an index names, if there is one.
auto one_of(const int& index, bool is_done = true) {
    return [&index, is_done](const auto& each) {
        if (is_done && index != MPI_UNDEFINED) each(index);
    };
}
/// Those that a list of indices names.
auto some_of(const int& count, const int* indices) {
    return [&count, indices](const auto& each) {
        for (int i = 0; count != MPI_UNDEFINED && i < count; ++i)
            each(indices[i]);
    };
}

/// The same of a call that acquires.
template <class Call>
int acquiring(EventKind kind, const char* name, MPI_Win win, int target, bool flag, const Call& call) {
    const int status = recorded(kind, win, target, flag, call);
    recorder.acquire(name);
    return status;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

int MPI_Init(int* argc, char*** argv) {
    need_mpi_library();
    const int status = PMPI_Init(argc, argv);
    recorder.begin();
    return status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    need_mpi_library();
    const int status = PMPI_Init_thread(argc, argv, required, provided);
    recorder.begin();
    return status;
}

NEARFETCH_WINDOW_CREATION

int MPI_Win_free(MPI_Win* win) {
    recorder.remove_window(*win);
    const AcquireScope acquires("MPI_Win_free");
    return PMPI_Win_free(win);
}

int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
    const auto call = [&] { return PMPI_Win_lock(lock_type, rank, assert, win); };
    return recorded(EventKind::lock, win, rank, lock_type == MPI_LOCK_EXCLUSIVE, call);
}
int MPI_Win_unlock(int rank, MPI_Win win) {
    return recorded(EventKind::unlock, win, rank, false, [&] { return PMPI_Win_unlock(rank, win); });
}
int MPI_Win_lock_all(int assert, MPI_Win win) {
    return recorded(EventKind::lock_all, win, 0, false, [&] { return PMPI_Win_lock_all(assert, win); });
}
int MPI_Win_unlock_all(MPI_Win win) {
    return recorded(EventKind::unlock_all, win, 0, false, [&] { return PMPI_Win_unlock_all(win); });
}
int MPI_Win_flush(int rank, MPI_Win win) {
    return recorded(EventKind::flush, win, rank, false, [&] { return PMPI_Win_flush(rank, win); });
}
int MPI_Win_flush_local(int rank, MPI_Win win) {
    return recorded(EventKind::flush, win, rank, true, [&] { return PMPI_Win_flush_local(rank, win); });
}
int MPI_Win_flush_all(MPI_Win win) {
    return recorded(EventKind::flush_all, win, 0, false, [&] { return PMPI_Win_flush_all(win); });
}
int MPI_Win_flush_local_all(MPI_Win win) {
    return recorded(EventKind::flush_all, win, 0, true, [&] { return PMPI_Win_flush_local_all(win); });
}

int MPI_Win_fence(int assert, MPI_Win win) {
    return acquiring(EventKind::fence, "MPI_Win_fence", win, 0, (assert& MPI_MODE_NOSUCCEED) != 0,
                     [&] { return PMPI_Win_fence(assert, win); });
}
int MPI_Win_start(MPI_Group group, int assert, MPI_Win win) {
    const std::uint64_t begin = ticks();
    const int status = PMPI_Win_start(group, assert, win);
    if (status == MPI_SUCCESS) {
        const std::vector<Rank> ranks = ranks_of(win, group);
        recorder.add(EventKind::start, win, 0, false, begin, {ranks.begin(), ranks.end()});
    }
    recorder.acquire("MPI_Win_start");
    return status;
}
int MPI_Win_complete(MPI_Win win) {
    return acquiring(EventKind::complete, "MPI_Win_complete", win, 0, false,
                     [&] { return PMPI_Win_complete(win); });
}
int MPI_Win_sync(MPI_Win win) {
    return acquiring(EventKind::sync, "MPI_Win_sync", win, 0, false, [&] { return PMPI_Win_sync(win); });
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return complete_requests("MPI_Wait", 1, request, [&] { return PMPI_Wait(request, status); }, all_of(1));
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return complete_requests(
        "MPI_Waitall", count, requests, [&] { return PMPI_Waitall(count, requests, statuses); },
        all_of(count));
}
int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return complete_requests(
        "MPI_Waitany", count, requests, [&] { return PMPI_Waitany(count, requests, index, status); },
        one_of(*index));
}
int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return complete_requests(
        "MPI_Waitsome", count, requests,
        [&] { return PMPI_Waitsome(count, requests, done, indices, statuses); }, some_of(*done, indices));
}
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return complete_requests(
        "MPI_Test", 1, request, [&] { return PMPI_Test(request, flag, status); },
        [&](const auto& each) {
            if (*flag) each(0);
        });
}
int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return complete_requests(
        "MPI_Testall", count, requests, [&] { return PMPI_Testall(count, requests, flag, statuses); },
        [&](const auto& each) {
            if (*flag) all_of(count)(each);
        });
}
int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
    return complete_requests(
        "MPI_Testany", count, requests, [&] { return PMPI_Testany(count, requests, index, flag, status); },
        [&](const auto& each) { one_of(*index, *flag != 0)(each); });
}
int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return complete_requests(
        "MPI_Testsome", count, requests,
        [&] { return PMPI_Testsome(count, requests, done, indices, statuses); }, some_of(*done, indices));
}
int MPI_Request_free(MPI_Request* request) {
    recorder.forget(*request);
    return PMPI_Request_free(request);
}
int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    const int outcome = PMPI_Request_get_status(request, flag, status);
    if (outcome == MPI_SUCCESS && *flag && recorder.may_synchronise(request))
        recorder.acquire("MPI_Request_get_status");
    return outcome;
}
}
