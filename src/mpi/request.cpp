// SPDX-License-Identifier: Apache-2.0

// Requests of gets. From the moment at which such a request completes, the program may reuse the buffer, so
// that is when the cache has to take the data: the calls that complete requests are interposed. Each of them
// sets a completed request to MPI_REQUEST_NULL, by which one mechanism serves them all: note which of the
// requests are ours, let the library work, see which have become null. While no such request is under way
// they cost one load.
//
// A completed request may also be what the process learns by that another has written (calls.txt). The end of
// a get, put or accumulate of its own is not: it says what a flush says. Many of these are complete when the
// library makes them, and all that are served from the cache. Such requests share one handle, which has no
// status to give: it is never a message's, and to wait for it says nothing either.

#include "mpi/request.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "engine/clock.hpp"
#include "mpi/intercept.hpp"

namespace nearfetch {

namespace detail {
std::atomic<MPI_Request> complete_handle{MPI_REQUEST_NULL};
constinit std::atomic<bool> asked_for_complete_handle{false};
}  // namespace detail

namespace {

struct Tracked {
    Window* window = nullptr;
    int target = MPI_PROC_NULL;  ///< of a get
    RequestId id = 0;
    std::uint64_t waited_ticks = 0;

    bool is_get() const noexcept { return target != MPI_PROC_NULL; }
    void complete(bool keep, std::uint64_t last_ticks = 0) const noexcept {
        if (is_get()) window->cached().complete_request(target, id, keep, waited_ticks + last_ticks);
    }
    /// No call that is watched said when it ended: its buffer may have been reused.
    void abandon() const noexcept {
        if (is_get()) window->cached().abandon_request(target, id);
    }
};

class Requests {
  public:
    static Requests& instance() {
        static Requests* const requests = new Requests;
        return *requests;
    }

    static bool none() noexcept { return count_.load(std::memory_order_relaxed) == 0; }

    void add(MPI_Request request, const Tracked& tracked) {
        const std::lock_guard guard(mutex_);
        const Tracked older = std::exchange(tracked_[request], tracked);
        count_.store(tracked_.size(), std::memory_order_relaxed);
        older.abandon();
    }

    /// What is known of a request; id 0: nothing.
    Tracked find(MPI_Request request) {
        const std::lock_guard guard(mutex_);
        const auto found = tracked_.find(request);
        return found == tracked_.end() ? Tracked{} : found->second;
    }

    /// Forgets a request, unless its handle already stands for a younger one.
    bool remove(MPI_Request request, RequestId id) {
        const std::lock_guard guard(mutex_);
        const auto found = tracked_.find(request);
        if (found == tracked_.end() || found->second.id != id) return false;
        tracked_.erase(found);
        count_.store(tracked_.size(), std::memory_order_relaxed);
        return true;
    }

    /// It is known to be complete, but still has its handle. \return as remove()
    bool silence(MPI_Request request, RequestId id) {
        const std::lock_guard guard(mutex_);
        const auto found = tracked_.find(request);
        if (found == tracked_.end() || found->second.id != id) return false;
        found->second.target = MPI_PROC_NULL;
        return true;
    }

    void waited(MPI_Request request, std::uint64_t ticks) {
        const std::lock_guard guard(mutex_);
        if (const auto found = tracked_.find(request); found != tracked_.end())
            found->second.waited_ticks += ticks;
    }

    void remove_all(const Window& window) {
        const std::lock_guard guard(mutex_);
        std::erase_if(tracked_, [&](const auto& entry) { return entry.second.window == &window; });
        count_.store(tracked_.size(), std::memory_order_relaxed);
    }

  private:
    std::mutex mutex_;
    std::unordered_map<MPI_Request, Tracked> tracked_;
    static constinit std::atomic<std::size_t> count_;
};

constinit std::atomic<std::size_t> Requests::count_{0};

/// Whether the request stands for nothing, or for something that was complete at once.
bool is_done(MPI_Request request) noexcept {
    return request == MPI_REQUEST_NULL || request == detail::complete_handle.load(std::memory_order_relaxed);
}

/// Tracked requests among those that a call is about to wait for or test.
class Watched {
  public:
    Watched(int count, const MPI_Request* requests) noexcept {
        for (int i = 0; requests != nullptr && i < count; ++i) {
            if (is_done(requests[i])) continue;
            const Tracked tracked = Requests::instance().find(requests[i]);
            if (tracked.id != 0)
                watched_.push_back({i, requests[i], tracked});
            else
                ++others_;
        }
    }

    bool any() const noexcept { return !watched_.empty(); }
    /// Whether none of the requests says anything about what others have written.
    bool silent() const noexcept { return others_ == 0; }

    /// To be called after the library's work, which took so long: what is null now has completed.
    void settle(const MPI_Request* requests, std::uint64_t ticks) noexcept {
        // What it took for others would be too much.
        const std::uint64_t share = others_ == 0 ? ticks / watched_.size() : 0;
        for (const One& one : watched_) {
            if (requests[one.index] != MPI_REQUEST_NULL)
                Requests::instance().waited(one.request, share);
            else if (Requests::instance().remove(one.request, one.tracked.id))
                one.tracked.complete(true, share);
        }
    }

  private:
    struct One {
        int index;
        MPI_Request request;
        Tracked tracked;
    };
    boost::container::small_vector<One, 4> watched_;
    int others_ = 0;
};

/// \param name of the call
/// \param done what the call sets to a true flag or a number if a request has completed; null: one has for
/// sure
void learned_if_completed(const char* name, int status, const int* done) noexcept {
    // After an error, too, some may have completed.
    if (status != MPI_SUCCESS || done == nullptr || (*done != 0 && *done != MPI_UNDEFINED)) learned(name);
}

template <class Call>
[[gnu::noinline]] int watch_tracked(const char* name, int count, MPI_Request* requests, const int* done,
                                    const Call& call) noexcept {
    Watched watched(count, requests);
    const std::uint64_t begin_ticks = watched.any() ? ticks() : 0;
    const int status = call();
    if (watched.any()) watched.settle(requests, ticks() - begin_ticks);
    if (!watched.silent()) learned_if_completed(name, status, done);
    return status;
}

template <class Call>
int watch(const char* name, int count, MPI_Request* requests, const int* done, const Call& call) noexcept {
    if (!Requests::none()) [[unlikely]]
        return watch_tracked(name, count, requests, done, call);
    if (requests == nullptr || std::all_of(requests, requests + std::max(count, 0), is_done)) return call();
    const int status = call();
    learned_if_completed(name, status, done);
    return status;
}

}  // namespace

RequestId next_request_id() noexcept {
    static std::atomic<RequestId> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

int get_from_nobody(const Window& window, MPI_Request* request) noexcept {
    return PMPI_Rget(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, 0, MPI_BYTE, window.handle(), request);
}

}  // namespace

int completed_request(const Window& window, MPI_Request* request) noexcept {
    const int status = get_from_nobody(window, request);
    if (status == MPI_SUCCESS) complete_at_once(window, *request);
    return status;
}

void detail::ask_for_complete_handle(const Window& window) noexcept {
    // Two at a time: only what both have is a handle that tells no request from another.
    std::array<MPI_Request, 2> complete{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (MPI_Request& one : complete)
        if (get_from_nobody(window, &one) != MPI_SUCCESS) one = MPI_REQUEST_NULL;
    if (complete[0] == complete[1]) complete_handle.store(complete[0], std::memory_order_relaxed);
    for (MPI_Request& one : complete)
        PMPI_Wait(&one, MPI_STATUS_IGNORE);
    asked_for_complete_handle.store(true, std::memory_order_relaxed);
}

void track_request(MPI_Request request, Window& window, int target, RequestId id) noexcept try {
    Requests::instance().add(request, {&window, target, id});
} catch (const std::bad_alloc&) {
    // Its data is not kept: the next flush would find the buffer reused.
    window.cached().abandon_request(target, id);
}

void track_silent_request(MPI_Request request, MPI_Win win) noexcept try {
    Window* const window = find_window(win);
    if (window != nullptr && !window->off() && !complete_at_once(*window, request))
        Requests::instance().add(request, {window, MPI_PROC_NULL, next_request_id()});
} catch (const std::bad_alloc&) {
    // Its end is taken for news.
}

void forget_requests(const Window& window) noexcept { Requests::instance().remove_all(window); }

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return watch("MPI_Wait", 1, request, nullptr, [=] { return PMPI_Wait(request, status); });
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return watch("MPI_Waitall", count, requests, nullptr,
                 [=] { return PMPI_Waitall(count, requests, statuses); });
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return watch("MPI_Waitany", count, requests, nullptr,
                 [=] { return PMPI_Waitany(count, requests, index, status); });
}

int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return watch("MPI_Waitsome", count, requests, nullptr,
                 [=] { return PMPI_Waitsome(count, requests, done, indices, statuses); });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return watch("MPI_Test", 1, request, flag, [=] { return PMPI_Test(request, flag, status); });
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return watch("MPI_Testall", count, requests, flag,
                 [=] { return PMPI_Testall(count, requests, flag, statuses); });
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
    return watch("MPI_Testany", count, requests, flag,
                 [=] { return PMPI_Testany(count, requests, index, flag, status); });
}

int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return watch("MPI_Testsome", count, requests, done,
                 [=] { return PMPI_Testsome(count, requests, done, indices, statuses); });
}

int MPI_Request_free(MPI_Request* request) {
    if (Requests::none()) return PMPI_Request_free(request);
    const MPI_Request handle = *request;
    const Tracked tracked = Requests::instance().find(handle);
    // From here on only a flush completes it. Before the library's own free: then the handle may be
    // another's.
    if (tracked.id != 0 && Requests::instance().remove(handle, tracked.id)) tracked.complete(false);
    return PMPI_Request_free(request);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    const int result = PMPI_Request_get_status(request, flag, status);
    if (result != MPI_SUCCESS || !*flag || is_done(request)) return result;
    // The program now knows that the data is there, and may reuse the buffer before it completes the request.
    const Tracked tracked = Requests::none() ? Tracked{} : Requests::instance().find(request);
    if (tracked.id == 0)
        learned("MPI_Request_get_status");
    else if (Requests::instance().silence(request, tracked.id))
        tracked.complete(true);
    return result;
}
}
