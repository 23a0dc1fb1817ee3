// SPDX-License-Identifier: Apache-2.0

// MPI_Get and MPI_Rget. A get of one run of bytes that is in the cache is served in the first few lines; all
// others become runs for the window, or go to the library where nearfetch does not know their layout. Errors
// are the library's own: whatever it would refuse never hits, and is handed to it.

#include <mpi.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/copy.hpp"
#include "base/thread_scratch.hpp"
#include "mpi/lookups.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/simulated_time.hpp"
#include "mpi/wrappers/access.hpp"
#include "mpi/wrappers/checking.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace {

/// Whether a get's runs are not to be looked up, because these are many. Where nobody asks again for what
/// would still be fresh, they are not even counted.
template <class Count>
bool has_too_many_runs(Window& window, const Access<Count>& call, std::uint64_t size) {
    WindowCache& cache = window.cache();
    if (least_runs(call, runs_at_once) <= GetPath::few_runs) return false;
    const std::uint64_t offset = window.offset(call.target, call.displacement);
    const std::uint64_t shape = std::hash<MPI_Datatype>{}(call.target_type) + size;
    if (!cache.gets().is_asked_again(call.target, offset ^ (shape << 32))) return true;
    return !cache.gets().do_runs_pay(call.target, least_runs(call, window.run_limit()), size);
}

/// The library's own call of a get whose runs are not looked up.
template <class Count>
int get_uncached(Window& window, const Access<Count>& call, RequestId request, GetStarter& starter) {
    if (const int status = window.open_locks(); status != MPI_SUCCESS) return status;
    // It may read what this process has put.
    window.cache().updates().send_combined(call.target);
    const std::uint64_t begin_ticks = ticks();
    const int status = starter.start_whole();
    if (status == MPI_SUCCESS)
        window.cache().gets().record_uncached_get(range_get_of(window, call, request), origins_of(call),
                                                  ticks() - begin_ticks);
    return status;
}

}  // namespace

template <class Count>
int get_slowly(Window& window, const Access<Count>& call, RequestId request, GetStarter& starter,
               Begun& begun) {
    begun = Begun::started;
    interposer.note_time();
    // Nothing to move, nowhere to move it, or an error that is the library's to report.
    if (!window.has(call.target) || call.origin_count <= 0 || call.target_count <= 0)
        return starter.start_whole();
    if (window.off()) {
        const int status = starter.start_whole();
        if (status == MPI_SUCCESS)
            window.cache().gets().record_bypassed_get(range_get_of(window, call, request));
        return status;
    }
    auto& runs = thread_scratch<std::vector<ByteRun>, struct RunsOfGet>();
    const std::uint64_t size = target_bytes(call.target_type, call.target_count);
    if (has_too_many_runs(window, call, size) || !find_runs(window, call, runs))
        return get_uncached(window, call, request, starter);
    return window.cache().gets().get({call.target, runs, size, request, RequestTable::sees_completions()},
                                     starter, begun);
}

template int get_slowly(Window&, const Access<int>&, RequestId, GetStarter&, Begun&);
#if NEARFETCH_LARGE_COUNT
template int get_slowly(Window&, const Access<MPI_Count>&, RequestId, GetStarter&, Begun&);
#endif

namespace {

/// The library's own call, as the program made it.
#define NEARFETCH_START(SUFFIX, COUNT)                                                                 \
    int start(const Access<COUNT>& c, MPI_Request* request) {                                          \
        if (request == nullptr)                                                                        \
            return PMPI_Get##SUFFIX(c.origin, c.origin_count, c.origin_type, c.target, c.displacement, \
                                    c.target_count, c.target_type, c.win);                             \
        return PMPI_Rget##SUFFIX(c.origin, c.origin_count, c.origin_type, c.target, c.displacement,    \
                                 c.target_count, c.target_type, c.win, request);                       \
    }
NEARFETCH_START(, int)
#if NEARFETCH_LARGE_COUNT
NEARFETCH_START(_c, MPI_Count)
#endif

/// The same where a lock may have been kept back.
template <class Count>
int start_opened(Window& window, const Access<Count>& call, MPI_Request* request) {
    const int status = window.locks().open_to_get();
    return status == MPI_SUCCESS ? start(call, request) : status;
}

/// The library's call of a get that is bypassed.
template <class Count>
int start_bypassed(Window& window, const Access<Count>& call, const RangeGet& get) {
    const int status = start_opened(window, call, nullptr);
    if (status == MPI_SUCCESS) window.cache().gets().record_bypassed_get(get);
    interposer.note_time();
    interposer.passthrough.count_bypassed();
    return status;
}

/// Starts the network's part of a get, with a request if one is to be given, for which its window has that
/// id.
template <class Count>
class Starter final : public GetStarter {
  public:
    Starter(Window& window, const Access<Count>& call, MPI_Request* request, RequestId id) noexcept
        : window_(window), call_(call), request_(request), id_(id) {}
    int start_whole() override { return start_opened(window_, call_, request_); }
    int start_runs(std::span<const ByteRun> runs) override {
        if (const int status = window_.locks().open_to_get(); status != MPI_SUCCESS) return status;
        if (request_ == nullptr) return window_.transport().start_get(call_.target, runs);
        return window_.transport().start_rget(call_.target, runs, *request_);
    }
    int start_waiting(Moment leader) override {
        return start_waiting_request(window_, call_.target, id_, leader, request_);
    }

  private:
    Window& window_;
    const Access<Count>& call_;
    MPI_Request* request_;
    RequestId id_;
};

/// The window of a get, if it is the most recently used one.
Window* mru_window_of(int target, MPI_Win win) noexcept {
    Window* const window = mru_window(win);
    return window != nullptr && window->has(target) ? window : nullptr;
}

/// Bytes of a get of one run, with the same type, the most recently used one, and count on both sides; 0 of
/// others.
template <class Count>
std::uint64_t plain_bytes(Count origin_count, MPI_Datatype origin_type, Count target_count,
                          MPI_Datatype target_type) noexcept {
    if (origin_type != target_type || origin_count != target_count) [[unlikely]]
        return 0;
    if (const std::uint64_t size = remembered_bytes(target_type, target_count); size != 0) [[likely]]
        return size;
    return bytes_of(mru_dense_bytes(target_type), target_count);
}

/// A get whose window and types are found by their handles.
template <class Count>
[[gnu::noinline]] int get_by_handle(const Access<Count>& call) {
    Window* const window = find_window(call.win);
    if (window == nullptr) return start(call, nullptr);
    WindowCache& cache = window->cache();
    const bool moves = window->has(call.target) && call.origin_count > 0 && call.target_count > 0;
    // In several runs: nobody has to know which, if the target is bypassed.
    const std::uint64_t in_one = moves ? run_bytes(call) : 0;
    const std::uint64_t size =
        moves && in_one == 0 ? target_bytes(call.target_type, call.target_count) : in_one;
    remember_mru(call.win, window);
    remember_mru(call.target_type);
    remember_bytes(call.target_type, call.target_count);
    if (size != 0) {
        const RangeGet get{.target = call.target,
                           .offset = window->offset(call.target, call.displacement),
                           .size = size,
                           .origin = in_one == 0 ? nullptr : static_cast<std::byte*>(call.origin)};
        const Served served = in_one != 0                                  ? cache.gets().try_get(get)
                              : cache.gets().try_bypass(call.target, size) ? Served::bypass
                                                                           : Served::miss;
        if (served == Served::hit) {
            simulated::charge_hit(size);
            check_if_due(*window, get);
            return MPI_SUCCESS;
        }
        if (served == Served::bypass) return start_bypassed(*window, call, get);
    }
    Starter<Count> starter(*window, call, nullptr, 0);
    Begun begun{};
    const int status = get_slowly(*window, call, 0, starter, begun);
    if (in_one != 0 && is_complete(begun)) check_if_due(*window, range_get_of(*window, call), begun);
    return status;
}

/// A plain get of a bypassed target, of as many bytes as the last one.
template <class Count>
bool bypasses(Window& window, const Access<Count>& call) noexcept {
    const std::uint64_t size = remembered_bytes(call.target_type, call.target_count);
    return size != 0 && window.cache().bypass().is_bypassed(call.target) &&
           window.cache().gets().try_bypass(call.target, size);
}

/// A get that is no hit of the fast path.
template <class Count>
[[gnu::noinline]] int get_missed(void* origin, Count origin_count, MPI_Datatype origin_type, int target,
                                 MPI_Aint displacement, Count count, MPI_Datatype type, MPI_Win win) {
    const Access<Count> call{origin, origin_count, origin_type, target, displacement, count, type, win};
    Window* const window = mru_window_of(target, win);
    if (window == nullptr || !bypasses(*window, call)) return get_by_handle(call);
    const bool in_one = origin_type == type && origin_count == count;
    return start_bypassed(*window, call,
                          {.target = target,
                           .offset = window->offset(target, displacement),
                           .size = remembered_bytes(type, count),
                           .origin = in_one ? static_cast<std::byte*>(origin) : nullptr});
}

/// A hit of any size but the most frequent one.
[[gnu::noinline]] int copy_hit(void* origin, const std::byte* data, std::uint64_t size) noexcept {
    copy_bytes(static_cast<std::byte*>(origin), data, size);
    return MPI_SUCCESS;
}

/// The fast path: a hit is a lookup and a copy. Each call ends the function, so that a hit needs no stack.
template <class Count>
[[gnu::always_inline]] inline int get(void* origin, Count origin_count, MPI_Datatype origin_type, int target,
                                      MPI_Aint displacement, Count count, MPI_Datatype type, MPI_Win win) {
    Window* const window = mru_window_of(target, win);
    const std::uint64_t size = window == nullptr ? 0 : plain_bytes(origin_count, origin_type, count, type);
    const std::byte* const data =
        size == 0 ? nullptr
                  : window->cache().gets().find({.target = target,
                                                 .offset = window->offset(target, displacement),
                                                 .size = size,
                                                 .origin = static_cast<std::byte*>(origin)});
    if (data == nullptr) [[unlikely]]
        return get_missed<Count>(origin, origin_count, origin_type, target, displacement, count, type, win);
    simulated::charge_hit(size);
    if (size != 8) [[unlikely]]
        return copy_hit(origin, data, size);
    std::memcpy(origin, data, 8);
    return MPI_SUCCESS;
}

/// Others may write as soon as the program has waited for its request, which is complete: so what is fetched
/// again has to be there before.
void check_now_if_due(Window& window, const RangeGet& get, Begun begun = Begun::served) {
    if (!check_if_due(window, get, begun)) [[likely]]
        return;
    complete_by(window.cache(), get.target, FlushKind::local,
                [&] { return PMPI_Win_flush_local(get.target, window.handle()); });
}

/// The request of a get that is complete.
int served_request(Window& window, MPI_Request* request) {
    if (window.cache().progress().request_served()) window.serve_others();
    return completed_request(window, request);
}

/// One that goes to the library as it is.
template <class Count>
int rget_bypassed(Window& window, const Access<Count>& call, MPI_Request* request) {
    const RequestId id = next_request_id();
    const int status = start(call, request);
    if (status != MPI_SUCCESS) return status;
    window.cache().gets().record_bypassed_get(range_get_of(window, call, id));
    if (run_bytes(call) == 0) window.cache().gets().note_late(call.target, origins_of(call));
    track_silent_request(*request, window, id);
    interposer.passthrough.count_bypassed();
    return status;
}

template <class Count>
int rget(const Access<Count>& call, MPI_Request* request) {
    Window* const window = find_window(call.win);
    if (window == nullptr) return start(call, request);
    // The request is the library's also where everything hits.
    if (const int status = window->open_locks(); status != MPI_SUCCESS) return status;
    if (!window->has(call.target) || call.origin_count <= 0 || call.target_count <= 0) {
        const int status = start(call, request);
        if (status == MPI_SUCCESS) track_silent_request(*request, call.win);
        return status;
    }
    if (window->off()) return rget_bypassed(*window, call, request);
    WindowCache& cache = window->cache();
    if (const std::uint64_t size = run_bytes(call); size != 0) {
        const RangeGet get = range_get_of(*window, call);
        const Served served = cache.gets().try_get(get);
        if (served == Served::bypass) return rget_bypassed(*window, call, request);
        if (served == Served::hit) {
            check_now_if_due(*window, get);
            return served_request(*window, request);
        }
    }
    const RequestId id = next_request_id();
    Starter<Count> starter(*window, call, request, id);
    Begun begun{};
    if (const int status = get_slowly(*window, call, id, starter, begun); status != MPI_SUCCESS)
        return status;
    if (is_complete(begun)) {
        if (run_bytes(call) != 0) check_now_if_due(*window, range_get_of(*window, call), begun);
        return served_request(*window, request);
    }
    if (begun == Begun::waiting) return MPI_SUCCESS;
    if (complete_at_once(*window, *request))
        cache.completions().complete_request(call.target, id, true);
    else
        track_request(*request, *window, call.target, id,
                      begun == Begun::leader ? cache.completions().now() : 0);
    return MPI_SUCCESS;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

#define NEARFETCH_PARAMETERS(COUNT)                                                                   \
    void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp, COUNT count, \
        MPI_Datatype type, MPI_Win win
#define NEARFETCH_ARGUMENTS origin, origin_count, origin_type, rank, disp, count, type, win

// The bodies are the same for int and MPI_Count.
#define NEARFETCH_GETS(SUFFIX, COUNT)                                                                    \
    [[gnu::noinline]] static int get_passed_through##SUFFIX(NEARFETCH_PARAMETERS(COUNT)) {               \
        if (interposer.passthrough.takes_call()) return PMPI_Get##SUFFIX(NEARFETCH_ARGUMENTS);           \
        return get_missed<COUNT>(NEARFETCH_ARGUMENTS);                                                   \
    }                                                                                                    \
    int MPI_Get##SUFFIX(NEARFETCH_PARAMETERS(COUNT)) {                                                   \
        if (interposer.passthrough.is_on()) [[unlikely]]                                                 \
            return get_passed_through##SUFFIX(NEARFETCH_ARGUMENTS);                                      \
        return get<COUNT>(NEARFETCH_ARGUMENTS);                                                          \
    }                                                                                                    \
    int MPI_Rget##SUFFIX(NEARFETCH_PARAMETERS(COUNT), MPI_Request* request) {                            \
        if (interposer.passthrough.takes_call()) return PMPI_Rget##SUFFIX(NEARFETCH_ARGUMENTS, request); \
        return rget<COUNT>({NEARFETCH_ARGUMENTS}, request);                                              \
    }

extern "C" {
NEARFETCH_GETS(, int)
#if NEARFETCH_LARGE_COUNT
NEARFETCH_GETS(_c, MPI_Count)
#endif
}
