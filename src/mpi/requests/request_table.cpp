// SPDX-License-Identifier: Apache-2.0
#include "mpi/requests/request_table.hpp"

#include "base/finally.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

constinit std::atomic<std::size_t> RequestTable::count_{0};
constinit std::atomic<std::size_t> RequestTable::waiting_count_{0};
constinit std::atomic<bool> RequestTable::sees_completions_{false};

void RequestTable::count() noexcept {
    count_.store(others_.size() + (first_request_ != MPI_REQUEST_NULL), std::memory_order_relaxed);
    waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
}

TrackedRequest* RequestTable::lookup(MPI_Request request) noexcept {
    if (request == first_request_) return request == MPI_REQUEST_NULL ? nullptr : &first_;
    const auto found = others_.find(request);
    return found == others_.end() ? nullptr : &found->second;
}

void RequestTable::erase(MPI_Request request) noexcept {
    if (request == first_request_)
        first_request_ = MPI_REQUEST_NULL;
    else
        others_.erase(request);
}

/// Nobody finds it by what it leads or awaits any more.
void RequestTable::unlink(const TrackedRequest& tracked) noexcept {
    if (tracked.leads != 0) leaders_.erase({tracked.window, tracked.leads});
    if (tracked.awaits != 0) waiting_.erase(tracked.id);
}

void RequestTable::add(MPI_Request request, const TrackedRequest& tracked) {
    // Its handle was free to be given again, and nobody has seen that. Others in the table may have waited.
    if (const auto older = none() ? std::nullopt : remove(request, find(request).id);
        older && older->is_get()) {
        see_completions(false);
        older->abandon();
    }
    const Guard guard = lock();
    try {
        if (first_request_ != MPI_REQUEST_NULL) {
            others_[request] = tracked;
        } else {
            first_request_ = request;
            first_ = tracked;
        }
        if (tracked.leads != 0) leaders_.insert_or_assign({tracked.window, tracked.leads}, request);
        if (tracked.awaits != 0) waiting_.insert_or_assign(tracked.id, request);
    } catch (...) {
        unlink(tracked);
        erase(request);
        throw;
    }
    count();
}

TrackedRequest RequestTable::find(MPI_Request request) noexcept {
    const Guard guard = lock();
    const TrackedRequest* const found = lookup(request);
    return found == nullptr ? TrackedRequest{} : *found;
}

std::optional<TrackedRequest> RequestTable::remove(MPI_Request request, RequestId id) {
    const Guard guard = lock();
    const TrackedRequest* const found = lookup(request);
    if (found == nullptr || found->id != id) return {};
    const TrackedRequest tracked = *found;
    erase(request);
    unlink(tracked);
    count();
    return tracked;
}

std::optional<TrackedRequest> RequestTable::silence(MPI_Request request, RequestId id) {
    const Guard guard = lock();
    TrackedRequest* const found = lookup(request);
    if (found == nullptr || found->id != id) return {};
    const TrackedRequest tracked = *found;
    unlink(tracked);
    *found = {.window = tracked.window, .id = id};
    count();
    return tracked;
}

void RequestTable::waited(MPI_Request request, std::uint64_t ticks) {
    const Guard guard = lock();
    if (TrackedRequest* const found = lookup(request)) found->waited_ticks += ticks;
}

void RequestTable::remove_all(const Window& window) {
    const Guard guard = lock();
    const auto is_of_it = [&](const TrackedRequest& tracked) {
        if (tracked.window != &window) return false;
        unlink(tracked);
        return true;
    };
    if (first_request_ != MPI_REQUEST_NULL && is_of_it(first_)) first_request_ = MPI_REQUEST_NULL;
    std::erase_if(others_, [&](const auto& entry) { return is_of_it(entry.second); });
    count();
}

MPI_Request RequestTable::leader_of(MPI_Request request) noexcept {
    const Guard guard = lock();
    const TrackedRequest* const found = lookup(request);
    if (found == nullptr || found->awaits == 0) return MPI_REQUEST_NULL;
    const auto leader = leaders_.find({found->window, found->awaits});
    return leader == leaders_.end() ? MPI_REQUEST_NULL : leader->second;
}

MPI_Request RequestTable::arrived(RequestId waiting) {
    const Guard guard = lock();
    const auto found = waiting_.find(waiting);
    if (found == waiting_.end()) return MPI_REQUEST_NULL;
    const MPI_Request request = found->second;
    waiting_.erase(found);
    if (TrackedRequest* const tracked = lookup(request)) tracked->awaits = 0;
    count();
    return request;
}

void bring_slowly(int count, const MPI_Request* requests, WaitMode mode) {
    RequestTable& table = RequestTable::instance();
    MPI_Request last = MPI_REQUEST_NULL;  // often many in a row wait for the same one
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
            const auto tracked = table.silence(leader, table.find(leader).id);
            tracked->complete(true, ticks() - begin_ticks);
            // What a failed transfer has left there is for nobody.
            if (status != MPI_SUCCESS) tracked->window->cache().acquire();
        });
    }
}

}  // namespace nearfetch
