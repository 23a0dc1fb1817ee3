// SPDX-License-Identifier: Apache-2.0
// Programs that wait by plain gets in mode acquire, and the promises locks=access and atomics=relaxed.
//
// A poll by plain gets races, strictly speaking, but the loops here have to end: the same get again goes to
// the network, and a rank that polls several places in turn refreshes what it has cached when nothing else
// happens.
#include <algorithm>
#include <optional>

#include "litmus.hpp"

using namespace litmus;

namespace {

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

/// A window in mode acquire with 64 flags per rank, all 0.
class Flags {
  public:
    explicit Flags(Settings settings) : info_(settings), window_(64 * 8, 8, Kind::allocate, info_) {
        std::memset(window_.bytes(), 0, 64 * 8);
        MPI_Win_lock_all(0, window_);
        publish(window_);
        MPI_Win_unlock_all(window_);
    }
    operator MPI_Win() const { return window_; }

    /// The writer sets a flag of its own when the reader has asked for it.
    void raise(int place, bool locks = false) const {
        if (!writes()) return;
        CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, reader(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        const std::int64_t one = 1;
        if (locks) CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, window_));
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, rank(), place, 1, MPI_INT64_T, MPI_REPLACE, window_));
        CHECK_MPI(locks ? MPI_Win_unlock(rank(), window_) : MPI_Win_flush(rank(), window_));
    }

  private:
    Info info_;
    Window window_;
};

#define IN_MODE_ACQUIRE {"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}
// Hits are counted: nothing is read ahead.
#define EXACT_RANGES {"nearfetch_read_ahead_bytes", "0"}

void ask() { CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, writer, 1, MPI_COMM_WORLD)); }

std::int64_t locked_get(MPI_Win window, int place) {
    std::int64_t value = -1;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, writer, 0, window));
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, writer, place, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_unlock(writer, window));
    return value;
}

/// Where the library has a get complete at once, its request sends nothing that is still to be sent, such as
/// what the writer waits for. So there is a look for a message, too, which is none and no news.
std::int64_t requested_get(MPI_Win window, int target, MPI_Aint place) {
    std::int64_t value = -1;
    MPI_Request request;
    int flag = 0;
    CHECK_MPI(MPI_Iprobe(writer, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK_MPI(MPI_Rget(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, window, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return value;
}

/// With an update of the reader's own memory, so that each flush enters the library, also where the get hits.
std::int64_t counted_get(MPI_Win window, int target, MPI_Aint place) {
    std::int64_t value = -1;
    const std::int64_t one = 1;
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, rank(), 63, 1, MPI_INT64_T, MPI_SUM, window));
    CHECK_MPI(MPI_Win_flush_all(window));
    return value;
}

/// With an update of the target.
std::int64_t counted_there_get(MPI_Win window, int target, MPI_Aint place) {
    std::int64_t value = -1;
    const std::int64_t one = 1;
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, target, 63, 1, MPI_INT64_T, MPI_SUM, window));
    CHECK_MPI(MPI_Win_flush(target, window));
    return value;
}

/// Under a lock of all, which opens an epoch that nothing else may be done in.
std::int64_t get_in_an_epoch(MPI_Win window, int target, MPI_Aint place) {
    std::int64_t value = -1;
    CHECK_MPI(MPI_Win_lock_all(0, window));
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_unlock_all(window));
    return value;
}

/// One get after the other, each completed by itself, of one flag, or of several in turn, where no get is
/// like the last one. The last flag is raised.
/// \param own_epochs the reader opens them itself
template <class Read>
void by_gets(const char* name, const std::vector<int>& places, const Read& read,
             Settings settings = {IN_MODE_ACQUIRE}, bool own_epochs = false) {
    part(name);
    const Flags flags(settings);
    std::optional<LockAll> epoch;
    if (!own_epochs || !reads()) epoch.emplace(flags);
    if (reads()) {
        const auto is_down = [&](int place) { return read(flags, writer, place) == 0; };
        for (int round = 0; round < 2; ++round) {
            CHECK(std::all_of(places.begin(), places.end(), is_down));
            CHECK(is_down(16));  // so that the loop begins with a hit
        }
        ask();
        while (std::all_of(places.begin(), places.end(), is_down)) {
        }
        if (loaded()) CHECK(counter(flags, "polls") > 0);
    }
    flags.raise(places.back());
    barrier();
}

/// What was written before the flag is there when a poll by gets has seen the flag.
void combiner_a_poll() {
    part("what a poll tells of");
    const Flags flags({IN_MODE_ACQUIRE, EXACT_RANGES});
    const LockAll epoch(flags);
    if (reads()) {
        CHECK_EQ(get(flags, writer, 32), 0);
        CHECK_EQ(get(flags, writer, 0), 0);
        ask();
        ask();
        while (get(flags, writer, 0) == 0) {
        }
        CHECK_EQ(get(flags, writer, 32), 1);
    }
    flags.raise(32);
    flags.raise(0);
    barrier();
}

/// lock, get, unlock, ...: a lock acquires, and where it does not the same get again is still a poll.
void by_locks(const char* name, Settings settings) {
    part(name);
    const Flags flags(settings);
    if (reads()) {
        CHECK_EQ(locked_get(flags, 0), 0);
        ask();
        while (locked_get(flags, 0) == 0)
            leave_time_for_a_lock();
    }
    flags.raise(0, true);
    barrier();
}

/// What is read under one lock is there under the next, if locks only open epochs.
void promise_of_locks(const char* name, Settings settings, unsigned long long hits) {
    part(name);
    const Flags flags(settings);
    if (reads()) {
        locked_get(flags, 0);
        locked_get(flags, 8);
        locked_get(flags, 0);
        locked_get(flags, 8);
        CHECK_MPI(MPI_Win_lock_all(0, flags));
        get(flags, writer, 0);
        get(flags, writer, 8);
        CHECK_MPI(MPI_Win_unlock_all(flags));
        if (loaded()) CHECK_EQ(counter(flags, "hits"), hits);
    }
    barrier();
    // A barrier acquires all the same.
    if (reads()) {
        locked_get(flags, 0);
        if (loaded()) CHECK_EQ(counter(flags, "hits"), hits);
    }
    barrier();
}

std::int64_t draw(MPI_Win window) {
    const std::int64_t one = 1;
    std::int64_t ticket = -1;
    CHECK_MPI(MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, writer, 16, MPI_SUM, window));
    CHECK_MPI(MPI_Win_flush(writer, window));
    return ticket;
}

std::int64_t draw_by_request(MPI_Win window) {
    const std::int64_t one = 1;
    std::int64_t ticket = -1;
    MPI_Request request;
    CHECK_MPI(MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &ticket, 1, MPI_INT64_T, writer, 16, 1, MPI_INT64_T,
                                  MPI_SUM, window, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return ticket;
}

/// A counter that ranks draw numbers from says nothing about what they read, if the program says so.
template <class Draw>
void promise_of_atomics(const char* name, Settings settings, unsigned long long hits, const Draw& draw_one) {
    part(name);
    const Flags flags(settings);
    const LockAll epoch(flags);
    if (reads()) {
        for (int i = 0; i < 4; ++i) {
            get(flags, writer, 0);
            get(flags, writer, 8);
            CHECK_EQ(draw_one(flags), i);
        }
        if (loaded()) CHECK_EQ(counter(flags, "hits"), hits);
    }
    barrier();
}

/// Atomics that only read are gets like others, if the program says that it waits for nothing by them.
void promise_of_atomic_reads(const char* name, Settings settings, unsigned long long hits) {
    part(name);
    const Flags flags(settings);
    const LockAll epoch(flags);
    if (reads()) {
        std::int64_t one = 1, value = -1;
        CHECK_MPI(MPI_Put(&one, 1, MPI_INT64_T, writer, 8, 1, MPI_INT64_T, flags));
        CHECK_MPI(MPI_Win_flush(writer, flags));
        for (int i = 0; i < 4; ++i) {
            CHECK_MPI(MPI_Fetch_and_op(nullptr, &value, MPI_INT64_T, writer, 8, MPI_NO_OP, flags));
            CHECK_MPI(MPI_Win_flush(writer, flags));
            CHECK_EQ(value, one);
            CHECK_MPI(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, writer, 0, 1,
                                         MPI_INT64_T, MPI_NO_OP, flags));
            CHECK_MPI(MPI_Win_flush(writer, flags));
            CHECK_EQ(value, 0);
        }
        if (loaded()) CHECK_EQ(counter(flags, "hits"), hits);
        // What this process changes it sees.
        CHECK_MPI(MPI_Fetch_and_op(&one, &value, MPI_INT64_T, writer, 8, MPI_SUM, flags));
        CHECK_MPI(MPI_Win_flush(writer, flags));
        CHECK_MPI(MPI_Fetch_and_op(nullptr, &value, MPI_INT64_T, writer, 8, MPI_NO_OP, flags));
        CHECK_MPI(MPI_Win_flush(writer, flags));
        CHECK_EQ(value, 2);
    }
    barrier();
}

/// An atomic on a window that nothing is cached of is news for the others.
void flags_elsewhere(Data& data) {
    part("flags in a window that is off");
    const Flags flags({{"nearfetch_mode", "off"}});
    const LockAll epoch(flags);
    static std::int64_t raised = 0;
    run(data, by_atomic("MPI_Fetch_and_op", flags, raised, [&](std::int64_t* value) {
            const std::int64_t nothing = 0;
            CHECK_MPI(MPI_Fetch_and_op(&nothing, value, MPI_INT64_T, writer, 0, MPI_SUM, flags));
        }));
    barrier();
}

void all() {
    by_gets("poll by gets", {0}, get);
    by_gets("poll by gets in turn", {0, 8}, get);
    by_gets("poll by requests", {0}, requested_get);
    by_gets("poll by requests in turn", {0, 8}, requested_get);
    by_gets("poll by gets beside updates", {0}, counted_get);
    by_gets("poll by gets in turn beside updates", {0, 8}, counted_get);
    const Settings exact{IN_MODE_ACQUIRE, EXACT_RANGES};
    by_gets("poll by gets beside updates of the target", {0}, counted_there_get, exact);
    by_gets("poll by gets in turn beside updates of the target", {0, 8}, counted_there_get, exact);
    const Settings only_open{IN_MODE_ACQUIRE, {"nearfetch_locks", "access"}};
    by_gets("poll by epochs", {0}, get_in_an_epoch, only_open, true);
    // Each turn may wait for all ranks' time slices, and thousands of them are needed.
    if (!crowded()) by_gets("poll by epochs in turn", {0, 8}, get_in_an_epoch, only_open, true);
    combiner_a_poll();
    by_locks("poll by locks", {IN_MODE_ACQUIRE});
    by_locks("poll by locks that only open epochs", {IN_MODE_ACQUIRE, {"nearfetch_locks", "access"}});
    promise_of_locks("locks synchronise", {IN_MODE_ACQUIRE, EXACT_RANGES, {"nearfetch_locks", "synchronize"}},
                     0);
    promise_of_locks("locks only open epochs", {IN_MODE_ACQUIRE, EXACT_RANGES, {"nearfetch_locks", "access"}},
                     4);
    const Settings synchronise{IN_MODE_ACQUIRE, EXACT_RANGES};
    const Settings count{IN_MODE_ACQUIRE, EXACT_RANGES, {"nearfetch_atomics", "relaxed"}};
    promise_of_atomics("atomics synchronise", synchronise, 0, draw);
    promise_of_atomics("atomics synchronise, by request", synchronise, 0, draw_by_request);
    promise_of_atomics("atomics are counters", count, 6, draw);
    promise_of_atomics("atomics are counters, by request", count, 6, draw_by_request);
    promise_of_atomic_reads("atomic reads ask the target", {IN_MODE_ACQUIRE, EXACT_RANGES}, 0);
    promise_of_atomic_reads("atomic reads are gets",
                            {IN_MODE_ACQUIRE, EXACT_RANGES, {"nearfetch_atomic_reads", "cached"}}, 6);
    Data data;
    flags_elsewhere(data);
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 100).run_with_others(all); }
