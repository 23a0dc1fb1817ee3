// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_job_endpoint.hpp"

#include <sched.h>

#include <algorithm>

#include "base/assert.hpp"
#include "base/clock.hpp"

namespace nearfetch {

namespace {

/// test() flushes when a PUT is older than this many times the cost of a flush.
constexpr std::uint64_t flush_age_factor = 16;
constexpr unsigned tests_of_who_waits = 100;
/// Limit of one request: MPI counts in int.
constexpr std::uint64_t largest_part_bytes = 1ull << 30;

}  // namespace

MpiEndpoint::~MpiEndpoint() {
    std::vector<Completion> rest(64);
    while (gets_ != 0 || !requests_.empty() || !unflushed_.empty()) {
        wait(rest);
        done_.clear();
    }
}

/// Starts the requests of one operation. If one fails, the earlier ones are waited for: the caller gets no
/// completion and may free the memory.
template <class Start>
int MpiEndpoint::begin(Kind kind, Rank target, std::uint64_t address, std::uint64_t size, Token token,
                       const Start& start) {
    NF_EXPECT(size > 0);
    if (!segments_.has_rank(target)) return transport_status::bad_rank;
    MpiSegment* const segment = segments_.find(address, size);
    if (segment == nullptr) return transport_status::outside;
    if (spare_.empty()) {
        spare_.push_back(static_cast<std::uint32_t>(operations_.size()));
        operations_.emplace_back();
    }
    const std::size_t before = requests_.size();
    int code = MPI_SUCCESS;
    for (std::uint64_t done = 0; done < size && code == MPI_SUCCESS;) {
        const std::uint64_t part = std::min(size - done, largest_part_bytes);
        MPI_Request request = MPI_REQUEST_NULL;
        code = start(done, static_cast<int>(part), segment->displacement(target, address + done),
                     segment->win, &request);
        if (code != MPI_SUCCESS) break;
        requests_.push_back(request);
        owners_.push_back(spare_.back());
        done += part;
    }
    if (code != MPI_SUCCESS) {
        for (std::size_t i = before; i < requests_.size(); ++i)
            PMPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
        requests_.resize(before);
        owners_.resize(before);
        return code;
    }
    segment->outstanding_ops.fetch_add(1, std::memory_order_relaxed);
    const auto requests = static_cast<std::uint32_t>(requests_.size() - before);
    operations_[spare_.back()] = {token, now_ns(), target, segment, requests, MPI_SUCCESS, kind};
    spare_.pop_back();
    idle_tests_ = 0;
    if (kind == Kind::get) ++gets_;
    return MPI_SUCCESS;
}

int MpiEndpoint::start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                           Token token) {
    return begin(
        Kind::get, target, address, size, token,
        [&](std::uint64_t done, int count, MPI_Aint displacement, MPI_Win win, MPI_Request* request) {
            return PMPI_Rget(to + done, count, MPI_BYTE, target, displacement, count, MPI_BYTE, win, request);
        });
}

int MpiEndpoint::start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                           Token token) {
    return begin(
        Kind::put, target, address, size, token,
        [&](std::uint64_t done, int count, MPI_Aint displacement, MPI_Win win, MPI_Request* request) {
            return PMPI_Rput(from + done, count, MPI_BYTE, target, displacement, count, MPI_BYTE, win,
                             request);
        });
}

/// A request of the operation is complete.
void MpiEndpoint::finished(std::uint32_t slot, int status) {
    Operation& operation = operations_[slot];
    if (operation.status == MPI_SUCCESS) operation.status = status;
    if (--operation.requests != 0) return;
    if (operation.kind == Kind::put) {
        unflushed_.push_back(slot);
        return;
    }
    --gets_;
    end(slot, operation.status);
}

/// Reports an operation, and forgets it.
void MpiEndpoint::end(std::uint32_t slot, int status) {
    const Operation& operation = operations_[slot];
    operation.segment->outstanding_ops.fetch_sub(1, std::memory_order_release);
    done_.push_back({operation.token, status});
    spare_.push_back(slot);
}

/// Tests for completed requests without waiting. MPI also makes progress for other ranks.
void MpiEndpoint::poll() {
    if (requests_.empty()) return;
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                   indices_.data(), statuses_.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
        int error_class = MPI_SUCCESS;
        PMPI_Error_class(code, &error_class);
        // It is unknown which requests are complete: all count as failed.
        if (error_class != MPI_ERR_IN_STATUS) {
            for (const std::uint32_t owner : owners_)
                finished(owner, code);
            requests_.clear();
            owners_.clear();
            return;
        }
    }
    if (count <= 0) return;
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        finished(owners_[static_cast<std::size_t>(indices_[at])],
                 code == MPI_SUCCESS ? MPI_SUCCESS : statuses_[at].MPI_ERROR);
    }
    // MPI has set completed ones to null; the others keep the order of their starts.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i] == MPI_REQUEST_NULL) continue;
        requests_[kept] = requests_[i];
        owners_[kept++] = owners_[i];
    }
    requests_.resize(kept);
    owners_.resize(kept);
}

/// Completes the PUTs of one operation's target and segment.
void MpiEndpoint::flush(const Operation& oldest) {
    const Rank target = oldest.target;
    MpiSegment* const segment = oldest.segment;
    const std::uint64_t begin_ns = now_ns();
    const int code = PMPI_Win_flush(target, segment->win);
    flushed_ns_ = now_ns();
    const std::uint64_t cost_ns = flushed_ns_ - begin_ns;
    flush_cost_ns_ = flush_cost_ns_ == 0 ? cost_ns : (3 * flush_cost_ns_ + cost_ns) / 4;
    std::erase_if(unflushed_, [&](std::uint32_t slot) {
        const Operation& operation = operations_[slot];
        if (operation.target != target || operation.segment != segment) return false;
        end(slot, operation.status != MPI_SUCCESS ? operation.status : code);
        return true;
    });
}

bool MpiEndpoint::flush_is_due() {
    if (unflushed_.empty()) return false;
    if (idle_tests_ > tests_of_who_waits) return true;
    const std::uint64_t now = now_ns();
    const std::uint64_t enough_ns = flush_age_factor * flush_cost_ns_;
    return now - operations_[unflushed_.front()].started_ns >= enough_ns && now - flushed_ns_ >= enough_ns;
}

std::size_t MpiEndpoint::report(std::span<Completion> out) {
    const std::size_t count = std::min(out.size(), done_.size());
    std::copy_n(done_.begin(), count, out.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

std::size_t MpiEndpoint::test(std::span<Completion> out) {
    if (done_.size() < out.size()) poll();
    if (done_.empty() && flush_is_due()) flush(operations_[unflushed_.front()]);
    const std::size_t count = report(out);
    idle_tests_ = count == 0 ? idle_tests_ + 1 : 0;
    return count;
}

std::size_t MpiEndpoint::wait(std::span<Completion> out) {
    for (SpinWait spin; done_.empty(); spin.wait(messages_)) {
        NF_EXPECT(!requests_.empty() || !unflushed_.empty());
        poll();
        if (!done_.empty()) break;
        if (gets_ == 0 && !unflushed_.empty()) flush(operations_[unflushed_.front()]);
    }
    return report(out);
}

ByteRange MpiEndpoint::readable(Rank target, std::uint64_t address) const noexcept {
    return segments_.has_rank(target) ? segments_.around(address) : ByteRange{};
}

void MpiEndpoint::yield() {
    messages_.serve();
    sched_yield();
}

std::uint64_t MpiEndpoint::now_ns() { return steady_ns(); }

/// The common statuses, and MPI's error codes.
std::string MpiEndpoint::status_text(int status) const {
    switch (status) {
        case transport_status::bad_rank:
            return "there is no such rank: they are 0 to " + std::to_string(segments_.ranks() - 1);
        case transport_status::outside:
            return Transport::status_text(status);
        default:
            return mpi_error_text(status);
    }
}

}  // namespace nearfetch
