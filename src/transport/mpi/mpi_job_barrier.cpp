// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_job_barrier.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "transport/mpi/mpi_job_segments.hpp"

namespace nearfetch {

namespace {

/// The clock is read after this many unsuccessful polls.
constexpr unsigned polls_per_clock = 64;
/// Time for the notices of other ranks that detect the difference.
constexpr std::uint64_t notice_grace_ns = 100'000'000;

}  // namespace

MpiJobBarrier::MpiJobBarrier(MPI_Comm comm, MpiJobMessages& messages) : comm_(comm), messages_(messages) {
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &ranks_);
}

/// MPI may still write to the buffers of an incomplete operation.
MpiJobBarrier::~MpiJobBarrier() {
    if (broken_) static_cast<void>(ids_.release());
}

void MpiJobBarrier::meet(const CollectiveCall& call) {
    if (broken_) throw CollectiveError(*broken_);
    ++round_;
    ids_->mine = {call.id, ~call.id};
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        PMPI_Iallreduce(ids_->mine.data(), ids_->most.data(), 2, MPI_UINT64_T, MPI_MAX, comm_, &request),
        "MPI_Iallreduce", ask_the_others);
    wait(request, call);
    if (ids_->most != ids_->mine) exchange_and_throw(call);
}

void MpiJobBarrier::wait(MPI_Request& request, const CollectiveCall& call) {
    std::uint64_t begin_ns = 0;
    unsigned polls = 0;
    for (SpinWait spin;; spin.wait(messages_)) {
        int done = 0;
        check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", ask_the_others);
        if (done) return;
        if (++polls % polls_per_clock != 0) continue;
        const std::uint64_t now_ns = steady_ns();
        if (begin_ns == 0) begin_ns = now_ns;
        if (now_ns - begin_ns < collective_timeout_ns) continue;
        tell(call);
        listen();
        if (differs(call.id)) abort_job(call);
    }
}

MpiJobBarrier::Notice MpiJobBarrier::notice_of(const CollectiveCall& call) const {
    Notice notice{round_, call.id};
    const std::string text = call.text();
    std::copy_n(text.data(), std::min(text.size(), notice.text.size() - 1), notice.text.data());
    return notice;
}

CollectiveArrival MpiJobBarrier::arrival_of(Rank rank, const Notice& notice) const {
    return {rank, notice.id, notice.text.data()};
}

/// Once for each barrier.
void MpiJobBarrier::tell(const CollectiveCall& call) {
    if (told_round_ == round_) return;
    told_round_ = round_;
    const Notice notice = notice_of(call);
    for (Rank other = 0; other < ranks_; ++other)
        if (other != rank_) messages_.send(other, notice_port, std::as_bytes(std::span(&notice, 1)));
}

void MpiJobBarrier::listen() {
    for (Message message; messages_.receive(notice_port, message);)
        std::memcpy(&heard_[message.source], message.bytes.data(), sizeof(Notice));
}

bool MpiJobBarrier::differs(std::uint64_t id) const {
    return std::any_of(heard_.begin(), heard_.end(),
                       [&](const auto& one) { return one.second.round == round_ && one.second.id != id; });
}

void MpiJobBarrier::abort_job(const CollectiveCall& call) {
    for (const std::uint64_t end_ns = steady_ns() + notice_grace_ns; steady_ns() < end_ns; sched_yield())
        listen();
    std::vector<CollectiveArrival> arrivals{arrival_of(rank_, notice_of(call))};
    for (const auto& [rank, notice] : heard_)
        if (notice.round == round_) arrivals.push_back(arrival_of(rank, notice));
    broken_ = collective_error(std::move(arrivals), ranks_);
    throw CollectiveError(*broken_);
}

/// All ranks have arrived, and know that their calls differ.
void MpiJobBarrier::exchange_and_throw(const CollectiveCall& call) {
    const Notice mine = notice_of(call);
    std::vector<Notice> all(static_cast<std::size_t>(ranks_));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        PMPI_Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm_, &request),
        "MPI_Iallgather", ask_the_others);
    int done = 0;
    for (SpinWait spin; !done; spin.wait(messages_))
        check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", ask_the_others);
    std::vector<CollectiveArrival> arrivals;
    for (Rank rank = 0; rank < ranks_; ++rank)
        arrivals.push_back(arrival_of(rank, all[static_cast<std::size_t>(rank)]));
    throw collective_error(std::move(arrivals), ranks_);
}

}  // namespace nearfetch
