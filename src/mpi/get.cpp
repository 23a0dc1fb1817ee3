// SPDX-License-Identifier: Apache-2.0

// MPI_Get and MPI_Rget. A get of one run of bytes that is in the cache is served in the first few lines; all
// others become pieces for the engine, or pass by unseen where nearfetch does not know what they mean. Errors
// are the library's own: whatever it would refuse never hits, and is handed to it.

#include <mpi.h>

#include <new>
#include <type_traits>
#include <vector>

#include "mpi/intercept.hpp"
#include "mpi/library.hpp"
#include "mpi/request.hpp"

namespace nearfetch {

namespace {

/// The arguments of a get, for int and MPI_Count alike.
template <class Count>
struct GetCall {
    void* origin;
    Count origin_count;
    MPI_Datatype origin_type;
    int target;
    MPI_Aint displacement;
    Count target_count;
    MPI_Datatype target_type;
    MPI_Win win;
};

/// Bytes of the get if it is one run on both sides, else 0.
template <class Count>
std::uint64_t run_bytes(const GetCall<Count>& call) noexcept {
    if (call.target_count <= 0 || call.origin_count <= 0) return 0;
    const std::uint64_t element = dense_bytes(call.target_type);
    std::uint64_t size = element * static_cast<std::uint64_t>(call.target_count);
    if constexpr (sizeof(Count) > sizeof(int))
        if (__builtin_mul_overflow(element, static_cast<std::uint64_t>(call.target_count), &size)) return 0;
    if (call.origin_type == call.target_type && call.origin_count == call.target_count) [[likely]]
        return size;
    std::uint64_t origin_size = 0;
    if (__builtin_mul_overflow(dense_bytes(call.origin_type), static_cast<std::uint64_t>(call.origin_count),
                               &origin_size))
        return 0;
    return origin_size == size ? size : 0;
}

/// True if all was in one entry and has been copied.
template <class Count>
bool try_hit(Window& window, const GetCall<Count>& call, std::uint64_t size) noexcept {
    return window.cached().try_hit(call.target, window.offset(call.target, call.displacement), size,
                                   call.origin);
}

/// False if the get has to pass by unseen.
template <class Count>
bool find_pieces(Window& window, const GetCall<Count>& call, std::vector<Piece>& pieces) {
    if (const std::uint64_t size = run_bytes(call); size != 0) {
        const std::uint64_t offset = window.offset(call.target, call.displacement);
        pieces.assign(1, {offset, size, static_cast<std::byte*>(call.origin)});
    } else if (!make_pieces(window, call.origin, static_cast<std::uint64_t>(call.origin_count),
                            call.origin_type, call.target, call.displacement,
                            static_cast<std::uint64_t>(call.target_count), call.target_type, pieces)) {
        return false;
    }
    for (const Piece& piece : pieces)
        if (piece.offset + piece.size < piece.offset) return false;
    return !pieces.empty();
}

/// A get that is not one plain hit. `Starter` starts the network's part.
template <class Count, class Starter>
int get_slowly(Window& window, const GetCall<Count>& call, RequestId request, Starter& starter,
               bool& started) {
    started = true;
    // Nothing to move, nowhere to move it, or an error that is the library's to report.
    if (window.off() || !window.has(call.target) || call.origin_count <= 0 || call.target_count <= 0)
        return starter.start_whole();
    static thread_local std::vector<Piece> pieces;
    bool known = false;
    try {
        known = find_pieces(window, call, pieces);
    } catch (const std::bad_alloc&) {
    }
    if (!known) {
        const int status = starter.start_whole();
        if (status == MPI_SUCCESS)
            window.cached().count_bypassed(call.target, target_bytes(call.target_type, call.target_count));
        return status;
    }
    std::uint64_t size = 0;
    for (const Piece& piece : pieces)
        size += piece.size;
    return window.cached().get({call.target, pieces, size, request}, starter, &started);
}

template <class Call>
class PlainStarter final : public GetStarter {
  public:
    PlainStarter(Window& window, int target, const Call& whole) noexcept
        : window_(window), target_(target), whole_(whole) {}
    int start_whole() override { return whole_(); }
    int start_pieces(std::span<const Piece> pieces) override {
        return window_.transport().start_get(target_, pieces);
    }

  private:
    Window& window_;
    int target_;
    const Call& whole_;
};

template <class Call>
class RequestStarter final : public GetStarter {
  public:
    RequestStarter(Window& window, int target, MPI_Request& request, const Call& whole) noexcept
        : window_(window), target_(target), request_(request), whole_(whole) {}
    int start_whole() override { return whole_(); }
    int start_pieces(std::span<const Piece> pieces) override {
        return window_.transport().start_rget(target_, pieces, request_);
    }

  private:
    Window& window_;
    int target_;
    MPI_Request& request_;
    const Call& whole_;
};

template <class Count, class Whole>
int intercept_get(const GetCall<Count>& call, const Whole& whole) noexcept {
    Window* const window = find_window(call.win);
    if (window == nullptr) [[unlikely]]
        return whole();
    const std::uint64_t size = run_bytes(call);
    if (size != 0 && window->has(call.target)) [[likely]] {
        if (try_hit(*window, call, size)) [[likely]]
            return MPI_SUCCESS;
        if (window->cached().lets_pass(call.target)) {
            const int status = whole();
            if (status == MPI_SUCCESS) window->cached().went_by(call.target, size);
            return status;
        }
    }
    PlainStarter starter(*window, call.target, whole);
    bool started = false;
    return get_slowly(*window, call, 0, starter, started);
}

/// A request that is complete already: the library's own, from a get from nobody.
int completed_request(MPI_Win win, MPI_Request* request) {
    return PMPI_Rget(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, 0, MPI_BYTE, win, request);
}

template <class Count, class Whole>
int intercept_rget(const GetCall<Count>& call, MPI_Request* request, const Whole& whole) noexcept {
    Window* const window = find_window(call.win);
    if (window == nullptr || window->off()) return whole();
    bool started = false;
    RequestId id = 0;
    const std::uint64_t size = run_bytes(call);
    if (size == 0 || !window->has(call.target) || !try_hit(*window, call, size)) {
        id = next_request_id();
        RequestStarter starter(*window, call.target, *request, whole);
        const int status = get_slowly(*window, call, id, starter, started);
        if (status != MPI_SUCCESS) return status;
    }
    if (started) {
        if (window->has(call.target)) track_request(*request, *window, call.target, id);
        return MPI_SUCCESS;
    }
    if (window->cached().step_progress()) window->transport().progress();
    return completed_request(call.win, request);
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

int MPI_Get(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win) {
    const GetCall<int> call{origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win};
    return intercept_get(call, [&] {
        return PMPI_Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                        target_datatype, win);
    });
}

int MPI_Rget(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
             MPI_Request* request) {
    const GetCall<int> call{origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win};
    return intercept_rget(call, request, [&] {
        return PMPI_Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                         target_datatype, win, request);
    });
}

#if NEARFETCH_LARGE_COUNT

int MPI_Get_c(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win) {
    const GetCall<MPI_Count> call{origin_addr, origin_count, origin_datatype, target_rank,
                                  target_disp, target_count, target_datatype, win};
    return intercept_get(call, [&] {
        return PMPI_Get_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                          target_datatype, win);
    });
}

int MPI_Rget_c(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
               MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
               MPI_Request* request) {
    const GetCall<MPI_Count> call{origin_addr, origin_count, origin_datatype, target_rank,
                                  target_disp, target_count, target_datatype, win};
    return intercept_rget(call, request, [&] {
        return PMPI_Rget_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                           target_datatype, win, request);
    });
}

#endif
}
