// SPDX-License-Identifier: Apache-2.0
// Never stuck: a rank that lives on cache hits and elided flushes still serves the others. Rank 0 reads the
// same bytes of its neighbour again and again until a flag in its own memory changes; the flag is put there
// by the last rank, which first takes an exclusive lock of rank 0's window, reads it, and has to wait for
// answers (over TCP only when rank 0 enters MPI). Nothing but the cache's own care for progress makes rank 0
// enter it. So it is with reads under locks that are kept back (locks=access), and with puts that are
// combined.
#include <chrono>
#include <functional>
#include <thread>

#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 256;

/// Reads 64 bytes of the neighbour into `seen`, and returns from where; or none, and returns `nowhere`.
using Read = std::function<std::uint64_t(unsigned char* seen)>;
constexpr std::uint64_t nowhere = ~std::uint64_t{0};

/// So many that some hit, however quick the writer is.
constexpr std::uint64_t least_reads = 16;

/// The table that is read from the cache is one window, the flag another.
void spin(const Read& read, const Window& flags, int writer, const char* name) {
    part(name);
    auto* flag = flags.as<std::int64_t>();
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, flags));
    flag[0] = 0;
    flag[1] = 5;
    CHECK_MPI(MPI_Win_unlock(rank(), flags));
    barrier();
    forget(flags);
    if (rank() == 0) {
        std::uint64_t gets = 0;
        do {
            unsigned char seen[64];
            const std::uint64_t from = read(seen);
            if (++gets % 1024 == 1 && from != nowhere) CHECK_BYTES(seen, 64, right(), from);
        } while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0 || gets < least_reads);
        CHECK_EQ(flag[0], 1);
    } else if (rank() == writer) {
        for (int i = 0; i < 20; ++i) {
            std::int64_t value = -1;
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, flags));
            CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, 0, 8, 1, MPI_INT64_T, flags));
            CHECK_MPI(MPI_Win_unlock(0, flags));
            CHECK_EQ(value, 5);
        }
        const std::int64_t one = 1;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, flags));
        CHECK_MPI(MPI_Put(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, flags));
        CHECK_MPI(MPI_Win_unlock(0, flags));
    }
    barrier();
}

void all_rounds() {
    const Info info{{"nearfetch_mode", "always-cache"}};
    const Window table(bytes, 1, Kind::create, info), flags(16, 1, Kind::create);
    fill(table.bytes(), bytes, rank());
    const LockAll epoch(table);
    publish(table, "always-cache");
    for (int round = 0; round < 3; ++round)
        spin(
            [&](unsigned char* seen) {
                CHECK_MPI(MPI_Get(seen, 64, MPI_BYTE, right(), 64, 64, MPI_BYTE, table));
                CHECK_MPI(MPI_Win_flush(right(), table));
                return 64;
            },
            flags, size() - 1, "spinning on hits");
    if (counts_hits() && rank() == 0) {
        CHECK_EQ(counter(table, "direct"), 1u);
        CHECK(counter(table, "hits") > 0);
        CHECK(counter(table, "flushes_elided") > 0);
    }
}

void locked_rounds() {
    const Info info{{"nearfetch_mode", "acquire"}, {"nearfetch_locks", "access"}};
    const Window table(bytes, 1, Kind::create, info), flags(16, 1, Kind::create);
    {
        const LockAll epoch(table);
        fill(table.bytes(), bytes, rank());
        publish(table, "acquire");
    }
    for (int round = 0; round < 3; ++round) {
        std::uint64_t from = 0;
        spin(
            [&](unsigned char* seen) {
                from = 128 - from;  // the same get again would be a poll
                CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, table));
                CHECK_MPI(
                    MPI_Get(seen, 64, MPI_BYTE, right(), static_cast<MPI_Aint>(from), 64, MPI_BYTE, table));
                CHECK_MPI(MPI_Win_unlock(right(), table));
                return from;
            },
            flags, size() - 1, "spinning on hits under locks");
    }
    if (counts_hits() && rank() == 0) CHECK(counter(table, "locks_elided") > 0);
}

/// A heartbeat by puts with requests: these are complete at once. In Open MPI's osc pt2pt they are so by
/// themselves, and nobody is served.
void put_rounds() {
    if (!loaded() && !flushes_locally()) return;
    const Info info{{"nearfetch_mode", "acquire"}};
    const Window table(bytes, 1, Kind::create, info), flags(16, 1, Kind::create);
    const LockAll epoch(table);
    for (int round = 0; round < 3; ++round) {
        std::int64_t beats = 0;
        spin(
            [&](unsigned char*) {
                MPI_Request request;
                ++beats;
                CHECK_MPI(MPI_Rput(&beats, 8, MPI_BYTE, right(), 64, 8, MPI_BYTE, table, &request));
                CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
                // Puts that nobody completes pile up at the target.
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                return nowhere;
            },
            flags, size() - 1, "spinning on puts");
        CHECK_MPI(MPI_Win_flush_all(table));
    }
}

void all() {
    all_rounds();
    locked_rounds();
    put_rounds();
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv).run_with_others(all); }
