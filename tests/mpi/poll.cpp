// SPDX-License-Identifier: Apache-2.0
// Programs that wait by reading a remote place again and again by an atomic: MPI_NO_OP reads always go to the
// network, in every mode, so the loops end. The bytes polled have been cached by plain gets before.
#include "check.hpp"

using namespace check;

namespace {

enum class Read { get_accumulate, rget_accumulate, fetch_and_op, compare_and_swap };

std::int64_t read(const Window& window, Read how, int target, MPI_Aint disp) {
    std::int64_t value = -1, nothing = 0;
    switch (how) {
        case Read::get_accumulate:
            CHECK_MPI(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, target, disp, 1,
                                         MPI_INT64_T, MPI_NO_OP, window));
            break;
        case Read::rget_accumulate: {
            MPI_Request request;
            CHECK_MPI(MPI_Rget_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, target, disp, 1,
                                          MPI_INT64_T, MPI_NO_OP, window, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            return value;
        }
        case Read::fetch_and_op:
            CHECK_MPI(MPI_Fetch_and_op(&nothing, &value, MPI_INT64_T, target, disp, MPI_NO_OP, window));
            break;
        case Read::compare_and_swap:
            CHECK_MPI(MPI_Compare_and_swap(&nothing, &nothing, &value, MPI_INT64_T, target, disp, window));
    }
    CHECK_MPI(MPI_Win_flush(target, window));
    return value;
}

/// Rank r waits until its right neighbour's flag is raised; the neighbour raises it by an atomic on its own
/// window, one after the other round the ring.
void ring(const Window& window, Read how, const char* name) {
    part(name);
    std::int64_t* flags = window.as<std::int64_t>();
    CHECK_MPI(MPI_Win_flush_all(window));
    barrier();
    flags[0] = flags[1] = 0;
    publish(window);
    std::int64_t cached[2] = {-1, -1};
    CHECK_MPI(MPI_Get(cached, 2, MPI_INT64_T, right(), 0, 2, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_EQ(cached[0], 0);
    barrier();
    std::int64_t one = 1, old = -1;
    if (rank() != 0)
        while (read(window, how, (rank() + size() - 1) % size(), 8) == 0) {
        }
    CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, rank(), 8, MPI_SUM, window));
    CHECK_MPI(MPI_Win_flush(rank(), window));
    CHECK_EQ(old, 0);
    // Everybody waits for the last one.
    int rounds = 0;
    while (read(window, how, size() - 1, 8) == 0)
        ++rounds;
    CHECK(rounds >= 0);
    barrier();
    forget(window);
    CHECK_MPI(MPI_Get(cached, 2, MPI_INT64_T, right(), 0, 2, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_EQ(cached[0], 0);
    CHECK_EQ(cached[1], 1);
    barrier();
}

/// A counter that all ranks draw tickets from: each number once.
void tickets(const Window& window) {
    part("tickets");
    const int each = crowded() ? 10 : 100;
    barrier();
    if (rank() == 0) window.as<std::int64_t>()[0] = 0;
    publish(window);
    std::int64_t one = 1, last = -1, sum = 0, total = 0;
    for (int i = 0; i < each; ++i) {
        std::int64_t ticket = -1;
        CHECK_MPI(MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 0, MPI_SUM, window));
        CHECK_MPI(MPI_Win_flush(0, window));
        CHECK(ticket > last);
        last = ticket;
        sum += ticket;
    }
    MPI_Allreduce(&sum, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    const std::int64_t n = static_cast<std::int64_t>(each) * size();
    CHECK_EQ(total, n * (n - 1) / 2);
    CHECK_EQ(read(window, Read::get_accumulate, 0, 0), n);
    barrier();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(64, 1, kind);
        const LockAll epoch(window);
        ring(window, Read::get_accumulate, "Get_accumulate");
        ring(window, Read::rget_accumulate, "Rget_accumulate");
        ring(window, Read::fetch_and_op, "Fetch_and_op");
        if (can_swap(Kind::allocate)) ring(window, Read::compare_and_swap, "Compare_and_swap");
        tickets(window);
    }
    return program.finish();
}
