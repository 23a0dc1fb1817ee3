// SPDX-License-Identifier: Apache-2.0
#pragma once

// The requests that nearfetch knows: those of gets, until they complete, and others whose end does not
// synchronise.
//
// A leader is a get that also fetches what is missing around it. A get of such bytes starts no transfer and
// waits for the leader. Its request is a generalized one (MPI-3.1, section 12.2). It is complete when the
// leader is complete and the bytes have been handed out. The library does not know that, so who waits for
// such a request has to complete the leader first.
//
// Another tool may catch the calls that complete requests, and call PMPI. So until the table has seen a
// request complete, there are no leaders, and what requests fetch is not kept.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory_resource>
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
    Moment leads = 0;   ///< a leader: when it began to lead
    Moment awaits = 0;  ///< the leader that it waits for
    std::uint64_t waited_ticks = 0;

    bool is_get() const noexcept { return target != MPI_PROC_NULL; }
    void complete(bool keep, std::uint64_t last_ticks = 0) const noexcept {
        if (is_get())
            window->cache().completions().complete_request(target, id, keep, waited_ticks + last_ticks);
        else if (keep && window != nullptr)
            window->cache().completions().complete_bypassed_request(id);
    }
    /// No interposed call has seen its end, so its buffer may have been reused.
    void abandon() const noexcept {
        if (is_get()) window->cache().completions().abandon_request(target, id);
    }
};

/// The requests by their handle.
class RequestTable {
  public:
    /// Whether the calls that complete requests are seen.
    static bool sees_completions() noexcept {
        return interposer.requests_under_way.completions_are_seen.load(std::memory_order_relaxed);
    }
    static void see_completions(bool sees) noexcept {
        interposer.requests_under_way.completions_are_seen.store(sees, std::memory_order_relaxed);
    }

    static bool none() noexcept {
        return interposer.requests_under_way.tracked.load(std::memory_order_relaxed) == 0;
    }
    /// Whether none waits for a leader.
    static bool none_waits() noexcept {
        return interposer.requests_under_way.waiting.load(std::memory_order_relaxed) == 0;
    }

    /// \throws std::bad_alloc, and then the request is not in the table
    void add(MPI_Request request, const TrackedRequest& tracked) {
        // The library has given the handle again, so the end of the older request was not seen.
        if (const auto older = none() ? std::nullopt : remove(request, find(request).id);
            older && older->is_get()) {
            see_completions(false);
            older->abandon();
        }
        const Guard guard = lock();
        try {
            requests_[request] = tracked;
            if (tracked.leads != 0) leaders_.insert_or_assign({tracked.window, tracked.leads}, request);
            if (tracked.awaits != 0) waiting_.insert_or_assign(tracked.id, request);
        } catch (...) {
            unlink(tracked);
            requests_.erase(request);
            throw;
        }
        count();
    }

    /// What is known of a request; id 0: nothing.
    TrackedRequest find(MPI_Request request) noexcept {
        const Guard guard = lock();
        const TrackedRequest* const found = lookup(request);
        return found == nullptr ? TrackedRequest{} : *found;
    }

    /// Removes a request, unless its handle already belongs to a later one.
    std::optional<TrackedRequest> remove(MPI_Request request, RequestId id) {
        const Guard guard = lock();
        const TrackedRequest* const found = lookup(request);
        if (found == nullptr || found->id != id) return {};
        const TrackedRequest tracked = *found;
        requests_.erase(request);
        unlink(tracked);
        count();
        return tracked;
    }
    void remove_all(const Window& window) {
        const Guard guard = lock();
        std::erase_if(requests_, [&](const auto& entry) {
            if (entry.second.window != &window) return false;
            unlink(entry.second);
            return true;
        });
        count();
    }

    /// The request is complete, but still has its handle. \return what was known of it
    std::optional<TrackedRequest> mark_complete(MPI_Request request) {
        const Guard guard = lock();
        TrackedRequest* const found = lookup(request);
        if (found == nullptr) return {};
        const TrackedRequest tracked = *found;
        unlink(tracked);
        *found = {.window = tracked.window, .id = tracked.id};
        count();
        return tracked;
    }

    /// The program has waited so long for the request, which is not complete.
    void add_wait(MPI_Request request, std::uint64_t ticks) {
        const Guard guard = lock();
        if (TrackedRequest* const found = lookup(request)) found->waited_ticks += ticks;
    }

    /// The leader that a request waits for, or MPI_REQUEST_NULL.
    MPI_Request leader_of(MPI_Request request) noexcept {
        const Guard guard = lock();
        const TrackedRequest* const found = lookup(request);
        if (found == nullptr || found->awaits == 0) return MPI_REQUEST_NULL;
        const auto leader = leaders_.find({found->window, found->awaits});
        return leader == leaders_.end() ? MPI_REQUEST_NULL : leader->second;
    }

    /// The bytes have arrived for the request that waits. \return its handle
    MPI_Request arrived(RequestId waiting) {
        const Guard guard = lock();
        const auto found = waiting_.find(waiting);
        if (found == waiting_.end()) return MPI_REQUEST_NULL;
        const MPI_Request request = found->second;
        waiting_.erase(found);
        if (TrackedRequest* const tracked = lookup(request)) tracked->awaits = 0;
        count();
        return request;
    }

  private:
    using Guard = std::unique_lock<std::mutex>;
    Guard lock() noexcept { return interposer.process.acquires.are_one_by_one() ? Guard() : Guard(mutex_); }

    TrackedRequest* lookup(MPI_Request request) noexcept {
        const auto found = requests_.find(request);
        return found == requests_.end() ? nullptr : &found->second;
    }
    /// Nobody finds it any more by what it leads or awaits.
    void unlink(const TrackedRequest& tracked) noexcept {
        if (tracked.leads != 0) leaders_.erase({tracked.window, tracked.leads});
        if (tracked.awaits != 0) waiting_.erase(tracked.id);
    }
    void count() noexcept {
        interposer.requests_under_way.tracked.store(requests_.size(), std::memory_order_relaxed);
        interposer.requests_under_way.waiting.store(waiting_.size(), std::memory_order_relaxed);
    }

    std::mutex mutex_;
    std::pmr::unsynchronized_pool_resource memory_;  ///< gives the memory of old requests to new ones
    std::pmr::unordered_map<MPI_Request, TrackedRequest> requests_{&memory_};
    std::pmr::map<std::pair<const Window*, Moment>, MPI_Request> leaders_{&memory_};
    std::pmr::unordered_map<RequestId, MPI_Request> waiting_{&memory_};
};

}  // namespace nearfetch
