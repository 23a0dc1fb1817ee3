// SPDX-License-Identifier: Apache-2.0
//
// Gets of a bypassed target: over a slow network, after many gets of which none is asked for again. Most are
// bypassed, others come between, and all are right. How many are bypassed depends on the network's time. So
// that is printed, not asserted; the unit tests of the breaker have a clock of their own.
#include "check.hpp"

using namespace check;

namespace {

/// More than what is read ahead, so that no get brings what another one asks for.
constexpr int apart = 8192 + 64;
constexpr int gets = 2000;
constexpr int window_bytes = apart * (gets + 8);
constexpr int again_bytes = 512;

void get(const Window& window, int offset, int bytes, int version) {
    unsigned char seen[64];
    std::memset(seen, 0xCC, sizeof seen);
    CHECK_MPI(MPI_Get(seen, bytes, MPI_BYTE, right(), offset, bytes, MPI_BYTE, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_BYTES(seen, bytes, right(), offset, version);
}

/// Each place once.
void stream(const Window& window, int version) {
    for (int i = 0; i < gets; ++i)
        get(window, i * apart, 8, version);
}

void change(const Window& window, int version) {
    barrier();
    fill(window.bytes(), static_cast<std::uint64_t>(window.size_bytes()), rank(), version);
    MPI_Win_sync(window);
    barrier();
    forget(window);
}

/// Hits, one after each bypassed get.
void beside_hits(const Window& window, const Window& again, int version) {
    for (int i = 0; i < gets / 2; ++i) {
        get(window, i * apart + 16, 8, version);
        get(again, i % 8 * 64, 64, 0);
    }
    // In rows: the breaker changes its state only now and then.
    for (int row = 0; row < 20; ++row) {
        for (int i = 0; i < 40; ++i)
            get(window, (row * 40 + i) * apart + 32, 8, version);
        for (int i = 0; i < 40; ++i)
            get(again, i % 8 * 64, 64, 0);
    }
}

void of_other_shapes(const Window& window, int version) {
    MPI_Datatype two;
    CHECK_MPI(MPI_Type_vector(2, 4, 12, MPI_BYTE, &two));
    CHECK_MPI(MPI_Type_commit(&two));
    for (int i = 0; i < 100; ++i) {
        const int offset = i * apart + 48;
        get(window, offset, 8, version);
        unsigned char seen[16] = {};
        CHECK_MPI(MPI_Get(seen, 1, MPI_INT64_T, right(), offset + 64, 8, MPI_BYTE, window));
        CHECK_MPI(MPI_Get(seen + 8, 8, MPI_BYTE, right(), offset + 80, 1, two, window));
        CHECK_MPI(MPI_Get(seen, 0, MPI_BYTE, right(), offset, 0, MPI_BYTE, window));
        CHECK_MPI(MPI_Get(seen, 8, MPI_BYTE, MPI_PROC_NULL, offset, 8, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush_all(window));
        CHECK_BYTES(seen, 8, right(), offset + 64, version);
        CHECK_BYTES(seen + 8, 4, right(), offset + 80, version);
        CHECK_BYTES(seen + 12, 4, right(), offset + 92, version);
    }
    CHECK_MPI(MPI_Type_free(&two));
}

void many_at_once(const Window& window, int version) {
    unsigned char seen[40][8];
    for (int first = 0; first < gets; first += 40) {
        for (int i = 0; i < 40; ++i)
            CHECK_MPI(MPI_Get(seen[i], 8, MPI_BYTE, right(), (first + i) * apart + 200, 8, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush_all(window));
        for (int i = 0; i < 40; ++i)
            CHECK_BYTES(seen[i], 8, right(), (first + i) * apart + 200, version);
    }
}

/// What this rank has just put is what it gets. Nobody else looks there.
void of_own_puts(const Window& window) {
    for (int i = 0; i < 300; ++i) {
        const int offset = i * apart + 300;
        unsigned char mine[8], seen[8] = {};
        fill(mine, sizeof mine, right(), 77, static_cast<std::uint64_t>(offset));
        CHECK_MPI(MPI_Put(mine, 8, MPI_BYTE, right(), offset, 8, MPI_BYTE, window));
        if (i % 2 == 0) CHECK_MPI(MPI_Win_flush(right(), window));
        if (i % 2 != 0) CHECK_MPI(MPI_Win_flush_all(window));
        CHECK_MPI(MPI_Get(seen, 8, MPI_BYTE, right(), offset, 8, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(seen, 8, right(), offset, 77);
    }
}

void of_bad_ranks(const Window& window, int version) {
    CHECK_MPI(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    unsigned char seen[8];
    for (int i = 0; i < 40; ++i) {
        int error = MPI_SUCCESS;
        MPI_Error_class(MPI_Get(seen, 8, MPI_BYTE, size() + 3, 0, 8, MPI_BYTE, window), &error);
        CHECK_EQ(error, MPI_ERR_RANK);
        get(window, i * apart + 400, 8, version);
    }
}

void run() {
    const Window window(window_bytes), again(again_bytes);
    fill(again.bytes(), again_bytes, rank());
    CHECK_MPI(MPI_Win_lock_all(0, window));
    CHECK_MPI(MPI_Win_lock_all(0, again));
    change(window, 1);
    part("a stream");
    stream(window, 1);
    part("the same places again, changed");
    change(window, 2);
    stream(window, 2);
    part("beside hits");
    beside_hits(window, again, 2);
    part("other shapes");
    of_other_shapes(window, 2);
    part("many at once");
    many_at_once(window, 2);
    part("bad ranks");
    of_bad_ranks(window, 2);
    barrier();
    part("own puts");
    of_own_puts(window);
    barrier();
    part("a stream again");
    change(window, 3);
    stream(window, 3);
    unsigned long long bypassed = 0;
    if (nearfetch_win_stats != nullptr && nearfetch_win_stats(window, "bypassed", &bypassed) == MPI_SUCCESS)
        std::cout << "rank " << rank() << ": " << bypassed << " gets bypassed\n";
    CHECK_MPI(MPI_Win_unlock_all(again));
    CHECK_MPI(MPI_Win_unlock_all(window));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    run();
    return program.finish();
}
