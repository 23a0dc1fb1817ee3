// SPDX-License-Identifier: Apache-2.0
// Errors come from the same call, with the same class, as without nearfetch, and leave the window usable.
// What the MPI libraries disagree on is only asked to come back, not how.
#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 1024;
int handler_calls = 0;
int handler_class = 0;
MPI_Win handler_window = MPI_WIN_NULL;

extern "C" void on_error(MPI_Win* win, int* code, ...) {
    ++handler_calls;
    MPI_Error_class(*code, &handler_class);
    handler_window = *win;
}

/// Open MPI 4.1 does not check the rank of a flush: it crashes or returns success.
#ifdef OPEN_MPI
constexpr bool flush_checks_rank = false;
#else
constexpr bool flush_checks_rank = true;
#endif

int error_class(int code) {
    int result = 0;
    MPI_Error_class(code, &result);
    return result;
}

/// The window works as if nothing had happened: twice, so that the second may be served from the cache.
void still_right(MPI_Win win) {
    for (int pass = 0; pass < 2; ++pass) {
        unsigned char seen[100] = {};
        CHECK_MPI(MPI_Get(seen, 100, MPI_BYTE, right(), 200, 100, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(seen, 100, right(), 200);
    }
}

void bad_ranks(MPI_Win win) {
    part("bad rank");
    std::int64_t buffer[4] = {1, 2, 3, 4}, result[4] = {};
    MPI_Request request = MPI_REQUEST_NULL;
    for (const int bad : {size(), size() + 1000, -77}) {
        CHECK_EQ(error_class(MPI_Get(buffer, 1, MPI_INT64_T, bad, 0, 1, MPI_INT64_T, win)), MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Put(buffer, 1, MPI_INT64_T, bad, 0, 1, MPI_INT64_T, win)), MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Rget(buffer, 1, MPI_INT64_T, bad, 0, 1, MPI_INT64_T, win, &request)),
                 MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Rput(buffer, 1, MPI_INT64_T, bad, 0, 1, MPI_INT64_T, win, &request)),
                 MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Accumulate(buffer, 1, MPI_INT64_T, bad, 0, 1, MPI_INT64_T, MPI_SUM, win)),
                 MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Get_accumulate(buffer, 1, MPI_INT64_T, result, 1, MPI_INT64_T, bad, 0, 1,
                                                MPI_INT64_T, MPI_SUM, win)),
                 MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Fetch_and_op(buffer, result, MPI_INT64_T, bad, 0, MPI_SUM, win)),
                 MPI_ERR_RANK);
        CHECK_EQ(error_class(MPI_Compare_and_swap(buffer, buffer + 1, result, MPI_INT64_T, bad, 0, win)),
                 MPI_ERR_RANK);
        if (flush_checks_rank) {
            CHECK_EQ(error_class(MPI_Win_flush(bad, win)), MPI_ERR_RANK);
            CHECK_EQ(error_class(MPI_Win_flush_local(bad, win)), MPI_ERR_RANK);
        }
        still_right(win);
    }
    for (int i = 0; i < 4; ++i)
        CHECK_EQ(buffer[i], i + 1);
}

void bad_arguments(MPI_Win win) {
    part("bad count and type");
    unsigned char buffer[16] = {};
    CHECK_EQ(error_class(MPI_Get(buffer, -1, MPI_BYTE, right(), 0, -1, MPI_BYTE, win)), MPI_ERR_COUNT);
    CHECK_EQ(error_class(MPI_Put(buffer, -1, MPI_BYTE, right(), 0, -1, MPI_BYTE, win)), MPI_ERR_COUNT);
    CHECK(MPI_Get(buffer, 1, MPI_DATATYPE_NULL, right(), 0, 1, MPI_BYTE, win) != MPI_SUCCESS);
    CHECK(MPI_Get(buffer, 1, MPI_BYTE, right(), 0, 1, MPI_DATATYPE_NULL, win) != MPI_SUCCESS);
#ifdef OPEN_MPI
    // Neither a type nor MPI_DATATYPE_NULL: for the window's error handler, too. MPICH takes such for its
    // own.
    const MPI_Datatype none = nullptr;
    for (int pass = 0; pass < 40; ++pass) {
        CHECK(MPI_Get(buffer, 1, none, right(), 0, 1, none, win) != MPI_SUCCESS);
        CHECK(MPI_Put(buffer, 1, MPI_BYTE, right(), 0, 1, none, win) != MPI_SUCCESS);
    }
    CHECK(MPI_Win_set_info(win, nullptr) != MPI_SUCCESS);
    still_right(win);
#endif
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &type);
    CHECK(MPI_Get(buffer, 2, MPI_BYTE, right(), 0, 1, type, win) != MPI_SUCCESS);
    still_right(win);
    CHECK(MPI_Get(buffer, 2, MPI_BYTE, right(), 250, 1, type, win) != MPI_SUCCESS);
    CHECK_MPI(MPI_Type_commit(&type));
    for (int pass = 0; pass < 2; ++pass) {
        CHECK_MPI(MPI_Get(buffer, 2, MPI_BYTE, right(), 250, 1, type, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(buffer, 1, right(), 250);
        CHECK_BYTES(buffer + 1, 1, right(), 252);
    }
    MPI_Type_free(&type);
    still_right(win);
}

void own_handler(MPI_Win win) {
    part("own error handler");
    MPI_Errhandler handler;
    CHECK_MPI(MPI_Win_create_errhandler(on_error, &handler));
    CHECK_MPI(MPI_Win_set_errhandler(win, handler));
    unsigned char buffer[8];
    handler_calls = 0;
    // What a call returns when the handler came back is the library's choice: MPICH says success, Open MPI
    // the code.
    MPI_Get(buffer, 8, MPI_BYTE, size() + 3, 0, 8, MPI_BYTE, win);
    CHECK_EQ(handler_calls, 1);
    CHECK_EQ(handler_class, MPI_ERR_RANK);
    CHECK(handler_window == win);
    MPI_Put(buffer, 8, MPI_BYTE, size() + 3, 0, 8, MPI_BYTE, win);
    CHECK_EQ(handler_calls, 2);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(buffer, 8, MPI_BYTE, size(), 0, 8, MPI_BYTE, win, &request);
    CHECK_EQ(handler_calls, 3);
    still_right(win);
    CHECK_EQ(handler_calls, 3);
    MPI_Errhandler seen;
    CHECK_MPI(MPI_Win_get_errhandler(win, &seen));
    CHECK(seen == handler);
    MPI_Errhandler_free(&seen);
    MPI_Errhandler_free(&handler);
    CHECK_MPI(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    CHECK_EQ(handler_calls, 4);
    CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
}

/// A window of null, and calls after the free.
void no_window() {
    part("no window");
    unsigned char buffer[8];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQ(error_class(MPI_Get(buffer, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, MPI_WIN_NULL)), MPI_ERR_WIN);
    CHECK_EQ(error_class(MPI_Win_flush(0, MPI_WIN_NULL)), MPI_ERR_WIN);
    MPI_Win null = MPI_WIN_NULL;
    CHECK_EQ(error_class(MPI_Win_free(&null)), MPI_ERR_WIN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A displacement unit that is not allowed: no window is made, and the next creation works.
void bad_creation() {
    part("bad creation");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    void* base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    CHECK(MPI_Win_allocate(64, -3, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) != MPI_SUCCESS);
    CHECK(MPI_Win_allocate(-64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A value that no setting takes, or a setting that no window has, in an info key, is an error of the
/// creation or ignored (info keys are hints), but it never does harm.
void bad_info(const Info& info) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char* base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    const int code = MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (!loaded()) CHECK_EQ(code, MPI_SUCCESS);
    if (code != MPI_SUCCESS) return;
    fill(base, bytes, rank());
    CHECK_MPI(MPI_Win_lock_all(0, win));
    publish(win);
    still_right(win);
    barrier();
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK_MPI(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    bad_creation();
    part("bad info keys");
    bad_info(Info{{"nearfetch_buffer_bytes", "plenty"}, {"nearfetch_mode", "sometimes"}});
    bad_info(Info{{"nearfetch_page_cache_page_bytes", "512"}});
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(bytes, 1, kind);
        CHECK_MPI(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
        const LockAll epoch(window);
        store_all(window, 0);
        still_right(window);
        bad_ranks(window);
        bad_arguments(window);
        own_handler(window);
        still_right(window);
        barrier();
    }
    no_window();
    return program.finish();
}
