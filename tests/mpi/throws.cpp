// SPDX-License-Identifier: Apache-2.0
// Error handlers that throw C++ exceptions, as those of MPI's old C++ bindings do: the exception reaches the
// program, and whatever it calls afterwards works.
#include <algorithm>

#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 4096;

struct Thrown {
    int error_class;
};

[[noreturn]] void throw_class(int code) {
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    throw Thrown{error_class};
}

extern "C" void on_window(MPI_Win*, int* code, ...) { throw_class(*code); }
extern "C" void on_communicator(MPI_Comm*, int* code, ...) { throw_class(*code); }

/// The class of what the call throws, or MPI_SUCCESS.
template <class Call>
int thrown_by(const Call& call) {
    try {
        call();
        return MPI_SUCCESS;
    } catch (const Thrown& thrown) {
        return thrown.error_class;
    }
}

void still_right(MPI_Win win, int version = 0) {
    for (int pass = 0; pass < 2; ++pass) {
        unsigned char seen[100] = {};
        CHECK_MPI(MPI_Get(seen, 100, MPI_BYTE, right(), 200, 100, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(seen, 100, right(), 200, version);
    }
}

/// A message that is longer than what it is received into.
void truncated() {
    part("truncated");
    constexpr int tag = 7;
    const int sent[4] = {};
    int got[2] = {};
    for (int way = 0; way < 4; ++way) {
        barrier();
        if (rank() == 0) MPI_Send(sent, 4, MPI_INT, 1, tag, MPI_COMM_WORLD);
        if (rank() != 1) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        const int seen = thrown_by([&] {
            if (way == 0) {
                MPI_Recv(got, 2, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                return;
            }
            MPI_Irecv(got, 2, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
            int flag = 0;
            if (way == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (way == 2) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
            while (way == 3 && !flag)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        });
        CHECK(seen == MPI_ERR_TRUNCATE || seen == MPI_ERR_IN_STATUS);
    }
    barrier();
}

void bad_ranks(MPI_Win win) {
    part("bad rank");
    const int bad = size() + 3;
    long long buffer[4] = {1, 2, 3, 4}, result[4] = {};
    MPI_Request request = MPI_REQUEST_NULL;
    const auto refused = [&](const auto& call) {
        CHECK_EQ(thrown_by(call), MPI_ERR_RANK);
        still_right(win);
    };
    refused([&] { MPI_Get(buffer, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG, win); });
    refused([&] { MPI_Put(buffer, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG, win); });
    refused([&] { MPI_Rget(buffer, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG, win, &request); });
    refused([&] { MPI_Rput(buffer, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG, win, &request); });
    refused([&] { MPI_Accumulate(buffer, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG, MPI_SUM, win); });
    refused(
        [&] { MPI_Raccumulate(buffer, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG, MPI_SUM, win, &request); });
    refused([&] {
        MPI_Get_accumulate(buffer, 1, MPI_LONG_LONG, result, 1, MPI_LONG_LONG, bad, 0, 1, MPI_LONG_LONG,
                           MPI_SUM, win);
    });
    refused([&] { MPI_Fetch_and_op(buffer, result, MPI_LONG_LONG, bad, 0, MPI_SUM, win); });
    refused([&] { MPI_Fetch_and_op(buffer, result, MPI_LONG_LONG, bad, 0, MPI_NO_OP, win); });
    refused([&] { MPI_Compare_and_swap(buffer, buffer + 1, result, MPI_LONG_LONG, bad, 0, win); });
#ifndef OPEN_MPI  // its flushes do not check the rank
    refused([&] { MPI_Win_flush(bad, win); });
    refused([&] { MPI_Win_flush_local(bad, win); });
#endif
    refused([&] { MPI_Win_call_errhandler(win, MPI_ERR_RANK); });
}

/// Counts and types that only the library can refuse, after something else is under way.
void bad_arguments(MPI_Win win) {
    part("bad arguments");
    unsigned char buffer[64] = {}, seen[300] = {};
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &type);
    for (int i = 0; i < 8; ++i) {
        CHECK_MPI(MPI_Get(seen, 300, MPI_BYTE, right(), 1000 + 300 * i, 300, MPI_BYTE, win));
        CHECK(thrown_by([&] { MPI_Get(buffer, 2, MPI_BYTE, right(), 0, 1, type, win); }) != MPI_SUCCESS);
        CHECK(thrown_by([&] { MPI_Put(buffer, -1, MPI_BYTE, right(), 0, -1, MPI_BYTE, win); }) !=
              MPI_SUCCESS);
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(seen, 300, right(), static_cast<std::uint64_t>(1000 + 300 * i));
    }
    MPI_Type_free(&type);
    still_right(win);
}

/// What nearfetch itself objects to.
void bad_settings(MPI_Win win) {
    part("bad setting");
    const Info info{{"nearfetch_mode", "no such mode"}};
    const int expected = loaded() ? MPI_ERR_INFO_VALUE : MPI_SUCCESS;
    CHECK_EQ(thrown_by([&] { MPI_Win_set_info(win, info); }), expected);
    unsigned char* base = nullptr;
    MPI_Win other = MPI_WIN_NULL;
    CHECK_EQ(thrown_by([&] { MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &other); }), expected);
    if (other != MPI_WIN_NULL) MPI_Win_free(&other);
    still_right(win);
}

/// A call that throws may have brought the news by which another hands data over.
void news(const Window& window) {
    part("news");
    constexpr int tag = 8;
    const int sent[4] = {};
    int got[2] = {};
    if (size() != 2) return;
    for (int version = 1; version < 6; ++version) {
        still_right(window, version - 1);
        barrier();
        if (rank() == 0) {
            MPI_Win_sync(window);
            fill(window.bytes(), bytes, 0, version);
            MPI_Win_sync(window);
            MPI_Send(sent, 4, MPI_INT, 1, tag, MPI_COMM_WORLD);
        } else {
            CHECK_EQ(thrown_by([&] { MPI_Recv(got, 2, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }),
                     MPI_ERR_TRUNCATE);
            forget(window);
            still_right(window, version);
        }
        barrier();
        if (rank() == 1) {
            MPI_Win_sync(window);
            fill(window.bytes(), bytes, 1, version);
        }
        publish(window);
    }
}

void test() {
    MPI_Errhandler of_window, of_communicator;
    MPI_Comm_create_errhandler(on_communicator, &of_communicator);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_communicator);
    truncated();
    {
        const Window window(bytes);
        MPI_Win_create_errhandler(on_window, &of_window);
        MPI_Win_set_errhandler(window, of_window);
        const LockAll epoch(window);
        store_all(window, 0);
        truncated();
        bad_ranks(window);
        bad_arguments(window);
        bad_settings(window);
        news(window);
        MPI_Errhandler_free(&of_window);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&of_communicator);
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv).run_with_others(test); }
