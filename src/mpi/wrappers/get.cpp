// SPDX-License-Identifier: Apache-2.0

// MPI_Get and MPI_Rget. A get of one run of bytes that is in the cache is served in the first few lines; all
// others become runs for the engine, or pass by unseen where nearfetch does not know what they mean. Errors
// are the library's own: whatever it would refuse never hits, and is handed to it.

#include <mpi.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/copy.hpp"
#include "base/thread_scratch.hpp"
#include "mpi/library.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/wrappers/access.hpp"
#include "mpi/wrappers/checking.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace {

/// Whether a get is not to be looked at in runs, because these are many. Where nobody asks again for what
/// would still be fresh, they are not even counted.
template <class Count>
bool has_too_many_runs(Window& window, const Access<Count>& call, std::uint64_t size) {
    WindowCache& cached = window.cache();
    if (least_runs(call, runs_at_once) <= WindowCache::few_runs) return false;
    const std::uint64_t offset = window.offset(call.target, call.displacement);
    const std::uint64_t shape = std::hash<MPI_Datatype>{}(call.target_type) + size;
    if (!cached.asked_again(call.target, offset ^ (shape << 32))) return true;
    return !cached.runs_pay(call.target, least_runs(call, window.run_limit()), size);
}

/// The library's own call of a get that is not looked at in runs.
template <class Count>
int get_unseen(Window& window, const Access<Count>& call, RequestId request, GetStarter& starter) {
    // It may read what this process has put.
    window.cache().send_combined(call.target);
    const std::uint64_t begin_ticks = ticks();
    const int status = starter.start_whole();
    if (status == MPI_SUCCESS)
        window.cache().count_bypassed(range_get_of(window, call, request), origins_of(call),
                                      ticks() - begin_ticks);
    return status;
}

}  // namespace

template <class Count>
int get_slowly(Window& window, const Access<Count>& call, RequestId request, GetStarter& starter,
               Begun& begun) {
    begun = Begun::started;
    // Nothing to move, nowhere to move it, or an error that is the library's to report.
    if (!window.has(call.target) || call.origin_count <= 0 || call.target_count <= 0)
        return starter.start_whole();
    if (window.off()) {
        const int status = starter.start_whole();
        if (status == MPI_SUCCESS) window.cache().note_bypassed_get(range_get_of(window, call, request));
        return status;
    }
    auto& runs = thread_scratch<std::vector<ByteRun>, struct RunsOfGet>();
    const std::uint64_t size = target_bytes(call.target_type, call.target_count);
    if (has_too_many_runs(window, call, size) || !find_runs(window, call, runs))
        return get_unseen(window, call, request, starter);
    return window.cache().get({call.target, runs, size, request, RequestTable::sees_completions()}, starter,
                              begun);
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
    const int status = window.open_locks();
    return status == MPI_SUCCESS ? start(call, request) : status;
}

/// The library's call of a get that passes.
template <class Count>
[[gnu::always_inline]] inline int start_bypassed(Window& window, const Access<Count>& call,
                                                 const RangeGet& get, MPI_Request* request) {
    const int status = start_opened(window, call, request);
    if (status == MPI_SUCCESS) window.cache().note_bypassed_get(get);
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
        if (const int status = window_.open_locks(); status != MPI_SUCCESS) return status;
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

/// Windows that are off are not at hand: their gets count to the next recess here.
bool recess_begins(const Window& window) noexcept {
    return window.off() && !Library::instance().threaded() && recess.falls_due() && recess.begins_with_get();
}

/// What the hot path did not finish. Not inlined, so that hits do not pay for what this needs of registers
/// and stack.
/// \param looked_up the hot path has seen that it is not at hand
template <class Count, bool looked_up>
[[gnu::noinline]] int get_after_miss(void* origin, Count origin_count, MPI_Datatype origin_type, int target,
                                     MPI_Aint displacement, Count target_count, MPI_Datatype target_type,
                                     MPI_Win win) {
    const Access<Count> call{origin,       origin_count, origin_type, target,
                             displacement, target_count, target_type, win};
    Window* const window = find_window(win);
    if (window == nullptr || recess_begins(*window)) return start(call, nullptr);
    if constexpr (!looked_up) {
        remember_mru(win, window);
        remember_mru(target_type);
    }
    WindowCache& cached = window->cache();
    // In runs: nobody has to know which, if nothing of them is cached.
    const std::uint64_t in_one = run_bytes(call);
    remember_bytes(target_type, target_count);
    const bool moves = window->has(target) && origin_count > 0 && target_count > 0;
    const std::uint64_t size = in_one != 0 || !moves ? in_one : target_bytes(target_type, target_count);
    if (moves && size != 0) {
        const std::uint64_t offset = window->offset(target, displacement);
        const RangeGet get{.target = target,
                           .offset = offset,
                           .size = size,
                           .origin = in_one == 0 ? nullptr : static_cast<std::byte*>(origin)};
        Served served = Served::miss;
        if (in_one == 0)
            served = cached.passes_slowly(target, size) ? Served::pass : served;
        else
            served = looked_up ? cached.try_get_further(get) : cached.try_get_slowly(get);
        if (served == Served::hit) {
            check_if_due(*window, target, offset, origin, size);
            return MPI_SUCCESS;
        }
        if (served == Served::pass) return start_bypassed(*window, call, get, nullptr);
        if (cached.lets_pass(target, offset)) {
            const int status = start_opened(*window, call, nullptr);
            if (status == MPI_SUCCESS) cached.went_by(get);
            return status;
        }
    }
    Starter<Count> starter(*window, call, nullptr, 0);
    Begun begun{};
    return get_slowly(*window, call, 0, starter, begun);
}

/// The window of a get that may pass or hit without asking further, if it is at hand.
[[gnu::always_inline]] inline Window* near_window(int target, MPI_Win win) noexcept {
    Window* const window = mru_window(win);
    return window != nullptr && window->has(target) ? window : nullptr;
}

/// Bytes of a get of one run, with the same type, which is at hand, and count on both sides; 0 of others.
/// Takes the arguments one by one, because a compiler that sees neighbours in a struct compares them by way
/// of memory.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t plain_bytes(Count origin_count, MPI_Datatype origin_type,
                                                        Count target_count,
                                                        MPI_Datatype target_type) noexcept {
    if (origin_type != target_type) [[unlikely]]
        return 0;
    if (origin_count != target_count) [[unlikely]]
        return 0;
    if (const std::uint64_t size = remembered_bytes(target_type, target_count); size != 0) [[likely]]
        return size;
    return bytes_of(mru_dense_bytes(target_type), target_count);
}

/// True if the target is asleep: then the get has been counted, and goes to the library as it is.
/// \param size 0 if it is not known: then it does not pass yet
[[gnu::always_inline]] inline bool passes(Window& window, int target, std::uint64_t size) noexcept {
    return size != 0 && !window.locks_wait() && window.cache().passes(target, size);
}

/// A get of a target that nothing is kept of, and not of as many bytes as the last one that passed; or one
/// that does not pass.
template <class Count>
[[gnu::noinline]] int get_asleep(void* origin, Count origin_count, MPI_Datatype origin_type, int target,
                                 MPI_Aint displacement, Count count, MPI_Datatype type, MPI_Win win) {
    const Access<Count> call{origin, origin_count, origin_type, target, displacement, count, type, win};
    if (recess.begins_with_get()) return start(call, nullptr);
    Window* const window = near_window(target, win);
    const std::uint64_t size = origin_count > 0 ? target_bytes(type, count) : 0;
    if (window == nullptr || !passes(*window, target, size))
        return get_after_miss<Count, false>(origin, origin_count, origin_type, target, displacement, count,
                                            type, win);
    remember_bytes(type, count);
    return start_bypassed(*window, call, range_get_of(*window, call), nullptr);
}

/// A plain get whose window and type are at hand, and that the hot path did not look up.
template <class Count>
[[gnu::noinline]] int get_not_looked_up(void* origin, Count count, MPI_Datatype type, int target,
                                        MPI_Aint displacement) {
    const MPI_Win win = detail::mru.win;
    Window& window = *detail::mru.window;
    const Access<Count> call{origin, count, type, target, displacement, count, type, win};
    const RangeGet get{.target = target,
                       .offset = window.offset(target, displacement),
                       .size = plain_bytes(count, type, count, type),
                       .origin = static_cast<std::byte*>(origin)};
    if (!window.cache().passes_watched(get))
        return get_after_miss<Count, false>(origin, count, type, target, displacement, count, type, win);
    return start_bypassed(window, call, get, nullptr);
}

/// A hit of any size but the most frequent one.
[[gnu::noinline]] int hit_of_some_size(void* origin, const std::byte* data, std::uint64_t size) noexcept {
    copy_bytes(static_cast<std::byte*>(origin), data, size);
    return MPI_SUCCESS;
}

[[gnu::always_inline]] inline int hit(void* origin, const std::byte* data, std::uint64_t size) noexcept {
    if (size != 8) [[unlikely]]
        return hit_of_some_size(origin, data, size);
    std::memcpy(origin, data, 8);
    return MPI_SUCCESS;
}

/// The same that was looked up in the entry that was used last, which has not all of it.
template <class Count>
[[gnu::noinline]] int get_not_mru(void* origin, Count count, MPI_Datatype type, int target,
                                  MPI_Aint displacement) {
    Window& window = *detail::mru.window;
    const std::uint64_t size = plain_bytes(count, type, count, type);
    const std::byte* const data = window.cache().find_recent(
        {.target = target, .offset = window.offset(target, displacement), .size = size});
    if (data != nullptr) [[likely]]
        return hit(origin, data, size);
    return get_after_miss<Count, true>(origin, count, type, target, displacement, count, type,
                                       detail::mru.win);
}

/// What is seen of a get: whether it passes, and whether it hits. Each call ends the function, so that it
/// needs no stack; and once it is known that both sides have the same count and type, all that is left of the
/// arguments is in registers.
template <class Count, auto* library_get>
[[gnu::always_inline]] inline int see_get(void* origin, Count origin_count, MPI_Datatype origin_type,
                                          int target, MPI_Aint displacement, Count count, MPI_Datatype type,
                                          MPI_Win win) {
    Window* const window = near_window(target, win);
    if (window == nullptr) [[unlikely]]
        return get_after_miss<Count, false>(origin, origin_count, origin_type, target, displacement, count,
                                            type, win);
    WindowCache& cached = window->cache();
    const bool looks_up = cached.looks_up(target);
    if (!looks_up && cached.nothing_kept(target)) {
        const std::uint64_t size = remembered_bytes(type, count);
        if (!recess.falls_due() && passes(*window, target, size)) {
            const int status =
                library_get(origin, origin_count, origin_type, target, displacement, count, type, win);
            const bool in_one = origin_type == type && origin_count == count;
            if (status == MPI_SUCCESS)
                cached.note_bypassed_get({.target = target,
                                          .offset = window->offset(target, displacement),
                                          .size = size,
                                          .origin = in_one ? static_cast<std::byte*>(origin) : nullptr});
            return status;
        }
        return get_asleep<Count>(origin, origin_count, origin_type, target, displacement, count, type, win);
    }
    const std::uint64_t size = plain_bytes(origin_count, origin_type, count, type);
    if (size == 0) [[unlikely]]
        return get_after_miss<Count, false>(origin, origin_count, origin_type, target, displacement, count,
                                            type, win);
    if (!looks_up) [[unlikely]]
        return get_not_looked_up<Count>(origin, count, origin_type, target, displacement);
    const Found found = cached.find_mru({.target = target,
                                         .offset = window->offset(target, displacement),
                                         .size = size,
                                         .origin = static_cast<std::byte*>(origin)});
    if (found.served == Served::hit) [[likely]]
        return hit(origin, found.data, size);
    return found.served == Served::miss
               ? get_not_mru<Count>(origin, count, origin_type, target, displacement)
               : get_not_looked_up<Count>(origin, count, origin_type, target, displacement);
}

/// Others may write as soon as the program has waited for its request, which is complete: so what is fetched
/// again has to be there before.
void check_now_if_due(Window& window, int target, std::uint64_t offset, const void* served,
                      std::uint64_t size) {
    WindowCache& cached = window.cache();
    if (!cached.check_is_due()) [[likely]]
        return;
    check_hit(window, target, offset, {static_cast<const std::byte*>(served), size});
    complete_by(cached, target, FlushKind::local,
                [&] { return PMPI_Win_flush_local(target, window.handle()); });
}

/// The request of a get that is complete.
int served_request(Window& window, MPI_Request* request) {
    if (window.cache().request_served()) window.serve_others();
    return completed_request(window, request);
}

/// One that goes to the library as it is.
/// \param note tells the window of it
template <class Count, class Note>
int rget_unkept(Window& window, const Access<Count>& call, MPI_Request* request, const Note& note) {
    const RequestId id = next_request_id();
    const int status = start(call, request);
    if (status != MPI_SUCCESS) return status;
    note(range_get_of(window, call, id));
    track_silent_request(*request, window, id);
    return status;
}

/// One of a target that nothing is kept of.
template <class Count>
int rget_bypassed(Window& window, const Access<Count>& call, MPI_Request* request) {
    return rget_unkept(window, call, request, [&](const RangeGet& get) {
        window.cache().note_bypassed_get(get);
        if (run_bytes(call) == 0) window.cache().note_late(call.target, origins_of(call));
    });
}

template <class Count>
int rget(const Access<Count>& call, MPI_Request* request) {
    if (recess.begins_with_get()) return start(call, request);
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
    WindowCache& cached = window->cache();
    if (const std::uint64_t size = run_bytes(call); size != 0) {
        const RangeGet get = range_get_of(*window, call);
        const auto served = cached.try_get_slowly(get);
        if (served == Served::pass) {
            remember_mru(call.win, window);
            remember_bytes(call.target_type, call.target_count);
            return rget_bypassed(*window, call, request);
        }
        if (served == Served::hit) {
            check_now_if_due(*window, call.target, get.offset, call.origin, size);
            return served_request(*window, request);
        }
        if (cached.lets_pass(call.target, get.offset))
            return rget_unkept(*window, call, request, [&](const RangeGet& sent) { cached.went_by(sent); });
    }
    const RequestId id = next_request_id();
    Starter<Count> starter(*window, call, request, id);
    Begun begun{};
    if (const int status = get_slowly(*window, call, id, starter, begun); status != MPI_SUCCESS)
        return status;
    if (begun == Begun::served) return served_request(*window, request);
    if (begun == Begun::waiting) return MPI_SUCCESS;
    if (complete_at_once(*window, *request))
        cached.complete_request(call.target, id, true);
    else
        track_request(*request, *window, call.target, id, begun == Begun::leader ? cached.now() : 0);
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
#define NEARFETCH_RGET(SUFFIX, COUNT)                                                               \
    static int rget_seen##SUFFIX(NEARFETCH_PARAMETERS(COUNT), MPI_Request* request) {               \
        Window* const window = near_window(rank, win);                                              \
        if (window != nullptr && window->cache().nothing_kept(rank) && !recess.falls_due() &&       \
            passes(*window, rank, remembered_bytes(type, count)))                                   \
            return rget_bypassed<COUNT>(*window, {NEARFETCH_ARGUMENTS}, request);                   \
        return rget<COUNT>({NEARFETCH_ARGUMENTS}, request);                                         \
    }                                                                                               \
    int MPI_Rget##SUFFIX(NEARFETCH_PARAMETERS(COUNT), MPI_Request* request) {                       \
        return recess.gets.way(recess.library.Rget##SUFFIX, rget_seen##SUFFIX)(NEARFETCH_ARGUMENTS, \
                                                                               request);            \
    }

extern "C" {
NEARFETCH_IN_LINE("1") [[gnu::aligned(64)]] int MPI_Get(NEARFETCH_PARAMETERS(int)) {
    return recess.ways.get(NEARFETCH_ARGUMENTS);
}
}

namespace nearfetch {

int get_seen(NEARFETCH_PARAMETERS(int)) { return see_get<int, PMPI_Get>(NEARFETCH_ARGUMENTS); }

NEARFETCH_IN_LINE("1") int get_counted(NEARFETCH_PARAMETERS(int)) {
    return recess.gets.way_until_used_up(recess.library.Get, get_seen)(NEARFETCH_ARGUMENTS);
}

}  // namespace nearfetch

extern "C" {
NEARFETCH_RGET(, int)
#if NEARFETCH_LARGE_COUNT
static int get_seen_c(NEARFETCH_PARAMETERS(MPI_Count)) {
    return see_get<MPI_Count, PMPI_Get_c>(NEARFETCH_ARGUMENTS);
}
NEARFETCH_IN_LINE("4") int MPI_Get_c(NEARFETCH_PARAMETERS(MPI_Count)) {
    return recess.gets.way(recess.library.Get_c, get_seen_c)(NEARFETCH_ARGUMENTS);
}
NEARFETCH_RGET(_c, MPI_Count)
#endif
}
