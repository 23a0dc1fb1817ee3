// SPDX-License-Identifier: Apache-2.0

// A program for each situation in which nearfetch helps or not. Its first argument names one; what the
// summary has to say about it stands in test_situations.py. Each rank reads of the next one, or of itself.

#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int rounds = 20, elements = 64,
              stride = 512;  // of 8 bytes: 4 KiB apart, so that nothing is read ahead

struct Window {
    explicit Window(MPI_Aint size) : bytes(size) {
        MPI_Win_allocate(size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_set_name(win, "table");
        for (MPI_Aint i = 0; i < size / 8; ++i)
            base[i] = static_cast<double>(i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~Window() { MPI_Win_free(&win); }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    MPI_Aint bytes;
    double* base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
};

int rank_of_self() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int next_rank() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return (rank_of_self() + 1) % size;
}

void get(const Window& window, int target, int element, int count = 1) {
    static std::vector<double> to(1 << 16);
    MPI_Get(to.data(), count, MPI_DOUBLE, target, element, count, MPI_DOUBLE, window.win);
    MPI_Win_flush(target, window.win);
}

/// Each element once.
void no_reuse() {
    Window window(rounds * elements * stride * 8);
    MPI_Win_lock_all(0, window.win);
    for (int i = 0; i < rounds * elements; ++i)
        get(window, next_rank(), i * stride);
    MPI_Win_unlock_all(window.win);
}

/// What rank 0 has read is changed in rank 2, and rank 1 reads the same then, in this order by files in
/// `folder`, of which MPI does not know.
void race(const std::filesystem::path& folder) {
    const auto say = [&](const char* what) { std::ofstream(folder / what); };
    const auto wait_for = [&](const char* what, const auto& meanwhile) {
        for (; !std::filesystem::exists(folder / what); meanwhile())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    const auto serve = [] {
        int flag = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    };
    const auto nothing = [] {};  // what enters MPI may acquire
    Window window(8);
    MPI_Win_lock_all(0, window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_self() == 0) {
        wait_for("ready", nothing);
        get(window, 2, 0);
        say("read");
    }
    if (rank_of_self() == 2) {
        wait_for("read", serve);
        *window.base = 1;
        MPI_Win_sync(window.win);
        say("written");
    }
    if (rank_of_self() == 1) {
        say("ready");
        wait_for("written", nothing);
        get(window, 2, 0);
    }
    MPI_Win_unlock_all(window.win);
}

/// The same elements in each round, with a lock for each.
void locks() {
    Window window(elements * stride * 8);
    for (int i = 0; i < rounds * elements; ++i) {
        MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, window.win);
        get(window, next_rank(), i % elements * stride);
        MPI_Win_unlock(next_rank(), window.win);
    }
}

/// The same elements in each round, with a reduction, or a fence after a put, between them.
void allreduce() {
    Window window(elements * stride * 8);
    MPI_Win_lock_all(0, window.win);
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < elements; ++i)
            get(window, next_rank(), i * stride);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(window.win);
}

void written_to() {
    Window window(elements * stride * 8);
    const double one = 1;
    for (int round = 0; round < rounds; ++round) {
        MPI_Win_fence(0, window.win);
        for (int i = 0; i < elements; ++i) {
            static double to[elements];
            MPI_Get(&to[i], 1, MPI_DOUBLE, next_rank(), i * stride, 1, MPI_DOUBLE, window.win);
        }
        MPI_Win_fence(0, window.win);
        MPI_Put(&one, 1, MPI_DOUBLE, next_rank(), round % elements * stride, 1, MPI_DOUBLE, window.win);
    }
    MPI_Win_fence(0, window.win);
}

/// In turn what together is larger than the memory that the test gives.
void small_buffer() {
    constexpr int block = 8192, blocks = 32;  // of 64 KiB
    Window window(blocks * block * 8);
    MPI_Win_lock_all(0, window.win);
    for (int i = 0; i < rounds * blocks; ++i)
        get(window, next_rank(), i % blocks * block, block);
    MPI_Win_unlock_all(window.win);
}

void own_memory() {
    Window window(elements * stride * 8);
    MPI_Win_lock_all(0, window.win);
    for (int i = 0; i < rounds * elements; ++i)
        get(window, rank_of_self(), i % elements * stride);
    MPI_Win_unlock_all(window.win);
}

/// Much of the same. Whether hits pay is left to nearfetch.
void reuse(int repeated = 200) {
    Window window(elements * stride * 8);
    MPI_Win_lock_all(0, window.win);
    for (int i = 0; i < repeated * elements; ++i)
        get(window, next_rank(), i % elements * stride);
    MPI_Win_unlock_all(window.win);
}

/// Windows of some ranks only; the others make none.
void some_ranks() {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank_of_self() % 2, 0, &half);
    if (rank_of_self() % 2 == 1) {
        MPI_Win win = MPI_WIN_NULL;
        double* base = nullptr;
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, half, &base, &win);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&half);
}

/// Ends after much reading, in a way that the second argument names.
void end_early(std::string_view how) {
    Window window(elements * stride * 8);
    MPI_Win_lock_all(0, window.win);
    for (int i = 0; i < rounds * elements; ++i)
        get(window, next_rank(), i % elements * stride);
    // Statistics are prepared now and then, by calls such as this barrier.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_self() != 0) {
        for (;;)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (how == "abort") MPI_Abort(MPI_COMM_WORLD, 7);
    if (how == "exit") std::exit(6);
    if (how == "segv") std::raise(SIGSEGV);
    std::raise(SIGTERM);
}

/// The program's own handler counts, and the program goes on.
void own_handler() {
    static volatile std::sig_atomic_t calls = 0;
    std::signal(SIGTERM, [](int) { calls = calls + 1; });
    MPI_Barrier(MPI_COMM_WORLD);
    reuse(2);
    std::raise(SIGTERM);
    reuse(2);
    if (calls != 1) MPI_Abort(MPI_COMM_WORLD, 3);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "own-handler-before") std::signal(SIGTERM, [](int) {});
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, what == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (what == "no-reuse") no_reuse();
    if (what == "locks" || what == "threads") locks();
    if (what == "race") race(argc > 2 ? argv[2] : ".");
    if (what == "allreduce") allreduce();
    if (what == "small-buffer") small_buffer();
    if (what == "own-memory") own_memory();
    if (what == "same-node" || what == "helps") reuse();
    if (what == "written-to") written_to();
    if (what == "some-ranks") some_ranks();
    if (what == "end") end_early(argc > 2 ? argv[2] : "");
    if (what == "own-handler") own_handler();
    if (what == "own-handler-before") {
        reuse(2);
        std::raise(SIGTERM);
    }
    MPI_Finalize();
    std::puts("done");
    return 0;
}
