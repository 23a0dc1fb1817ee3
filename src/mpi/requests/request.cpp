// SPDX-License-Identifier: Apache-2.0

// Requests of gets. From the moment at which such a request completes, the program may reuse the buffer, so
// that is when the cache has to take the data: the calls that complete requests are interposed. Each of them
// sets a completed request to MPI_REQUEST_NULL, by which one mechanism serves them all: note which of the
// requests are ours, let the library work, see which have become null. While no such request is under way
// they cost one load.
//
// A completed request may also synchronise (calls.txt). The end of
// a get, put or accumulate of its own is not: it says what a flush says. Many of these are complete when the
// library makes them, and all that are served from the cache. Such requests share one handle, which has no
// status to give: it is never a message's, and to wait for it says nothing either.

#include "mpi/requests/request.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>

#include "base/ticks.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace detail {
std::atomic<MPI_Request> complete_handle{MPI_REQUEST_NULL};
constinit std::atomic<bool> asked_for_complete_handle{false};
}  // namespace detail

namespace {

/// Whether the request stands for nothing, or for something that was complete at once.
bool is_done(MPI_Request request) noexcept {
    return request == MPI_REQUEST_NULL || request == detail::complete_handle.load(std::memory_order_relaxed);
}

/// Tracked requests among those that a call is about to wait for or test.
class TrackedAmong {
  public:
    TrackedAmong(int count, const MPI_Request* requests) noexcept {
        for (int i = 0; requests != nullptr && i < count; ++i) {
            if (is_done(requests[i])) continue;
            const RequestId id = RequestTable::instance().find(requests[i]).id;
            if (id != 0)
                tracked_.push_back({i, requests[i], id});
            else
                ++others_;
        }
    }

    bool any() const noexcept { return !tracked_.empty(); }
    /// Whether none of the requests says anything about what others have written.
    bool silent() const noexcept { return others_ == 0; }

    /// To be called after the library's work, which took so long: what is null now has completed.
    void update(const MPI_Request* requests, std::uint64_t ticks) noexcept {
        // What it took for others would be too much.
        const std::uint64_t share = others_ == 0 ? ticks / tracked_.size() : 0;
        for (const One& one : tracked_) {
            if (requests[one.index] != MPI_REQUEST_NULL)
                RequestTable::instance().waited(one.request, share);
            else if (const auto tracked = RequestTable::instance().remove(one.request, one.id))
                tracked->complete(true, share);
        }
        RequestTable::see_completions(true);
    }

  private:
    struct One {
        int index;
        MPI_Request request;
        RequestId id;
    };
    boost::container::small_vector<One, 4> tracked_;
    int others_ = 0;
};

/// \param name of the call
/// \param done what the call sets to a true flag or a number if a request has completed; null: one has for
/// sure
void acquire_if_completed(const char* name, int status, const int* done) noexcept {
    // After an error, too, some may have completed.
    if (status != MPI_SUCCESS || done == nullptr || (*done != 0 && *done != MPI_UNDEFINED)) acquire_by(name);
}

template <class Call>
[[gnu::noinline]] int watch_tracked(const char* name, int count, MPI_Request* requests, const int* done,
                                    const Call& call) {
    TrackedAmong tracked(count, requests);
    const std::uint64_t begin_ticks = tracked.any() ? ticks() : 0;
    return and_then(call, [&](int status) {
        if (tracked.any()) tracked.update(requests, ticks() - begin_ticks);
        if (!tracked.silent()) acquire_if_completed(name, status, done);
    });
}

/// A request that was complete at once is not in the table; but who waits for one shows as well that such
/// calls come by here.
void look_for_completions(int count, const MPI_Request* requests) noexcept {
    const MPI_Request complete = detail::complete_handle.load(std::memory_order_relaxed);
    if (RequestTable::sees_completions() || requests == nullptr) return;
    if (std::find(requests, requests + std::max(count, 0), complete) != requests + std::max(count, 0))
        RequestTable::see_completions(true);
}

template <class Call>
int watch(const char* name, int count, MPI_Request* requests, const int* done, const Call& call) {
    if (detail::complete_handle.load(std::memory_order_relaxed) != MPI_REQUEST_NULL)
        look_for_completions(count, requests);
    if (!RequestTable::none()) [[unlikely]]
        return watch_tracked(name, count, requests, done, call);
    if (requests == nullptr || std::all_of(requests, requests + std::max(count, 0), is_done)) return call();
    return and_then(call, [&](int status) { acquire_if_completed(name, status, done); });
}

}  // namespace

RequestId next_request_id() noexcept {
    static std::atomic<RequestId> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

int get_from_nobody(const Window& window, MPI_Request* request) {
    return PMPI_Rget(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, 0, MPI_BYTE, window.handle(), request);
}

}  // namespace

int completed_request(const Window& window, MPI_Request* request) {
    const int status = get_from_nobody(window, request);
    if (status == MPI_SUCCESS) complete_at_once(window, *request);
    return status;
}

void detail::ask_for_complete_handle(const Window& window) {
    // Two at a time: only what both have is a handle that tells no request from another.
    std::array<MPI_Request, 2> complete{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (MPI_Request& one : complete)
        if (get_from_nobody(window, &one) != MPI_SUCCESS) one = MPI_REQUEST_NULL;
    if (complete[0] == complete[1]) complete_handle.store(complete[0], std::memory_order_relaxed);
    for (MPI_Request& one : complete)
        PMPI_Wait(&one, MPI_STATUS_IGNORE);
    asked_for_complete_handle.store(true, std::memory_order_relaxed);
}

void track_request(MPI_Request& request, Window& window, int target, RequestId id, Moment leads) {
    const TrackedRequest tracked{.window = &window, .target = target, .id = id, .leads = leads};
    try {
        RequestTable::instance().add(request, tracked);
        // Else its buffer may have been reused, and nobody has said so, when a flush completes it.
        if (!RequestTable::sees_completions()) tracked.abandon();
    } catch (const std::bad_alloc&) {
        // What it brings would be missed.
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
        tracked.complete(true);
        completed_request(window, &request);
    }
}

void track_silent_request(MPI_Request request, Window& window, RequestId id) try {
    if (complete_at_once(window, request))
        window.cache().completions().complete_bypassed_request(id);
    else
        RequestTable::instance().add(request, {.window = &window, .id = id});
} catch (const std::bad_alloc&) {
    // Its end is an acquire.
}

void track_silent_request(MPI_Request request, MPI_Win win) {
    if (Window* const window = find_window(win)) track_silent_request(request, *window, next_request_id());
}

namespace {

// What a generalized request has to be able to do. As of a get, its status says nothing.

int query(void*, MPI_Status* status) {
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    PMPI_Status_set_cancelled(status, 0);
    return PMPI_Status_set_elements(status, MPI_BYTE, 0);
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

}  // namespace

int start_waiting_request(Window& window, int target, RequestId id, Moment leader, MPI_Request* request) {
    const int status = PMPI_Grequest_start(query, free_nothing, cancel_nothing, nullptr, request);
    if (status != MPI_SUCCESS) return status;
    try {
        RequestTable::instance().add(*request,
                                     {.window = &window, .target = target, .id = id, .awaits = leader});
        return MPI_SUCCESS;
    } catch (const std::bad_alloc&) {
        PMPI_Grequest_complete(*request);
        PMPI_Wait(request, MPI_STATUS_IGNORE);
        return MPI_ERR_NO_MEM;
    }
}

void request_arrived(RequestId id) noexcept {
    const MPI_Request request = RequestTable::instance().arrived(id);
    if (request != MPI_REQUEST_NULL) PMPI_Grequest_complete(request);
}

void forget_requests(const Window& window) noexcept { RequestTable::instance().remove_all(window); }

namespace {

/// The program now knows that a request is complete, and may reuse the buffer before it completes the
/// request. \return whether that may synchronise
bool is_known_complete(MPI_Request request) noexcept {
    if (is_done(request)) return false;
    RequestTable& table = RequestTable::instance();
    const RequestId id = RequestTable::none() ? 0 : table.find(request).id;
    if (id == 0) return true;
    if (const auto tracked = table.silence(request, id)) tracked->complete(true);
    return false;
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return watch("MPI_Wait", 1, request, nullptr, [=] {
        bring(1, request, WaitMode::wait);
        return PMPI_Wait(request, status);
    });
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return watch("MPI_Waitall", count, requests, nullptr, [=] {
        bring(count, requests, WaitMode::wait);
        return PMPI_Waitall(count, requests, statuses);
    });
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return watch("MPI_Waitany", count, requests, nullptr, [=] {
        if (RequestTable::none_waits()) return PMPI_Waitany(count, requests, index, status);
        for (int done = 0, result = MPI_SUCCESS;;) {
            bring(count, requests, WaitMode::poll);
            result = PMPI_Testany(count, requests, index, &done, status);
            if (result != MPI_SUCCESS || done) return result;
        }
    });
}

int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return watch("MPI_Waitsome", count, requests, done, [=] {
        if (RequestTable::none_waits()) return PMPI_Waitsome(count, requests, done, indices, statuses);
        for (int result = MPI_SUCCESS;;) {
            bring(count, requests, WaitMode::poll);
            result = PMPI_Testsome(count, requests, done, indices, statuses);
            if (result != MPI_SUCCESS || *done != 0) return result;
        }
    });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return watch("MPI_Test", 1, request, flag, [=] {
        bring(1, request, WaitMode::poll);
        return PMPI_Test(request, flag, status);
    });
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return watch("MPI_Testall", count, requests, flag, [=] {
        bring(count, requests, WaitMode::poll);
        return PMPI_Testall(count, requests, flag, statuses);
    });
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
    return watch("MPI_Testany", count, requests, flag, [=] {
        bring(count, requests, WaitMode::poll);
        return PMPI_Testany(count, requests, index, flag, status);
    });
}

int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return watch("MPI_Testsome", count, requests, done, [=] {
        bring(count, requests, WaitMode::poll);
        return PMPI_Testsome(count, requests, done, indices, statuses);
    });
}

int MPI_Request_free(MPI_Request* request) {
    if (RequestTable::none()) return PMPI_Request_free(request);
    const MPI_Request handle = *request;
    const TrackedRequest tracked = RequestTable::instance().find(handle);
    // What is waited for needs its handle until then, and what waits needs somebody to make it complete.
    if (tracked.leads != 0 || tracked.awaits != 0) return MPI_Wait(request, MPI_STATUS_IGNORE);
    // From here on only a flush completes it. Before the library's own free: then the handle may be
    // another's.
    if (tracked.id != 0 && RequestTable::instance().remove(handle, tracked.id)) tracked.complete(false);
    return PMPI_Request_free(request);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    bring(1, &request, WaitMode::poll);
    const int result = PMPI_Request_get_status(request, flag, status);
    if (result == MPI_SUCCESS && *flag && is_known_complete(request)) acquire_by("MPI_Request_get_status");
    return result;
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
int MPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    bring(count, requests, WaitMode::poll);
    const auto look = [&] { return PMPI_Request_get_status_all(count, requests, flag, statuses); };
    return and_then(look, [&](int result) {
        bool synchronises = result != MPI_SUCCESS;
        if (!synchronises && *flag)
            for (int i = 0; i < count; ++i)
                synchronises = is_known_complete(requests[i]) || synchronises;
        if (synchronises) acquire_by("MPI_Request_get_status_all");
    });
}

int MPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                               MPI_Status* status) {
    bring(count, requests, WaitMode::poll);
    const auto look = [&] { return PMPI_Request_get_status_any(count, requests, index, flag, status); };
    return and_then(look, [&](int result) {
        const bool any = result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED;
        if (result != MPI_SUCCESS || (any && is_known_complete(requests[*index])))
            acquire_by("MPI_Request_get_status_any");
    });
}

int MPI_Request_get_status_some(int count, const MPI_Request requests[], int* done, int indices[],
                                MPI_Status statuses[]) {
    bring(count, requests, WaitMode::poll);
    const auto look = [&] { return PMPI_Request_get_status_some(count, requests, done, indices, statuses); };
    return and_then(look, [&](int result) {
        bool synchronises = result != MPI_SUCCESS;
        if (!synchronises && *done != MPI_UNDEFINED)
            for (int i = 0; i < *done; ++i)
                synchronises = is_known_complete(requests[indices[i]]) || synchronises;
        if (synchronises) acquire_by("MPI_Request_get_status_some");
    });
}
#endif
}
