// SPDX-License-Identifier: Apache-2.0

// Accumulates and atomics always go to the network, after what this process has put there. What they leave
// behind is not known, so that the bytes they overlap in this rank's cache are forgotten. MPI_NO_OP changes
// nothing, and reads that are atomics are never served from the cache: a program may poll with them.

#include <mpi.h>

#include <new>
#include <span>
#include <vector>

#include "base/thread_scratch.hpp"
#include "mpi/lookups.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/wrappers/access.hpp"
#include "mpi/wrappers/checking.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace {

/// The target's side of an update.
struct UpdateTarget {
    int rank;
    MPI_Aint displacement;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Win win;
};

/// Whether the completion of an update may synchronise: its result, if it is an atomic (a read is one like
/// others: processes hand data over by a flag that one sets and the other reads), or what it wrote, if other
/// windows may expose the same memory.
/// \param call the atomic's name, null for an update that brings nothing back
bool may_synchronise(const Window& window, const char* call) noexcept {
    if (interposer.has_overlapping_windows()) return true;
    return call != nullptr && window.atomics_synchronize() && !left_out(call);
}

/// An atomic that changes nothing, or of a window that nothing is cached of: only whether it synchronises
/// counts.
void note_read(const UpdateTarget& to, const char* call) noexcept {
    Window* const window = find_window(to.win);
    if (window == nullptr || !window->has(to.rank)) return;
    remember_mru(to.win, window);
    const bool synchronises = may_synchronise(*window, call);
    if (synchronises || !window->off()) window->cache().updates().read_started(to.rank, synchronises);
}

/// The request of an atomic: its end synchronises. Where it has ended already nobody will see that.
void track_atomic_request(MPI_Request request, MPI_Win win) {
    const char* const call = "MPI_Rget_accumulate";
    const Window* const window = find_window(win);
    if (window != nullptr && !may_synchronise(*window, call))
        track_silent_request(request, win);
    else if (window == nullptr || complete_at_once(*window, request))
        acquire_by(call);
}

/// Starts the atomic, after what this process has put to that target.
/// \return the first error
template <class Call>
int start_in_order(Window* window, const UpdateTarget& to, const Call& call) {
    if (window == nullptr) return call();
    if (const int status = window->open_locks(); status != MPI_SUCCESS) return status;
    const int sent = window->off() || !window->has(to.rank)
                         ? MPI_SUCCESS
                         : window->cache().updates().send_combined(to.rank);
    const int status = call();
    return sent != MPI_SUCCESS ? sent : status;
}

/// Counts an update or atomic of a bypassed target. \return whether it goes to the library as it is
/// \param call the atomic's name, null for an update that brings nothing back
bool bypasses(int target, MPI_Win win, const char* call) noexcept {
    Window* const window = undisturbed_window(target, win);
    if (window == nullptr || !window->cache().updates().bypass_update(target, may_synchronise(*window, call)))
        return false;
    interposer.passthrough.count_bypassed();
    return true;
}

/// The bytes at the target; none if they are not known.
void find_target_runs(const Window& window, const UpdateTarget& to, std::vector<ByteRun>& runs) noexcept {
    try {
        const std::uint64_t size = bytes_of(dense_bytes(to.type), to.count);
        const std::uint64_t offset = window.offset(to.rank, to.displacement);
        if (size != 0 && offset + size >= offset)
            runs.assign(1, {offset, size, nullptr});
        else if (!make_target_runs(window, to.rank, to.displacement, static_cast<std::uint64_t>(to.count),
                                   to.type, runs))
            runs.clear();
    } catch (const std::bad_alloc&) {
        runs.clear();
    }
}

template <class Call>
int update(const char* name, const UpdateTarget& to, const Call& call) {
    Window* const window = find_window(to.win);
    const int status = start_in_order(window, to, call);
    if (status != MPI_SUCCESS) return status;
    if (window == nullptr || window->off() || !window->has(to.rank)) {
        note_read(to, name);
        return status;
    }
    remember_mru(to.win, window);
    auto& runs = thread_scratch<std::vector<ByteRun>, struct RunsOfUpdate>();
    runs.clear();
    if (!window->cache().bypass().is_bypassed(to.rank)) find_target_runs(*window, to, runs);
    window->cache().updates().update_started(to.rank, runs, may_synchronise(*window, name));
    return status;
}

/// The library's own call, which reads atomically; what is left of a partial hit is an ordinary get.
template <class Call>
class ReadStarter final : public GetStarter {
  public:
    ReadStarter(Window& window, Rank target, const Call& call) noexcept
        : window_(window), target_(target), call_(call) {}
    int start_whole() override {
        const int status = window_.open_locks();
        return status == MPI_SUCCESS ? call_() : status;
    }
    int start_runs(std::span<const ByteRun> runs) override {
        if (const int status = window_.open_locks(); status != MPI_SUCCESS) return status;
        return window_.transport().start_get(target_, runs);
    }

  private:
    Window& window_;
    Rank target_;
    const Call& call_;
};

/// An atomic that only reads, where the program has promised that a get would do.
/// \return whether it was one, and `status` is its status
template <class Count, class Call>
bool read_by_get(const Access<Count>& access, MPI_Op op, const Call& call, int& status) {
    if (op != MPI_NO_OP) [[likely]]
        return false;
    Window* const window = find_window(access.win);
    if (window == nullptr || !window->caches_atomic_reads()) return false;
    ReadStarter<Call> starter(*window, access.target, call);
    status = MPI_SUCCESS;
    if (window->has(access.target) && run_bytes(access) != 0) {
        const RangeGet get = range_get_of(*window, access);
        const Served served = window->cache().gets().try_get(get);
        if (served == Served::hit) check_if_due(*window, get);
        if (served == Served::bypass) {
            status = starter.start_whole();
            if (status == MPI_SUCCESS) window->cache().gets().record_bypassed_get(get);
        }
        if (served == Served::hit || served == Served::bypass) return true;
    }
    Begun begun{};
    status = get_slowly(*window, access, 0, starter, begun);
    if (is_complete(begun) && run_bytes(access) != 0)
        check_if_due(*window, range_get_of(*window, access), begun);
    return true;
}

/// An accumulate with an operation: only those that change something make the cache forget.
template <class Call>
int accumulate(const char* name, const UpdateTarget& to, MPI_Op op, const Call& call) {
    if (op != MPI_NO_OP) return update(name, to, call);
    const int status = start_in_order(find_window(to.win), to, call);
    if (status == MPI_SUCCESS) note_read(to, name);
    return status;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

// The bodies are the same for int and MPI_Count. An atomic that only reads is not bypassed here, because it
// may be served.
#define NEARFETCH_UPDATE_PARAMETERS(COUNT)                                                                  \
    const void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp, COUNT count, \
        MPI_Datatype type, MPI_Op op, MPI_Win win
#define NEARFETCH_UPDATE_ARGUMENTS origin, origin_count, origin_type, rank, disp, count, type, op, win
#define NEARFETCH_ATOMIC_PARAMETERS(COUNT)                                                              \
    const void *origin, COUNT origin_count, MPI_Datatype origin_type, void *result, COUNT result_count, \
        MPI_Datatype result_type, int rank, MPI_Aint disp, COUNT count, MPI_Datatype type, MPI_Op op,   \
        MPI_Win win
#define NEARFETCH_ATOMIC_ARGUMENTS \
    origin, origin_count, origin_type, result, result_count, result_type, rank, disp, count, type, op, win

#define NEARFETCH_UPDATES(SUFFIX, COUNT)                                                               \
    int MPI_Accumulate##SUFFIX(NEARFETCH_UPDATE_PARAMETERS(COUNT)) {                                   \
        if (interposer.passthrough.takes_update() || bypasses(rank, win, nullptr))                     \
            return PMPI_Accumulate##SUFFIX(NEARFETCH_UPDATE_ARGUMENTS);                                \
        return accumulate(nullptr, {rank, disp, count, type, win}, op,                                 \
                          [&] { return PMPI_Accumulate##SUFFIX(NEARFETCH_UPDATE_ARGUMENTS); });        \
    }                                                                                                  \
    int MPI_Raccumulate##SUFFIX(NEARFETCH_UPDATE_PARAMETERS(COUNT), MPI_Request* request) {            \
        const int status = accumulate(nullptr, {rank, disp, count, type, win}, op, [&] {               \
            return PMPI_Raccumulate##SUFFIX(NEARFETCH_UPDATE_ARGUMENTS, request);                      \
        });                                                                                            \
        if (status == MPI_SUCCESS) track_silent_request(*request, win);                                \
        return status;                                                                                 \
    }                                                                                                  \
    int MPI_Get_accumulate##SUFFIX(NEARFETCH_ATOMIC_PARAMETERS(COUNT)) {                               \
        if (interposer.passthrough.takes_fetch())                                                      \
            return PMPI_Get_accumulate##SUFFIX(NEARFETCH_ATOMIC_ARGUMENTS);                            \
        const auto call = [&] { return PMPI_Get_accumulate##SUFFIX(NEARFETCH_ATOMIC_ARGUMENTS); };     \
        int status = MPI_SUCCESS;                                                                      \
        const Access<COUNT> access{result, result_count, result_type, rank, disp, count, type, win};   \
        if (read_by_get(access, op, call, status)) return status;                                      \
        return accumulate("MPI_Get_accumulate", {rank, disp, count, type, win}, op, call);             \
    }                                                                                                  \
    int MPI_Rget_accumulate##SUFFIX(NEARFETCH_ATOMIC_PARAMETERS(COUNT), MPI_Request* request) {        \
        const int status = accumulate("MPI_Rget_accumulate", {rank, disp, count, type, win}, op, [&] { \
            return PMPI_Rget_accumulate##SUFFIX(NEARFETCH_ATOMIC_ARGUMENTS, request);                  \
        });                                                                                            \
        if (status == MPI_SUCCESS) track_atomic_request(*request, win);                                \
        return status;                                                                                 \
    }

extern "C" {

NEARFETCH_UPDATES(, int)
#if NEARFETCH_LARGE_COUNT
NEARFETCH_UPDATES(_c, MPI_Count)
#endif

int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Op op,
                     MPI_Win win) {
    const auto call = [&] { return PMPI_Fetch_and_op(origin, result, type, rank, disp, op, win); };
    if (interposer.passthrough.takes_fetch() || (op != MPI_NO_OP && bypasses(rank, win, "MPI_Fetch_and_op")))
        return call();
    int status = MPI_SUCCESS;
    if (read_by_get(Access<int>{result, 1, type, rank, disp, 1, type, win}, op, call, status)) return status;
    return accumulate("MPI_Fetch_and_op", {rank, disp, 1, type, win}, op, call);
}

#if defined(NEARFETCH_MPI_SMPI)
using Compared = void*;
#else
using Compared = const void*;
#endif
int MPI_Compare_and_swap(const void* origin, Compared compare, void* result, MPI_Datatype type, int rank,
                         MPI_Aint disp, MPI_Win win) {
    const auto call = [&] { return PMPI_Compare_and_swap(origin, compare, result, type, rank, disp, win); };
    if (interposer.passthrough.takes_fetch() || bypasses(rank, win, "MPI_Compare_and_swap")) return call();
    return update("MPI_Compare_and_swap", {rank, disp, 1, type, win}, call);
}
}
