// SPDX-License-Identifier: Apache-2.0
// What transparent mode promises: a value that its owner changed between epochs is seen, whichever call
// closed the epoch in which it was read before (001, section III-A). Nothing is told to nearfetch here. Runs
// plain, off and transparent only: the other modes ask for a promise that this program does not give.
#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 512;
constexpr int rounds = 3;

/// The owner stores a new version; two messages around the ring say that the readers are done and that it is
/// there.
void change(const Window& window, int version, bool locked) {
    barrier();
    if (locked) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, window));
        fill(window.bytes(), bytes, rank(), version);
        CHECK_MPI(MPI_Win_unlock(rank(), window));
    } else {
        fill(window.bytes(), bytes, rank(), version);
        MPI_Win_sync(window);
    }
    barrier();
}

struct Reads {
    unsigned char whole[bytes], part[40];
};

void start(const Window& window, Reads& reads) {
    std::memset(&reads, 0xCC, sizeof reads);
    CHECK_MPI(MPI_Get(reads.whole, bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window));
    CHECK_MPI(MPI_Get(reads.part, 40, MPI_BYTE, right(), 100, 40, MPI_BYTE, window));
}

void finish(const Reads& reads, int version) {
    CHECK_BYTES(reads.whole, bytes, right(), 0, version);
    CHECK_BYTES(reads.part, 40, right(), 100, version);
}

void by_unlock(const Window& window) {
    part("unlock");
    for (int version = 0; version < rounds; ++version) {
        change(window, version, true);
        Reads reads;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
        start(window, reads);
        CHECK_MPI(MPI_Win_unlock(right(), window));
        finish(reads, version);
    }
}

void by_unlock_all(const Window& window) {
    part("unlock_all");
    for (int version = 10; version < 10 + rounds; ++version) {
        change(window, version, true);
        Reads reads;
        CHECK_MPI(MPI_Win_lock_all(0, window));
        start(window, reads);
        CHECK_MPI(MPI_Win_unlock_all(window));
        finish(reads, version);
    }
}

/// What may stand between gets and the message that the readers are done.
struct Closing {
    const char* name;
    int (*close)(MPI_Win);
};
constexpr Closing closings[] = {
    {"flush", [](MPI_Win window) { return MPI_Win_flush(right(), window); }},
    {"flush_all", [](MPI_Win window) { return MPI_Win_flush_all(window); }},
    {"flush_local", [](MPI_Win window) { return MPI_Win_flush_local(right(), window); }},
    {"flush_local_all", [](MPI_Win window) { return MPI_Win_flush_local_all(window); }},
    {"Win_sync",
     [](MPI_Win window) {
         CHECK_MPI(MPI_Win_flush_local(right(), window));
         return MPI_Win_sync(window);
     }},
};

void start_and_wait(const Window& window, Reads& reads) {
    MPI_Request requests[2];
    std::memset(&reads, 0xCC, sizeof reads);
    CHECK_MPI(MPI_Rget(reads.whole, bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window, &requests[0]));
    CHECK_MPI(MPI_Rget(reads.part, 40, MPI_BYTE, right(), 100, 40, MPI_BYTE, window, &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

/// One lock_all for all rounds.
template <class Read>
void in_one_epoch(const Window& window, const char* name, const Read& read) {
    part(name);
    CHECK_MPI(MPI_Win_lock_all(0, window));
    for (int version = 20; version < 20 + rounds; ++version) {
        change(window, version, false);
        Reads reads;
        read(reads);
        finish(reads, version);
    }
    barrier();
    CHECK_MPI(MPI_Win_unlock_all(window));
}

/// Only a message between owner and reader, no collective call: the owner stores, syncs, sends.
void by_message(const Window& window, bool with_request) {
    part("message");
    CHECK_MPI(MPI_Win_lock_all(0, window));
    const int left = (rank() + size() - 1) % size();
    for (int version = 40; version < 40 + rounds; ++version) {
        fill(window.bytes(), bytes, rank(), version);
        MPI_Win_sync(window);
        int token = version, got = -1;
        MPI_Sendrecv(&token, 1, MPI_INT, left, 1, &got, 1, MPI_INT, right(), 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK_EQ(got, version);
        MPI_Win_sync(window);
        unsigned char seen[bytes] = {};
        if (with_request) {
            MPI_Request request;
            CHECK_MPI(MPI_Rget(seen, bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_Get(seen, bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window));
            CHECK_MPI(MPI_Win_flush_local(right(), window));
        }
        CHECK_BYTES(seen, bytes, right(), 0, version);
        MPI_Sendrecv(&token, 1, MPI_INT, right(), 2, &got, 1, MPI_INT, left, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    CHECK_MPI(MPI_Win_unlock_all(window));
}

void by_fence(const Window& window) {
    part("fence");
    CHECK_MPI(MPI_Win_fence(0, window));
    for (int version = 60; version < 60 + rounds; ++version) {
        fill(window.bytes(), bytes, rank(), version);
        CHECK_MPI(MPI_Win_fence(0, window));
        Reads reads;
        start(window, reads);
        CHECK_MPI(MPI_Win_fence(0, window));
        finish(reads, version);
    }
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
}

void by_complete(const Window& window) {
    part("complete");
    MPI_Group all, origins, targets;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const int origin = (rank() + size() - 1) % size(), target = right();
    MPI_Group_incl(all, 1, &origin, &origins);
    MPI_Group_incl(all, 1, &target, &targets);
    for (int version = 80; version < 80 + rounds; ++version) {
        fill(window.bytes(), bytes, rank(), version);
        Reads reads;
        CHECK_MPI(MPI_Win_post(origins, 0, window));
        CHECK_MPI(MPI_Win_start(targets, 0, window));
        start(window, reads);
        CHECK_MPI(MPI_Win_complete(window));
        finish(reads, version);
        CHECK_MPI(MPI_Win_wait(window));
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Group_free(&all);
    barrier();
}

/// Not the owner but a third rank writes, by a put.
void by_others_put(const Window& window) {
    part("put of another rank");
    for (int version = 100; version < 100 + rounds; ++version) {
        Reads reads;
        const int left = (rank() + size() - 1) % size();
        unsigned char data[bytes];
        fill(data, bytes, left, version);
        barrier();
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, left, 0, window));
        CHECK_MPI(MPI_Put(data, bytes, MPI_BYTE, left, 0, bytes, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_unlock(left, window));
        barrier();
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
        start(window, reads);
        CHECK_MPI(MPI_Win_unlock(right(), window));
        finish(reads, version);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        {
            const Window window(bytes, 1, kind);
            by_unlock(window);
            by_unlock_all(window);
            for (const Closing& closing : closings)
                in_one_epoch(window, closing.name, [&](Reads& reads) {
                    start(window, reads);
                    CHECK_MPI(closing.close(window));
                });
            in_one_epoch(window, "Rget and Wait", [&](Reads& reads) { start_and_wait(window, reads); });
            by_message(window, false);
            by_message(window, true);
            by_others_put(window);
            by_fence(window);
        }
        const Window window(bytes, 1, kind);
        by_complete(window);
    }
    return program.finish();
}
