// SPDX-License-Identifier: Apache-2.0
// Bulk-synchronous phases with user-defined caching (001, section III-A): owners change their data, a
// barrier, nearfetch_win_invalidate, everybody reads the new version as often as it likes.
#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 8192;

// Hits are counted: nothing is read ahead.
#define EXACT_RANGES {"nearfetch_read_ahead_bytes", "0"}

void phases(Kind kind) {
    part("phases");
    const Info info{{"nearfetch_mode", "user-defined"}, EXACT_RANGES};
    const Window window(bytes, 4, kind, info);
    const LockAll epoch(window);
    const int number = crowded() ? 3 : 10;
    for (int version = 0; version < number; ++version) {
        store_all(window, version, "user-defined");
        const unsigned long long hits_before = counter(window, "hits");
        unsigned char buffer[1024];
        for (int pass = 0; pass < 4; ++pass)
            for (int block = 0; block < 8; ++block) {
                CHECK_MPI(MPI_Get(buffer, 1024, MPI_BYTE, right(), block * 256, 1024, MPI_BYTE, window));
                CHECK_MPI(MPI_Win_flush(right(), window));
                CHECK_BYTES(buffer, 1024, right(), static_cast<std::uint64_t>(block) * 1024, version);
            }
        if (counts_hits() && size() > 1) CHECK_EQ(counter(window, "hits") - hits_before, 24u);
    }
    barrier();
}

/// What was asked for ahead is a hit when it is read; a prefetch is a hint and changes no value.
void prefetch(Kind kind) {
    part("prefetch");
    const Info info{{"nearfetch_mode", "user-defined"}, EXACT_RANGES};
    const Window window(bytes, 4, kind, info);
    const LockAll epoch(window);
    for (int version = 0; version < 3; ++version) {
        store_all(window, version, "user-defined");
        const unsigned long long hits_before = counter(window, "hits"),
                                 network_before = counter(window, "bytes_from_network");
        CHECK_MPI(NEARFETCH_CALL(nearfetch_win_prefetch, (window, right(), 512, 300, MPI_BYTE)));
        CHECK_MPI(NEARFETCH_CALL(nearfetch_win_prefetch, (window, right(), 1024, 300, MPI_INT32_T)));
        CHECK_MPI(NEARFETCH_CALL(nearfetch_win_prefetch, (window, MPI_PROC_NULL, 0, 10, MPI_BYTE)));
        CHECK_MPI(NEARFETCH_CALL(nearfetch_win_prefetch, (window, right(), 0, 0, MPI_BYTE)));
        CHECK_MPI(MPI_Win_flush(right(), window));
        unsigned char buffer[1200] = {};
        CHECK_MPI(MPI_Get(buffer, 300, MPI_BYTE, right(), 512, 300, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(buffer, 300, right(), 2048, version);
        CHECK_MPI(MPI_Get(buffer, 1200, MPI_BYTE, right(), 1024, 1200, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(buffer, 1200, right(), 4096, version);
        if (counts_hits() && size() > 1) {
            CHECK_EQ(counter(window, "hits") - hits_before, 2u);
            CHECK_EQ(counter(window, "bytes_from_network") - network_before, 0u);
        }
        barrier();
    }
}

/// In every mode the call is allowed, and forgets: also between gets of one epoch, and with gets in flight.
void invalidate_anywhere(Kind kind) {
    part("invalidate with gets in flight");
    const Window window(bytes, 1, kind);
    const LockAll epoch(window);
    for (int version = 0; version < 3; ++version) {
        store_all(window, version);
        CHECK_MPI(NEARFETCH_CALL(nearfetch_win_invalidate, (window)));
        unsigned char a[500] = {}, b[500] = {}, c[100] = {};
        CHECK_MPI(MPI_Get(a, 500, MPI_BYTE, right(), 0, 500, MPI_BYTE, window));
        CHECK_MPI(NEARFETCH_CALL(nearfetch_win_invalidate, (window)));
        CHECK_MPI(MPI_Get(b, 500, MPI_BYTE, right(), 0, 500, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_MPI(MPI_Get(c, 100, MPI_BYTE, right(), 200, 100, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(a, 500, right(), 0, version);
        CHECK_BYTES(b, 500, right(), 0, version);
        CHECK_BYTES(c, 100, right(), 200, version);
    }
    barrier();
}

void counters() {
    part("counters");
    if (!loaded()) return;
    const Window window(64);
    unsigned long long value = 0;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    CHECK_MPI(nearfetch_win_stats(window, "gets", &value));
    int error_class = 0;
    MPI_Error_class(nearfetch_win_stats(window, "no such counter", &value), &error_class);
    CHECK_EQ(error_class, MPI_ERR_ARG);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        phases(kind);
        prefetch(kind);
        invalidate_anywhere(kind);
    }
    counters();
    return program.finish();
}
