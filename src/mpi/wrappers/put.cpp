// SPDX-License-Identifier: Apache-2.0

// MPI_Put and MPI_Rput. A small put is combined in the first few lines where the engine wants that
// (write_combiner.hpp); all others become runs for it, or go to the library with everything combined before
// them. Errors are the library's own: whatever it would refuse is not combined, and is handed to it.

#include <mpi.h>

#include <optional>
#include <vector>

#include "base/thread_scratch.hpp"
#include "mpi/library.hpp"
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
    const bool overlapping = Library::overlapping();
    if (const int status = open_locks(window); status != MPI_SUCCESS) return status;
    if (window == nullptr || !window->has(put.target) || put.origin_count <= 0 || put.target_count <= 0)
        return call();
    WindowCache& cached = window->cache();
    int status = MPI_SUCCESS;
    if (!window->off()) {
        remember_mru(put.win, window);
        remember_mru(put.target_type);
        auto& runs = thread_scratch<std::vector<ByteRun>, struct RunsOfPut>();
        Starter<Call> starter(call);
        if (find_runs(*window, put, runs)) {
            status = cached.put(put.target, runs, starter, !overlapping, started);
        } else {
            // What it overwrites must not arrive after it.
            const int sent = cached.send_combined(put.target);
            status = call();
            if (status != MPI_SUCCESS) return status;
            cached.forget(put.target, {});
            status = sent;
        }
    } else {
        status = call();
    }
    // Where other windows may expose the same memory, its completion is news for them.
    if (overlapping && status == MPI_SUCCESS) cached.count_read(put.target, true);
    return status;
}

/// A put that nobody has to look at (WindowCache::put_passes).
[[gnu::always_inline]] inline bool passes(int target, MPI_Win win) noexcept {
    Window* const window = undisturbed_window(target, win);
    return window != nullptr && window->cache().put_passes(target);
}

/// A plain put that is combined in a few lines, or that nobody has to look at further because its target is
/// watched. \return whether it was one, and its status
template <class Count, class Call>
[[gnu::always_inline]] inline std::optional<int> try_put(const Access<Count>& put, const Call& call) {
    // What is combined is sent under the lock of its target.
    Window* const window = undisturbed_window(put.target, put.win);
    if (window == nullptr || put.origin_type != put.target_type || put.origin_count != put.target_count)
        return std::nullopt;
    const std::uint64_t size = bytes_of(mru_dense_bytes(put.target_type), put.target_count);
    if (size == 0) return std::nullopt;
    WindowCache& cached = window->cache();
    const std::uint64_t offset = window->offset(put.target, put.displacement);
    if (cached.put_goes_by(put.target)) {
        const int status = call();
        if (status == MPI_SUCCESS)
            cached.put_went_by(put.target, {offset, size, static_cast<std::byte*>(put.origin)});
        return status;
    }
    if (cached.try_combine(put.target, offset, size, put.origin)) return MPI_SUCCESS;
    return std::nullopt;
}

template <class Count, class Call>
int rput(const Access<Count>& put, MPI_Request* request, const Call& call) {
    bool started = true;
    const int status = put_slowly(put, &started, call);
    if (status != MPI_SUCCESS) return status;
    if (!started) {
        // Its buffer may be used again, and a request says no more. Nor has the library been entered.
        Window& window = *find_window(put.win);
        if (window.cache().put_waits()) window.serve_others();
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

// The bodies are the same for int and MPI_Count. What passes ends in the library's call, and needs no stack.
#define NEARFETCH_PUTS(SUFFIX, COUNT)                                                                      \
    [[gnu::noinline]] static int put_kept##SUFFIX(NEARFETCH_PARAMETERS(COUNT)) {                           \
        const Access<COUNT> put{                                                                           \
            const_cast<void*>(origin), origin_count, origin_type, rank, disp, count, type, win};           \
        const auto call = [&] { return PMPI_Put##SUFFIX(NEARFETCH_ARGUMENTS); };                           \
        if (const std::optional<int> status = try_put(put, call)) return *status;                          \
        return put_slowly(put, nullptr, call);                                                             \
    }                                                                                                      \
    [[gnu::always_inline]] static inline int see_put##SUFFIX(NEARFETCH_PARAMETERS(COUNT)) {                \
        if (passes(rank, win)) return PMPI_Put##SUFFIX(NEARFETCH_ARGUMENTS);                               \
        return put_kept##SUFFIX(NEARFETCH_ARGUMENTS);                                                      \
    }                                                                                                      \
    extern "C" int MPI_Rput##SUFFIX(NEARFETCH_PARAMETERS(COUNT), MPI_Request* request) {                   \
        return rput(Access<COUNT>{const_cast<void*>(origin), origin_count, origin_type, rank, disp, count, \
                                  type, win},                                                              \
                    request, [&] { return PMPI_Rput##SUFFIX(NEARFETCH_ARGUMENTS, request); });             \
    }

extern "C" {
NEARFETCH_IN_LINE("3") [[gnu::aligned(64)]] int MPI_Put(NEARFETCH_PARAMETERS(int)) {
    return recess.ways.put(NEARFETCH_ARGUMENTS);
}
}

NEARFETCH_PUTS(, int)

namespace nearfetch {

int put_seen(NEARFETCH_PARAMETERS(int)) { return see_put(NEARFETCH_ARGUMENTS); }

NEARFETCH_IN_LINE("3") int put_counted(NEARFETCH_PARAMETERS(int)) {
    return recess.updates.way_until_used_up(recess.library.Put, put_seen)(NEARFETCH_ARGUMENTS);
}

}  // namespace nearfetch

#if NEARFETCH_LARGE_COUNT
NEARFETCH_PUTS(_c, MPI_Count)
static int put_seen_c(NEARFETCH_PARAMETERS(MPI_Count)) { return see_put_c(NEARFETCH_ARGUMENTS); }
extern "C" NEARFETCH_IN_LINE("4") int MPI_Put_c(NEARFETCH_PARAMETERS(MPI_Count)) {
    return recess.updates.way(recess.library.Put_c, put_seen_c)(NEARFETCH_ARGUMENTS);
}
#endif
