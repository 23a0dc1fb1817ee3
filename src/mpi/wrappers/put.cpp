// SPDX-License-Identifier: Apache-2.0

// MPI_Put and MPI_Rput. A small put is combined in the first few lines where that pays
// (write_combiner.hpp); all others become runs for it, or go to the library with everything combined before
// them. Errors are the library's own: whatever it would refuse is not combined, and is handed to it.

#include <mpi.h>

#include <vector>

#include "base/thread_scratch.hpp"
#include "mpi/lookups.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/wrappers/access.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace {

/// The library's own call.
template <class Call>
class Starter final : public PutStarter {
  public:
    explicit Starter(const Call& call) noexcept : call_(call) {}
    int start() override { return call_(); }

  private:
    const Call& call_;
};

/// A put that is not combined in its first few lines.
/// \param started whether the library was called
template <class Count, class Call>
[[gnu::noinline]] int put_slowly(const Access<Count>& put, bool* started, const Call& call) {
    if (started != nullptr) *started = true;
    Window* const window = find_window(put.win);
    const bool overlapping = interposer.has_overlapping_windows();
    if (const int status = open_locks(window); status != MPI_SUCCESS) return status;
    if (window == nullptr || !window->has(put.target) || put.origin_count <= 0 || put.target_count <= 0)
        return call();
    WindowCache& cache = window->cache();
    int status = MPI_SUCCESS;
    if (!window->off()) {
        remember_mru(put.win, window);
        remember_mru(put.target_type);
        auto& runs = thread_scratch<std::vector<ByteRun>, struct RunsOfPut>();
        Starter<Call> starter(call);
        if (find_runs(*window, put, runs)) {
            status = cache.updates().put(put.target, runs, starter, !overlapping, started);
        } else {
            // What it overwrites must not arrive after it.
            const int sent = cache.updates().send_combined(put.target);
            status = call();
            if (status != MPI_SUCCESS) return status;
            cache.updates().update_started(put.target, {});
            status = sent;
        }
    } else {
        status = call();
    }
    // Where other windows may expose the same memory, its completion is an acquire for them.
    if (overlapping && status == MPI_SUCCESS) cache.updates().read_started(put.target, true);
    return status;
}

/// Counts a put of a bypassed target. \return whether it goes to the library as it is
bool bypasses(int target, MPI_Win win) noexcept {
    Window* const window = undisturbed_window(target, win);
    if (window == nullptr || !window->cache().updates().bypass_put(target)) return false;
    interposer.passthrough.count_bypassed();
    return true;
}

/// A plain put that is combined in a few lines.
template <class Count>
bool try_put(const Access<Count>& put) noexcept {
    // What is combined is sent under the lock of its target.
    Window* const window = undisturbed_window(put.target, put.win);
    if (window == nullptr || put.origin_type != put.target_type || put.origin_count != put.target_count)
        return false;
    const std::uint64_t size = bytes_of(mru_dense_bytes(put.target_type), put.target_count);
    if (size == 0) return false;
    return window->cache().updates().try_combine(put.target, window->offset(put.target, put.displacement),
                                                 size, put.origin);
}

template <class Count, class Call>
int rput(const Access<Count>& put, MPI_Request* request, const Call& call) {
    bool started = true;
    const int status = put_slowly(put, &started, call);
    if (status != MPI_SUCCESS) return status;
    if (!started) {
        // Its buffer may be used again, and a request says no more. Nor has the library been entered.
        Window& window = *find_window(put.win);
        if (window.cache().progress().put_waits()) window.serve_others();
        return completed_request(window, request);
    }
    track_silent_request(*request, put.win);
    return status;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

#define NEARFETCH_PARAMETERS(COUNT)                                                                         \
    const void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp, COUNT count, \
        MPI_Datatype type, MPI_Win win
#define NEARFETCH_ARGUMENTS origin, origin_count, origin_type, rank, disp, count, type, win

// The bodies are the same for int and MPI_Count.
#define NEARFETCH_PUTS(SUFFIX, COUNT)                                                                      \
    extern "C" int MPI_Put##SUFFIX(NEARFETCH_PARAMETERS(COUNT)) {                                          \
        if (interposer.passthrough.takes_update() || bypasses(rank, win))                                  \
            return PMPI_Put##SUFFIX(NEARFETCH_ARGUMENTS);                                                  \
        const Access<COUNT> put{                                                                           \
            const_cast<void*>(origin), origin_count, origin_type, rank, disp, count, type, win};           \
        if (try_put(put)) return MPI_SUCCESS;                                                              \
        return put_slowly(put, nullptr, [&] { return PMPI_Put##SUFFIX(NEARFETCH_ARGUMENTS); });            \
    }                                                                                                      \
    extern "C" int MPI_Rput##SUFFIX(NEARFETCH_PARAMETERS(COUNT), MPI_Request* request) {                   \
        return rput(Access<COUNT>{const_cast<void*>(origin), origin_count, origin_type, rank, disp, count, \
                                  type, win},                                                              \
                    request, [&] { return PMPI_Rput##SUFFIX(NEARFETCH_ARGUMENTS, request); });             \
    }

NEARFETCH_PUTS(, int)
#if NEARFETCH_LARGE_COUNT
NEARFETCH_PUTS(_c, MPI_Count)
#endif
