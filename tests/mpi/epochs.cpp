// SPDX-License-Identifier: Apache-2.0
// Every synchronisation call of MPI RMA, opening and closing epochs in every legal order, with reads and
// writes inside.
#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 1024;

int left() { return (rank() + size() - 1) % size(); }

/// Owners' stores when no epoch is open: a lock of one's own window makes them public (MPI-3.1, 11.7).
void store_locked(const Window& window, int version) {
    barrier();
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, window));
    fill(window.bytes(), bytes, rank(), version);
    CHECK_MPI(MPI_Win_unlock(rank(), window));
    barrier();
    forget(window);
}

void get(const Window& window, int target, unsigned char* to, int offset, int count) {
    CHECK_MPI(MPI_Get(to, count, MPI_BYTE, target, offset, count, MPI_BYTE, window));
}

void locks(const Window& window, int version) {
    part("lock");
    for (const int type : {MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE})
        for (int target : {right(), rank(), left()}) {
            store_locked(window, ++version);
            for (int pass = 0; pass < 2; ++pass) {
                unsigned char a[100] = {}, b[300] = {};
                CHECK_MPI(MPI_Win_lock(type, target, 0, window));
                get(window, target, a, 10, 100);
                get(window, target, b, 500, 300);
                CHECK_MPI(MPI_Win_unlock(target, window));
                CHECK_BYTES(a, 100, target, 10, version);
                CHECK_BYTES(b, 300, target, 500, version);
            }
        }
}

/// MPI_MODE_NOCHECK promises that nobody holds a conflicting lock, so this window sees no exclusive one.
void unchecked_locks() {
    part("lock without check");
    const Window window(bytes);
    fill(window.bytes(), bytes, rank());
    CHECK_MPI(MPI_Win_fence(0, window));
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    for (int pass = 0; pass < 2; ++pass) {
        unsigned char a[100] = {}, b[100] = {};
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), MPI_MODE_NOCHECK, window));
        get(window, right(), a, 10, 100);
        CHECK_MPI(MPI_Win_unlock(right(), window));
        CHECK_BYTES(a, 100, right(), 10);
        CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
        get(window, left(), b, 10, 100);
        CHECK_MPI(MPI_Win_unlock_all(window));
        CHECK_BYTES(b, 100, left(), 10);
    }
    barrier();
}

void several_locks(const Window& window) {
    part("locks of several targets at once");
    store_locked(window, 60);
    std::vector<unsigned char> buffers(static_cast<std::size_t>(size()) * 64);
    for (int t = 0; t < size(); ++t)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, window));
    for (int t = 0; t < size(); ++t)
        get(window, t, &buffers[static_cast<std::size_t>(t) * 64], 32, 64);
    for (int t = size() - 1; t >= 0; --t) {
        CHECK_MPI(MPI_Win_unlock(t, window));
        CHECK_BYTES(&buffers[static_cast<std::size_t>(t) * 64], 64, t, 32, 60);
    }
    barrier();
}

/// Exclusive locks keep read-modify-write of many ranks apart.
void exclusive(const Window& window) {
    part("exclusive lock as a mutex");
    const int rounds = crowded() ? 3 : 10;
    store_locked(window, 70);
    if (rank() == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        *window.as<std::int64_t>() = 0;
        CHECK_MPI(MPI_Win_unlock(0, window));
    }
    barrier();
    forget(window);
    // With modes that never forget by themselves, somebody else's update is only seen when the program says
    // so.
    for (int i = 0; i < rounds; ++i) {
        std::int64_t value = -1;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        forget(window);
        CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_flush(0, window));
        ++value;
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_unlock(0, window));
    }
    barrier();
    forget(window);
    std::int64_t value = -1;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_unlock(0, window));
    CHECK_EQ(value, rounds * size());
    barrier();
}

void lock_all(const Window& window) {
    part("lock_all and the flushes");
    for (const int assertion : {0, int{MPI_MODE_NOCHECK}}) {
        store_locked(window, 80 + (assertion ? 1 : 0));
        const int version = 80 + (assertion ? 1 : 0);
        CHECK_MPI(MPI_Win_lock_all(assertion, window));
        for (int which = 0; which < 8; ++which) {
            unsigned char a[64] = {}, b[64] = {};
            get(window, right(), a, 64 * (which / 2), 64);
            get(window, left(), b, 200, 64);
            switch (which % 4) {
                case 0:
                    CHECK_MPI(MPI_Win_flush_all(window));
                    break;
                case 1:
                    CHECK_MPI(MPI_Win_flush_local_all(window));
                    break;
                case 2:
                    CHECK_MPI(MPI_Win_flush(right(), window));
                    CHECK_BYTES(a, 64, right(), static_cast<std::uint64_t>(64 * (which / 2)), version);
                    CHECK_MPI(MPI_Win_flush(left(), window));
                    break;
                default:
                    CHECK_MPI(MPI_Win_flush_local(left(), window));
                    CHECK_BYTES(b, 64, left(), 200, version);
                    CHECK_MPI(MPI_Win_flush_local(right(), window));
            }
            CHECK_BYTES(a, 64, right(), static_cast<std::uint64_t>(64 * (which / 2)), version);
            CHECK_BYTES(b, 64, left(), 200, version);
            CHECK_MPI(MPI_Win_sync(window));
            for (int i = 0; i < 3; ++i) {
                CHECK_MPI(MPI_Win_flush(right(), window));  // nothing outstanding
                CHECK_MPI(MPI_Win_flush_all(window));
                CHECK_MPI(MPI_Win_flush_local(rank(), window));
                CHECK_MPI(MPI_Win_flush_local_all(window));
            }
        }
        unsigned char last[32] = {};
        get(window, right(), last, 8, 32);
        CHECK_MPI(MPI_Win_unlock_all(window));
        CHECK_BYTES(last, 32, right(), 8, version);
        barrier();
    }
}

void fences(const Window& window) {
    part("fence");
    store_locked(window, 90);
    int version = 90;
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, window));
    for (int round = 0; round < 4; ++round) {
        unsigned char a[128] = {}, b[128] = {};
        get(window, right(), a, 100, 128);
        get(window, left(), b, 100, 128);
        CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPUT, window));
        CHECK_BYTES(a, 128, right(), 100, version);
        CHECK_BYTES(b, 128, left(), 100, version);
        forget(window);
        // Local stores, told to MPI by the fence without assertions; then a put into the neighbour's second
        // half.
        ++version;
        fill(window.bytes(), 512, rank(), version);
        CHECK_MPI(MPI_Win_fence(round % 2 ? MPI_MODE_NOPRECEDE : 0, window));
        forget(window);
        unsigned char data[64];
        fill(data, 64, rank(), version + 1000);
        CHECK_MPI(MPI_Put(data, 64, MPI_BYTE, right(), 600, 64, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_fence(0, window));
        forget(window);
        CHECK_BYTES(window.bytes() + 600, 64, left(), 0, version + 1000);
        unsigned char seen[64] = {};
        get(window, right(), seen, 600, 64);
        CHECK_MPI(MPI_Win_fence(0, window));
        CHECK_BYTES(seen, 64, rank(), 0, version + 1000);
    }
    unsigned char last[16] = {};
    get(window, right(), last, 0, 16);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK_BYTES(last, 16, right(), 0, version);
    barrier();
}

/// Post-start-complete-wait between ring neighbours; `test` closes the exposure by MPI_Win_test.
void pscw(const Window& window, bool test, int assertion) {
    part("post, start, complete, wait");
    MPI_Group all, origins, targets;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const int origin = left(), target = right();
    MPI_Group_incl(all, 1, &origin, &origins);
    MPI_Group_incl(all, 1, &target, &targets);
    for (int round = 0; round < 4; ++round) {
        const int version = 120 + round;
        fill(window.bytes(), bytes, rank(), version);
        if (assertion == MPI_MODE_NOCHECK) {
            CHECK_MPI(MPI_Win_post(origins, 0, window));
            barrier();
            CHECK_MPI(MPI_Win_start(targets, assertion, window));
        } else {
            CHECK_MPI(MPI_Win_post(origins, assertion, window));
            CHECK_MPI(MPI_Win_start(targets, 0, window));
        }
        forget(window);
        unsigned char a[200] = {}, b[100] = {}, data[32];
        get(window, target, a, 300, 200);
        get(window, target, b, 300, 100);
        fill(data, 32, rank(), version + 500);
        CHECK_MPI(MPI_Put(data, 32, MPI_BYTE, target, 0, 32, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_complete(window));
        CHECK_BYTES(a, 200, target, 300, version);
        CHECK_BYTES(b, 100, target, 300, version);
        if (test) {
            int flag = 0;
            while (!flag)
                CHECK_MPI(MPI_Win_test(window, &flag));
        } else {
            CHECK_MPI(MPI_Win_wait(window));
        }
        CHECK_BYTES(window.bytes(), 32, left(), 0, version + 500);
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Group_free(&all);
    barrier();
}

/// An epoch without any access, of each kind.
void empty(const Window& window) {
    part("empty epochs");
    for (int i = 0; i < 2; ++i) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
        CHECK_MPI(MPI_Win_unlock(right(), window));
        CHECK_MPI(MPI_Win_lock_all(0, window));
        CHECK_MPI(MPI_Win_flush_all(window));
        CHECK_MPI(MPI_Win_unlock_all(window));
    }
    barrier();
    CHECK_MPI(MPI_Win_fence(0, window));
    CHECK_MPI(
        MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, window));
    barrier();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(bytes, 1, kind);
        locks(window, 0);
        several_locks(window);
        exclusive(window);
        lock_all(window);
        fences(window);
        empty(window);
    }
    unchecked_locks();
    // Active target and passive target on one window are kept apart by a window of its own.
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(bytes, 1, kind);
        pscw(window, false, 0);
        pscw(window, true, 0);
        pscw(window, false, MPI_MODE_NOCHECK);
    }
    return program.finish();
}
