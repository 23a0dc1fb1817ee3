// SPDX-License-Identifier: Apache-2.0
#pragma once

// The requests that nearfetch knows of: those of gets until they complete, and others whose end does not
// synchronise.
//
// A get that is fetched with all that is missing around it is a leader: gets with requests of what it brings
// start nothing, and wait. Their requests are generalized ones (MPI-3.1, 12.2), which are complete as soon as
// the leader is and their bytes have been handed out. The library knows nothing of that. So whoever is about
// to wait for one makes its leader arrive first: bring().
//
// Another tool may catch the calls that complete requests, and go on to PMPI. So before the end of some
// request has been seen, there are no leaders, and what requests bring is not kept.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "mpi/interposer.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

struct TrackedRequest {
    Window* window = nullptr;
    int target = MPI_PROC_NULL;  ///< of a get that may be kept
    RequestId id = 0;
    Moment leads = 0;   ///< a leader: since then
    Moment awaits = 0;  ///< waits for the leader of that moment
    std::uint64_t waited_ticks = 0;

    bool is_get() const noexcept { return target != MPI_PROC_NULL; }
    void complete(bool keep, std::uint64_t last_ticks = 0) const noexcept {
        if (is_get())
            window->cache().completions().complete_request(target, id, keep, waited_ticks + last_ticks);
        else if (keep && window != nullptr)
            window->cache().completions().complete_bypassed_request(id);
    }
    /// No interposed call said when it ended: its buffer may have been reused.
    void abandon() const noexcept {
        if (is_get()) window->cache().completions().abandon_request(target, id);
    }
};

class RequestTable {
  public:
    static RequestTable& instance() {
        static RequestTable* const table = new RequestTable;
        return *table;
    }

    /// Whether the calls that complete requests come by here.
    static bool sees_completions() noexcept { return sees_completions_.load(std::memory_order_relaxed); }
    static void see_completions(bool sees) noexcept {
        sees_completions_.store(sees, std::memory_order_relaxed);
    }

    static bool none() noexcept { return count_.load(std::memory_order_relaxed) == 0; }
    /// Whether none waits for a leader.
    static bool none_waits() noexcept { return waiting_count_.load(std::memory_order_relaxed) == 0; }

    /// \throws std::bad_alloc, and it is not there
    void add(MPI_Request request, const TrackedRequest& tracked);
    /// What is known of a request; id 0: nothing.
    TrackedRequest find(MPI_Request request) noexcept;
    /// Forgets a request, unless its handle already stands for a younger one.
    std::optional<TrackedRequest> remove(MPI_Request request, RequestId id);
    /// It is known to be complete, but still has its handle. \return what it was until now
    std::optional<TrackedRequest> silence(MPI_Request request, RequestId id);
    /// It was waited for so long, and is not complete.
    void waited(MPI_Request request, std::uint64_t ticks);
    void remove_all(const Window& window);

    /// The leader that a request waits for, or MPI_REQUEST_NULL where it does not.
    MPI_Request leader_of(MPI_Request request) noexcept;
    /// What it waits for has arrived. \return its handle
    MPI_Request arrived(RequestId waiting);

  private:
    using Leader = std::pair<const Window*, Moment>;
    using Guard = std::unique_lock<std::mutex>;
    Guard lock() noexcept { return interposer.process.acquires.are_one_by_one() ? Guard() : Guard(mutex_); }
    void unlink(const TrackedRequest& tracked) noexcept;
    void count() noexcept;

    TrackedRequest* lookup(MPI_Request request) noexcept;
    void erase(MPI_Request request) noexcept;

    std::mutex mutex_;
    // A program that waits for each has one at a time: it needs no memory of its own.
    MPI_Request first_request_ = MPI_REQUEST_NULL;
    TrackedRequest first_;
    std::unordered_map<MPI_Request, TrackedRequest> others_;
    std::map<Leader, MPI_Request> leaders_;
    std::unordered_map<RequestId, MPI_Request> waiting_;
    static constinit std::atomic<std::size_t> count_;
    static constinit std::atomic<std::size_t> waiting_count_;
    static constinit std::atomic<bool> sees_completions_;
};

enum class WaitMode : bool { poll, wait };

/// Hands out what the leaders of these requests have brought; in mode `wait`, of all of them.
void bring_slowly(int count, const MPI_Request* requests, WaitMode mode);
inline void bring(int count, const MPI_Request* requests, WaitMode mode) {
    if (!RequestTable::none_waits() && requests != nullptr) [[unlikely]]
        bring_slowly(count, requests, mode);
}

}  // namespace nearfetch
