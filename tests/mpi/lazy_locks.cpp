// SPDX-License-Identifier: Apache-2.0
// The promise locks=access: a shared lock whose epoch sends nothing does not enter the library, nor does its
// unlock; whatever goes to the library finds the lock there. Counted in locks, and seen by what the calls do.
#include <functional>

#include "check.hpp"

using namespace check;

namespace {

constexpr int places = 64;  ///< of 8 bytes, on each rank

#define PROMISED {"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}, {"nearfetch_locks", "access"}
// Hits are counted: nothing is read ahead.
#define EXACT_RANGES {"nearfetch_read_ahead_bytes", "0"}

class Table {
  public:
    explicit Table(std::initializer_list<std::pair<const char*, const char*>> settings)
        : info_(settings), window_(places * 8, 8, Kind::allocate, info_) {
        restore();
    }
    operator MPI_Win() const { return window_; }

    /// What stands in a place at first.
    static std::int64_t initial(int place) { return 100 + place; }
    /// Everything as at first; and a barrier, after which nothing is cached.
    void restore() {
        barrier();
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, window_));
        for (int i = 0; i < places; ++i)
            window_.as<std::int64_t>()[i] = initial(i);
        CHECK_MPI(MPI_Win_unlock(rank(), window_));
        barrier();
    }

    void lock(int target, int assert = 0) const {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, assert, window_));
    }
    void unlock(int target) const { CHECK_MPI(MPI_Win_unlock(target, window_)); }
    /// A get under a lock of its own.
    std::int64_t locked_get(int target, int place, int assert = 0) const {
        std::int64_t value = -1;
        lock(target, assert);
        CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, window_));
        unlock(target);
        return value;
    }
    std::int64_t elided() const { return static_cast<std::int64_t>(counter(window_, "locks_elided")); }

  private:
    Info info_;
    Window window_;
};

void hits_need_no_lock() {
    part("hits need no lock");
    const Table table({PROMISED, EXACT_RANGES});
    for (int round = 0; round < 4; ++round)
        for (const int place : {0, 8, 16})
            CHECK_EQ(table.locked_get(right(), place, round % 2 == 0 ? 0 : MPI_MODE_NOCHECK),
                     Table::initial(place));
    if (loaded()) {
        CHECK_EQ(counter(table, "locks"), 1u + 12u);  // the first is that of the rank itself
        CHECK_EQ(counter(table, "hits"), 9u);
        CHECK_EQ(counter(table, "locks_elided"), 9u);
    }
    barrier();
    // A barrier acquires.
    CHECK_EQ(table.locked_get(right(), 0), Table::initial(0));
    if (loaded()) CHECK_EQ(counter(table, "locks_elided"), 9u);
    barrier();
}

void without_the_promise() {
    part("without the promise");
    const Table table(
        {{"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}, {"nearfetch_locks", "synchronize"}});
    const Table transparent({{"nearfetch_mode", "transparent"}, {"nearfetch_locks", "access"}});
    for (int round = 0; round < 3; ++round)
        for (const int place : {0, 8}) {
            CHECK_EQ(table.locked_get(right(), place), Table::initial(place));
            CHECK_EQ(transparent.locked_get(right(), place), Table::initial(place));
        }
    if (loaded()) {
        CHECK_EQ(table.elided(), 0);
        CHECK_EQ(transparent.elided(), 0);
        CHECK_EQ(counter(table, "locks"), 7u);
    }
    barrier();
}

/// Calls after a hit under the same lock. `does` returns what place 1 of the target is afterwards.
struct Call {
    const char* name;
    bool enters;  ///< the library
    std::function<std::int64_t(MPI_Win, int)> does;
};

std::vector<Call> calls() {
    static std::int64_t value, result, compare;
    static MPI_Request request;
    value = 7;
    const std::int64_t before = Table::initial(1);
    return {
        {"nothing", false, [=](MPI_Win, int) { return before; }},
        {"a flush of nothing", false,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Win_flush(target, win));
             CHECK_MPI(MPI_Win_flush_local(target, win));
             return before;
         }},
        {"a flush of all", true,
         [=](MPI_Win win, int) {
             CHECK_MPI(MPI_Win_flush_all(win));
             return before;
         }},
        {"sync", true,
         [=](MPI_Win win, int) {
             CHECK_MPI(MPI_Win_sync(win));
             return before;
         }},
        {"a miss", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Get(&result, 1, MPI_INT64_T, target, 40, 1, MPI_INT64_T, win));
             CHECK_MPI(MPI_Win_flush(target, win));
             CHECK_EQ(result, Table::initial(40));
             return before;
         }},
        {"a partial hit", true,
         [=](MPI_Win win, int target) {
             std::int64_t two[2] = {};
             CHECK_MPI(MPI_Get(two, 2, MPI_INT64_T, target, 0, 2, MPI_INT64_T, win));
             CHECK_MPI(MPI_Win_flush(target, win));
             CHECK_EQ(two[1], Table::initial(1));
             return before;
         }},
        {"a get of nothing", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Get(&result, 0, MPI_INT64_T, target, 0, 0, MPI_INT64_T, win));
             return before;
         }},
        {"rget of what is there", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Rget(&result, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win, &request));
             CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
             CHECK_EQ(result, Table::initial(0));
             return before;
         }},
        {"put", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, win));
             return value;
         }},
        {"rput", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Rput(&value, 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, win, &request));
             CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
             return value;
         }},
        {"accumulate", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Accumulate(&value, 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, MPI_SUM, win));
             return before + value;
         }},
        {"get_accumulate", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Get_accumulate(&value, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, target, 1, 1,
                                          MPI_INT64_T, MPI_SUM, win));
             return before + value;
         }},
        {"fetch_and_op that reads", true,
         [=](MPI_Win win, int target) {
             CHECK_MPI(MPI_Fetch_and_op(&value, &result, MPI_INT64_T, target, 1, MPI_NO_OP, win));
             CHECK_MPI(MPI_Win_flush(target, win));
             CHECK_EQ(result, before);
             return before;
         }},
        {"compare_and_swap", can_swap(Kind::allocate),
         [=](MPI_Win win, int target) {
             if (!can_swap(Kind::allocate)) return before;
             compare = before;
             CHECK_MPI(MPI_Compare_and_swap(&value, &compare, &result, MPI_INT64_T, target, 1, win));
             return value;
         }},
    };
}

void what_enters_finds_the_lock() {
    part("what enters the library finds the lock");
    Table table({PROMISED, EXACT_RANGES});
    for (const Call& call : calls()) {
        state().at = call.name;
        table.restore();
        // Two places: the same get again would be a poll.
        table.locked_get(right(), 0);
        table.locked_get(right(), 8);
        const std::int64_t elided = loaded() ? table.elided() : 0;
        std::int64_t value = -1;
        table.lock(right());
        CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, table));
        const std::int64_t expected = call.does(table, right());
        table.unlock(right());
        CHECK_EQ(value, Table::initial(0));
        // The barrier acquires, so that this comes from the target.
        barrier();
        CHECK_EQ(table.locked_get(right(), 1), expected);
        if (loaded()) CHECK_EQ(table.elided() - elided, call.enters ? 0 : 1);
    }
    barrier();
}

void other_locks() {
    part("locks that are not kept back");
    const Table table({PROMISED, EXACT_RANGES});
    std::int64_t value = -1;
    table.locked_get(right(), 0);
    // Of the rank itself, whose memory the program may look at.
    table.lock(rank());
    table.unlock(rank());
    // An exclusive lock keeps others out.
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, table));
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, table));
    CHECK_MPI(MPI_Win_unlock(right(), table));
    CHECK_EQ(value, Table::initial(0));
    // All at once.
    CHECK_MPI(MPI_Win_lock_all(0, table));
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, table));
    CHECK_MPI(MPI_Win_unlock_all(table));
    if (loaded()) CHECK_EQ(table.elided(), 0);
    barrier();
}

/// Locks of several targets at once: what enters the library for one of them opens all.
void several_targets() {
    part("locks of several targets");
    const Table table({PROMISED, EXACT_RANGES});
    for (const bool miss : {true, false, true}) {
        for (int target = 0; target < size(); ++target)
            table.lock(target);
        for (int target = 0; target < size(); ++target) {
            std::int64_t value = -1;
            const int place = miss ? 8 * (1 + target) : 0;
            CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, table));
            CHECK_MPI(MPI_Win_flush(target, table));
            CHECK_EQ(value, Table::initial(place));
        }
        for (int target = 0; target < size(); ++target)
            table.unlock(target);
    }
    barrier();
}

/// Shared locks of the readers and exclusive ones of a writer, whose updates must not be lost.
void with_writers() {
    part("beside exclusive locks");
    const Table table({PROMISED});
    constexpr int rounds = 20;
    for (int round = 0; round < rounds; ++round) {
        std::int64_t one = 1;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, table));
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, table));
        CHECK_MPI(MPI_Win_unlock(0, table));
        CHECK_EQ(table.locked_get(0, 8), Table::initial(8));
        CHECK_EQ(table.locked_get(0, 16), Table::initial(16));
    }
    barrier();
    CHECK_EQ(table.locked_get(0, 0), Table::initial(0) + rounds * size());
    barrier();
}

void checked_hits() {
    part("hits that are checked");
    const Table table({PROMISED, EXACT_RANGES, {"nearfetch_check_hits", "1"}});
    for (int round = 0; round < 3; ++round)
        for (const int place : {0, 8})
            CHECK_EQ(table.locked_get(right(), place), Table::initial(place));
    if (loaded()) {
        CHECK_EQ(counter(table, "checked_hits"), 4u);
        CHECK_EQ(counter(table, "stale_hits"), 0u);
        CHECK_EQ(table.elided(), 0);
    }
    barrier();
}

/// Settings that change in an epoch do not leave a lock behind.
void other_settings() {
    part("other settings in an epoch");
    for (const auto& [key, value] :
         {std::pair{"nearfetch_mode", "off"}, {"nearfetch_locks", "synchronize"}}) {
        const Table table({PROMISED, EXACT_RANGES});
        table.locked_get(right(), 0);
        table.lock(right());
        const Info info{{key, value}};
        CHECK_MPI(MPI_Win_set_info(table, info));
        std::int64_t seen = -1;
        CHECK_MPI(MPI_Get(&seen, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, table));
        table.unlock(right());
        CHECK_EQ(seen, Table::initial(0));
        if (loaded()) CHECK_EQ(table.elided(), 0);
        barrier();
    }
}

void all() {
    hits_need_no_lock();
    without_the_promise();
    what_enters_finds_the_lock();
    other_locks();
    several_targets();
    with_writers();
    checked_hits();
    other_settings();
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv).run_with_others(all); }
