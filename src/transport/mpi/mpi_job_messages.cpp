// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_job_messages.hpp"

#include <algorithm>
#include <utility>

#include "transport/mpi/mpi_job_segments.hpp"

namespace nearfetch {

/// Frees completed sends. \return whether all are complete
bool MpiJobMessages::forget_sent() {
    const std::lock_guard lock(sent_mutex_);
    std::erase_if(sent_, [](Sent& sent) {
        int done = 0;
        check_mpi(PMPI_Test(&sent.request, &done, MPI_STATUS_IGNORE), "MPI_Isend", ask_the_others);
        return done != 0;
    });
    return sent_.empty();
}

/// Sends a copy: MPI may or may not wait for the receiver, depending on the size. The port is the tag.
void MpiJobMessages::send(Rank target, Port port, std::span<const std::byte> bytes) {
    forget_sent();
    std::list<Sent> one;
    one.push_back({MPI_REQUEST_NULL, {bytes.begin(), bytes.end()}});
    Sent& sent = one.front();
    const std::lock_guard lock(sent_mutex_);
    check_mpi(PMPI_Isend(sent.bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, target,
                         static_cast<int>(port), comm_, &sent.request),
              "MPI_Isend", ask_the_others);
    sent_.splice(sent_.end(), one);
}

/// Starts to receive the next message, if any. \return whether there was one
bool MpiJobMessages::accept_one() {
    int found = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(PMPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &handle, &status), "MPI_Improbe",
              ask_the_others);
    if (!found) return false;
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    Arriving& arriving = arriving_.emplace_back();
    arriving.port = static_cast<Port>(status.MPI_TAG);
    arriving.message.source = status.MPI_SOURCE;
    arriving.message.bytes.resize(static_cast<std::size_t>(bytes));
    check_mpi(PMPI_Imrecv(arriving.message.bytes.data(), bytes, MPI_BYTE, &handle, &arriving.request),
              "MPI_Imrecv", ask_the_others);
    return true;
}

/// Moves received messages to the inbox, in the order of sending for each port.
void MpiJobMessages::put_in_inbox() {
    for (auto next = arriving_.begin(); next != arriving_.end();) {
        const auto at = next++;
        int done = 0;
        check_mpi(PMPI_Test(&at->request, &done, MPI_STATUS_IGNORE), "MPI_Imrecv", ask_the_others);
        const bool overtakes = std::any_of(arriving_.begin(), at, [&](const Arriving& earlier) {
            return earlier.port == at->port && earlier.message.source == at->message.source;
        });
        if (!done || overtakes) continue;
        inbox_[at->port].push_back(std::move(at->message));
        arriving_.erase(at);
    }
}

void MpiJobMessages::serve() {
    const std::unique_lock lock(inbox_mutex_, std::try_to_lock);
    if (!lock) return;  // another thread does it
    while (accept_one()) {
    }
    put_in_inbox();
}

bool MpiJobMessages::receive(Port port, Message& message) {
    serve();
    const std::lock_guard lock(inbox_mutex_);
    const auto found = inbox_.find(port);
    if (found == inbox_.end()) return false;
    message = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) inbox_.erase(found);
    return true;
}

/// A rank without outstanding sends enters the barrier, and keeps receiving while it waits there.
void MpiJobMessages::finish() {
    for (SpinWait spin; !forget_sent(); spin.wait(*this))
        serve();
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(PMPI_Ibarrier(comm_, &request), "MPI_Ibarrier", ask_the_others);
    int done = 0;
    for (SpinWait spin; !done; spin.wait(*this))
        check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Ibarrier", ask_the_others);
    while (!arriving_.empty())
        serve();
}

}  // namespace nearfetch
