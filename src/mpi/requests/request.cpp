// SPDX-License-Identifier: Apache-2.0

// The calls that complete requests. When the request of a get completes, the program may reuse its buffer, so
// the cache has to take the data at that moment. Each of these calls sets a completed request to
// MPI_REQUEST_NULL. So one mechanism serves all: note which of the requests are tracked, run the library's
// call, see which are null now.
//
// A completed request may also synchronise (calls.txt). That of a get, put or accumulate does not: it says
// what a flush says. The library completes many of these when it makes them, and nearfetch all that are
// served from the cache. All such requests share one handle. It is never the handle of a message, and has no
// status.

#include "mpi/requests/request.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>

#include "base/ticks.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace {

/// Of all requests that were complete at once. MPI_REQUEST_NULL until complete_at_once() has asked, and where
/// the library gives each such request a handle of its own.
std::atomic<MPI_Request> complete_handle{MPI_REQUEST_NULL};

bool is_complete(MPI_Request request) noexcept {
    return request == MPI_REQUEST_NULL || request == complete_handle.load(std::memory_order_relaxed);
}

/// The requests that a call is about to wait for or to test.
class AwaitedRequests {
  public:
    AwaitedRequests(int count, const MPI_Request* requests) noexcept {
        const bool none_tracked = RequestTable::none();
        for (int i = 0; requests != nullptr && i < count; ++i) {
            if (requests[i] == MPI_REQUEST_NULL) continue;
            if (is_complete(requests[i])) {
                // It is not in the table, but shows that such calls are seen.
                if (!RequestTable::sees_completions()) RequestTable::see_completions(true);
                continue;
            }
            const RequestId id = none_tracked ? 0 : interposer.requests().find(requests[i]).id;
            if (id != 0)
                tracked_.push_back({i, requests[i], id});
            else
                ++others_;
        }
    }

    bool any_tracked() const noexcept { return !tracked_.empty(); }
    bool may_synchronise() const noexcept { return others_ != 0; }

    /// To be called after the library's call, which took so long.
    void update(const MPI_Request* requests, std::uint64_t ticks) noexcept {
        // With others among them, nobody knows how long the tracked ones took.
        const std::uint64_t share = others_ == 0 ? ticks / tracked_.size() : 0;
        for (const Tracked& one : tracked_) {
            if (requests[one.index] != MPI_REQUEST_NULL)
                interposer.requests().add_wait(one.request, share);
            else if (const auto tracked = interposer.requests().remove(one.request, one.id))
                tracked->complete(true, share);
        }
        RequestTable::see_completions(true);
    }

  private:
    struct Tracked {
        int index;
        MPI_Request request;
        RequestId id;
    };
    boost::container::small_vector<Tracked, 4> tracked_;
    int others_ = 0;
};

enum class WaitMode : bool { poll, wait };

/// Hands out what the leaders of these requests have fetched. In mode `wait` it waits for all of them.
void complete_leaders(int count, const MPI_Request* requests, WaitMode mode) {
    if (RequestTable::none_waits() || requests == nullptr) return;
    RequestTable& table = interposer.requests();
    MPI_Request last = MPI_REQUEST_NULL;  // often many in a row wait for the same leader
    for (int i = 0; i < count; ++i) {
        const MPI_Request leader = table.leader_of(requests[i]);
        if (leader == MPI_REQUEST_NULL || leader == last) continue;
        last = leader;
        const std::uint64_t begin_ticks = ticks();
        int flag = 0;
        const auto look = [&] {
            int status = MPI_SUCCESS;
            do
                status = PMPI_Request_get_status(leader, &flag, MPI_STATUS_IGNORE);
            while (mode == WaitMode::wait && status == MPI_SUCCESS && !flag);
            return status;
        };
        and_then(look, [&](int status) {
            if (status == MPI_SUCCESS && !flag) return;
            const auto tracked = table.mark_complete(leader);
            tracked->complete(true, ticks() - begin_ticks);
            // A failed transfer leaves bytes that nobody may use.
            if (status != MPI_SUCCESS) tracked->window->cache().acquire();
        });
    }
}

/// Runs a call that completes requests.
/// \param name of the call
/// \param done what the call sets to a true flag or a number if a request has completed; null: one has for
/// sure
template <class Call>
int complete_requests(const char* name, int count, MPI_Request* requests, const int* done, const Call& call) {
    // A request that was served from the cache leaves nothing to note.
    if (RequestTable::none() && RequestTable::sees_completions() && requests != nullptr &&
        std::all_of(requests, requests + std::max(count, 0), is_complete))
        return call();
    AwaitedRequests awaited(count, requests);
    const std::uint64_t begin_ticks = awaited.any_tracked() ? ticks() : 0;
    return and_then(call, [&](int status) {
        if (awaited.any_tracked()) awaited.update(requests, ticks() - begin_ticks);
        if (!awaited.may_synchronise()) return;
        // After an error, too, some may have completed.
        if (status != MPI_SUCCESS || done == nullptr || (*done != 0 && *done != MPI_UNDEFINED))
            acquire_by(name);
    });
}

/// The program now knows that a request is complete. It may reuse the buffer before it completes the request.
/// \return whether that may synchronise
bool note_complete(MPI_Request request) noexcept {
    if (is_complete(request)) return false;
    const auto tracked = RequestTable::none() ? std::nullopt : interposer.requests().mark_complete(request);
    if (tracked) tracked->complete(true);
    return !tracked;
}

/// Runs a call that asks for the state of requests, and completes none.
/// \param found tells how many are complete
/// \param indices which these are; null: the first ones
template <class Found, class Call>
int inspect_requests(const char* name, int count, const MPI_Request* requests, const int* indices,
                     const Found& found, const Call& call) {
    complete_leaders(count, requests, WaitMode::poll);
    return and_then(call, [&](int status) {
        bool synchronises = status != MPI_SUCCESS;
        for (int i = 0; status == MPI_SUCCESS && i < found(); ++i)
            synchronises |= note_complete(requests[indices == nullptr ? i : indices[i]]);
        if (synchronises) acquire_by(name);
    });
}

int get_from_nobody(const Window& window, MPI_Request* request) {
    return PMPI_Rget(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, 0, MPI_BYTE, window.handle(), request);
}

}  // namespace

RequestId next_request_id() noexcept {
    static std::atomic<RequestId> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool complete_at_once(const Window& window, MPI_Request request) {
    [[maybe_unused]] static const bool asked = [&] {
        // Only a handle that two requests have at the same time tells no request from another.
        std::array<MPI_Request, 2> complete{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        for (MPI_Request& one : complete)
            if (get_from_nobody(window, &one) != MPI_SUCCESS) one = MPI_REQUEST_NULL;
        if (complete[0] == complete[1]) complete_handle.store(complete[0], std::memory_order_relaxed);
        for (MPI_Request& one : complete)
            PMPI_Wait(&one, MPI_STATUS_IGNORE);
        return true;
    }();
    return request == complete_handle.load(std::memory_order_relaxed);
}

int completed_request(const Window& window, MPI_Request* request) {
    const int status = get_from_nobody(window, request);
    if (status == MPI_SUCCESS) complete_at_once(window, *request);
    return status;
}

void track_request(MPI_Request& request, Window& window, int target, RequestId id, Moment leads) {
    const TrackedRequest tracked{.window = &window, .target = target, .id = id, .leads = leads};
    try {
        interposer.requests().add(request, tracked);
        // A flush may complete it after the program has reused its buffer.
        if (!RequestTable::sees_completions()) tracked.abandon();
    } catch (const std::bad_alloc&) {
        // Its end would not be seen.
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
        tracked.complete(true);
        completed_request(window, &request);
    }
}

void track_silent_request(MPI_Request request, Window& window, RequestId id) try {
    if (complete_at_once(window, request))
        window.cache().completions().complete_bypassed_request(id);
    else
        interposer.requests().add(request, {.window = &window, .id = id});
} catch (const std::bad_alloc&) {
    // Its end is an acquire.
}

void track_silent_request(MPI_Request request, MPI_Win win) {
    if (Window* const window = find_window(win)) track_silent_request(request, *window, next_request_id());
}

int start_waiting_request(Window& window, int target, RequestId id, Moment leader, MPI_Request* request) {
    // The status of a get says nothing.
    const auto query = [](void*, MPI_Status* status) {
        status->MPI_SOURCE = MPI_UNDEFINED;
        status->MPI_TAG = MPI_UNDEFINED;
        PMPI_Status_set_cancelled(status, 0);
        return PMPI_Status_set_elements(status, MPI_BYTE, 0);
    };
    const auto free = [](void*) -> int { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
    const int status = PMPI_Grequest_start(query, free, cancel, nullptr, request);
    if (status != MPI_SUCCESS) return status;
    try {
        interposer.requests().add(*request,
                                  {.window = &window, .target = target, .id = id, .awaits = leader});
        return MPI_SUCCESS;
    } catch (const std::bad_alloc&) {
        PMPI_Grequest_complete(*request);
        PMPI_Wait(request, MPI_STATUS_IGNORE);
        return MPI_ERR_NO_MEM;
    }
}

void request_arrived(RequestId id) noexcept {
    const MPI_Request request = interposer.requests().arrived(id);
    if (request != MPI_REQUEST_NULL) PMPI_Grequest_complete(request);
}

void forget_requests(const Window& window) noexcept { interposer.requests().remove_all(window); }

}  // namespace nearfetch

using namespace nearfetch;

/// The call MPI_<NAME>, which completes some of COUNT `requests`. For MODE and DONE see above.
#define NEARFETCH_COMPLETES(NAME, COUNT, MODE, DONE, PARAMETERS, ARGUMENTS) \
    int MPI_##NAME PARAMETERS {                                             \
        return complete_requests("MPI_" #NAME, COUNT, requests, DONE, [=] { \
            complete_leaders(COUNT, requests, WaitMode::MODE);              \
            return PMPI_##NAME ARGUMENTS;                                   \
        });                                                                 \
    }

extern "C" {

NEARFETCH_COMPLETES(Wait, 1, wait, nullptr, (MPI_Request * requests, MPI_Status* status), (requests, status))
NEARFETCH_COMPLETES(Waitall, count, wait, nullptr, (int count, MPI_Request requests[], MPI_Status statuses[]),
                    (count, requests, statuses))
NEARFETCH_COMPLETES(Test, 1, poll, flag, (MPI_Request * requests, int* flag, MPI_Status* status),
                    (requests, flag, status))
NEARFETCH_COMPLETES(Testall, count, poll, flag,
                    (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
                    (count, requests, flag, statuses))
NEARFETCH_COMPLETES(Testany, count, poll, flag,
                    (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
                    (count, requests, index, flag, status))
NEARFETCH_COMPLETES(Testsome, count, poll, done,
                    (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
                    (count, requests, done, indices, statuses))

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return complete_requests("MPI_Waitany", count, requests, nullptr, [=] {
        if (RequestTable::none_waits()) return PMPI_Waitany(count, requests, index, status);
        for (int done = 0, result = MPI_SUCCESS;;) {
            complete_leaders(count, requests, WaitMode::poll);
            result = PMPI_Testany(count, requests, index, &done, status);
            if (result != MPI_SUCCESS || done) return result;
        }
    });
}

int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return complete_requests("MPI_Waitsome", count, requests, done, [=] {
        if (RequestTable::none_waits()) return PMPI_Waitsome(count, requests, done, indices, statuses);
        for (int result = MPI_SUCCESS;;) {
            complete_leaders(count, requests, WaitMode::poll);
            result = PMPI_Testsome(count, requests, done, indices, statuses);
            if (result != MPI_SUCCESS || *done != 0) return result;
        }
    });
}

int MPI_Request_free(MPI_Request* request) {
    if (RequestTable::none()) return PMPI_Request_free(request);
    const MPI_Request handle = *request;
    const TrackedRequest tracked = interposer.requests().find(handle);
    // A leader needs its handle, and a request that waits needs somebody who completes it.
    if (tracked.leads != 0 || tracked.awaits != 0) return MPI_Wait(request, MPI_STATUS_IGNORE);
    // From here on only a flush completes it. After the library's call the handle may be another's.
    if (tracked.id != 0 && interposer.requests().remove(handle, tracked.id)) tracked.complete(false);
    return PMPI_Request_free(request);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    return inspect_requests(
        "MPI_Request_get_status", 1, &request, nullptr, [=] { return *flag ? 1 : 0; },
        [=] { return PMPI_Request_get_status(request, flag, status); });
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
int MPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return inspect_requests(
        "MPI_Request_get_status_all", count, requests, nullptr, [=] { return *flag ? count : 0; },
        [=] { return PMPI_Request_get_status_all(count, requests, flag, statuses); });
}

int MPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                               MPI_Status* status) {
    return inspect_requests(
        "MPI_Request_get_status_any", count, requests, index,
        [=] { return *flag && *index != MPI_UNDEFINED ? 1 : 0; },
        [=] { return PMPI_Request_get_status_any(count, requests, index, flag, status); });
}

int MPI_Request_get_status_some(int count, const MPI_Request requests[], int* done, int indices[],
                                MPI_Status statuses[]) {
    return inspect_requests(
        "MPI_Request_get_status_some", count, requests, indices,
        [=] { return *done == MPI_UNDEFINED ? 0 : *done; },
        [=] { return PMPI_Request_get_status_some(count, requests, done, indices, statuses); });
}
#endif
}
