// SPDX-License-Identifier: Apache-2.0
// What the standard calls erroneous and MPI libraries answer each in their own way: accesses without an epoch
// or in the wrong one, displacements out of range, unlocks without locks. The program prints what every call
// returned; same_answers.py compares the lines of a run without nearfetch with those of each mode. Before
// each case the bytes at stake are cached, so that a cache that answers in the library's place is seen; after
// it they are still right.
//
// Arguments: the cases to run (default: all).
#include <algorithm>
#include <functional>

#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 3072;  ///< less than a page: a library that does not check ranges reads no further
std::string lines;
std::string current;

std::string class_name(int code) {
    int error_class = MPI_ERR_UNKNOWN;
    MPI_Error_class(code, &error_class);
    const std::pair<int, const char*> names[] = {{MPI_SUCCESS, "success"},
                                                 {MPI_ERR_RMA_SYNC, "rma_sync"},
                                                 {MPI_ERR_RMA_RANGE, "rma_range"},
                                                 {MPI_ERR_RMA_CONFLICT, "conflict"},
                                                 {MPI_ERR_RANK, "rank"},
                                                 {MPI_ERR_DISP, "disp"},
                                                 {MPI_ERR_ARG, "arg"},
                                                 {MPI_ERR_LOCKTYPE, "locktype"},
                                                 {MPI_ERR_ASSERT, "assert"},
                                                 {MPI_ERR_WIN, "win"},
                                                 {MPI_ERR_OTHER, "other"},
                                                 {MPI_ERR_INTERN, "intern"},
                                                 {MPI_ERR_TYPE, "type"},
                                                 {MPI_ERR_UNKNOWN, "unknown"},
                                                 {MPI_ERR_TRUNCATE, "truncate"},
                                                 {MPI_ERR_GROUP, "group"},
                                                 {MPI_ERR_REQUEST, "request"},
                                                 {MPI_ERR_COUNT, "count"}};
    for (const auto& [value, name] : names)
        if (value == error_class) return name;
    return "class " + std::to_string(error_class);
}

/// One line of the listing; returns whether the call succeeded.
bool answer(const char* call, int code) {
    lines += "rank " + std::to_string(rank()) + ": " + current + ": " + call + ": " + class_name(code) + '\n';
    return code == MPI_SUCCESS;
}
#define ANSWER(call) answer(#call, call)

/// A get that may be refused. What it brings is only looked at where the call and its epoch were right.
int get(MPI_Win win, int target, MPI_Aint disp, int size = 64) {
    static std::vector<unsigned char> sink;
    sink.assign(static_cast<std::size_t>(size), 0);
    return MPI_Get(sink.data(), size, MPI_BYTE, target, disp, size, MPI_BYTE, win);
}

/// The window works and its bytes are right: twice, so that they are cached afterwards. Collective.
void good_epoch(MPI_Win win) {
    CHECK_MPI(MPI_Win_lock_all(0, win));
    for (int pass = 0; pass < 2; ++pass)
        for (int target = 0; target < size(); ++target)
            for (const int offset : {0, 1024, bytes - 64}) {
                unsigned char seen[64] = {};
                CHECK_MPI(MPI_Get(seen, 64, MPI_BYTE, target, offset, 64, MPI_BYTE, win));
                CHECK_MPI(MPI_Win_flush(target, win));
                CHECK_BYTES(seen, 64, target, static_cast<std::uint64_t>(offset));
            }
    CHECK_MPI(MPI_Win_unlock_all(win));
    barrier();
}

// --- no epoch

void access_without_epoch(MPI_Win win) {
    std::int64_t value = 1, result = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    answer("get", get(win, right(), 0));
    answer("get of a part", get(win, right(), 8, 16));
    answer("get beside", get(win, right(), 512));
    answer("get of more", get(win, right(), 1024, 128));
    answer("get of nothing", get(win, right(), 0, 0));
    answer("get from nobody", get(win, MPI_PROC_NULL, 0));
    answer("get from itself", get(win, rank(), 0));
    answer("rget", MPI_Rget(&result, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, win, &request));
    answer("put", MPI_Put(&value, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, win));
    answer("accumulate", MPI_Accumulate(&value, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, MPI_SUM, win));
    answer("get_accumulate", MPI_Get_accumulate(&value, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, right(), 0,
                                                1, MPI_INT64_T, MPI_NO_OP, win));
    answer("fetch_and_op", MPI_Fetch_and_op(&value, &result, MPI_INT64_T, right(), 0, MPI_NO_OP, win));
}

void flush_without_epoch(MPI_Win win) {
    ANSWER(MPI_Win_flush(right(), win));
    ANSWER(MPI_Win_flush_local(right(), win));
    ANSWER(MPI_Win_flush_all(win));
    ANSWER(MPI_Win_flush_local_all(win));
}

void unlock_without_lock(MPI_Win win) {
    ANSWER(MPI_Win_unlock(right(), win));
    ANSWER(MPI_Win_unlock_all(win));
}

void complete_without_start(MPI_Win win) {
    ANSWER(MPI_Win_complete(win));
    answer("get", get(win, right(), 0));
    ANSWER(MPI_Win_wait(win));
    int flag = 0;
    ANSWER(MPI_Win_test(win, &flag));
}

void sync_without_epoch(MPI_Win win) { ANSWER(MPI_Win_sync(win)); }

// --- the wrong epoch

void other_target_than_the_locked(MPI_Win win) {
    const int other = rank();
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
    answer("get", get(win, other, 0));
    ANSWER(MPI_Win_flush(other, win));
#ifdef OPEN_MPI
    ANSWER(MPI_Win_unlock(other, win));  // MPICH 5.0 ends by an assertion of its own
#endif
    const int third = (rank() + 2) % size();
    if (third != other) {
        answer("get from a third", get(win, third, 0));
        answer("flush of a third", MPI_Win_flush(third, win));
    }
    answer("get from the locked", get(win, right(), 0));
    CHECK_MPI(MPI_Win_unlock(right(), win));
    answer("get after unlock", get(win, right(), 0));
}

void unlock_of_the_other_kind(MPI_Win win) {
    CHECK_MPI(MPI_Win_lock_all(0, win));
    answer("unlock", MPI_Win_unlock(right(), win));
    answer("get", get(win, right(), 0));
    answer("lock_all again", MPI_Win_lock_all(0, win));
#ifndef OPEN_MPI
    // Open MPI 4.1 takes the lock, and no unlock of either kind afterwards.
    answer("lock", MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
    answer("get", get(win, right(), 0));
#endif
    CHECK_MPI(MPI_Win_unlock_all(win));
    answer("get after unlock_all", get(win, right(), 0));
    barrier();
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
    answer("unlock_all", MPI_Win_unlock_all(win));
    answer("get", get(win, right(), 0));
    CHECK_MPI(MPI_Win_unlock(right(), win));
}

void bad_lock_arguments(MPI_Win win) {
    if (answer("lock of no kind", MPI_Win_lock(4711, right(), 0, win)))
        answer("unlock", MPI_Win_unlock(right(), win));
    answer("lock of no rank", MPI_Win_lock(MPI_LOCK_SHARED, size() + 5, 0, win));
    answer("get", get(win, right(), 0));
}

void lock_in_a_lock(MPI_Win win) {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
    answer("get", get(win, right(), 0));
#ifndef OPEN_MPI
    // Open MPI 4.1 takes both, and no lock_all afterwards.
    answer("lock again", MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
#endif
    CHECK_MPI(MPI_Win_unlock(right(), win));
    answer("get after unlock", get(win, right(), 0));
    answer("unlock again", MPI_Win_unlock(right(), win));
}

void other_epochs_in_a_lock(MPI_Win win) {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
#ifndef OPEN_MPI
    answer("lock_all", MPI_Win_lock_all(0, win));
#endif
    answer("flush_all", MPI_Win_flush_all(win));
    answer("flush_local_all", MPI_Win_flush_local_all(win));
    answer("complete", MPI_Win_complete(win));
    answer("get", get(win, right(), 0));
    CHECK_MPI(MPI_Win_unlock(right(), win));
}

// --- fences

void flush_in_a_fence_epoch(MPI_Win win) {
    CHECK_MPI(MPI_Win_fence(0, win));
    answer("get", get(win, right(), 0));
    ANSWER(MPI_Win_flush(right(), win));
    ANSWER(MPI_Win_flush_local(right(), win));
    ANSWER(MPI_Win_flush_all(win));
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

void access_after_the_last_fence(MPI_Win win) {
    CHECK_MPI(MPI_Win_fence(0, win));
    answer("get", get(win, right(), 0));
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    answer("get after it", get(win, right(), 0));
    answer("flush after it", MPI_Win_flush(right(), win));
}

/// A fence without MPI_MODE_NOSUCCEED may begin an epoch; a lock afterwards says that it did not.
void access_after_fence_and_lock(MPI_Win win) {
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
    answer("get in the lock", get(win, right(), 0));
    CHECK_MPI(MPI_Win_unlock(right(), win));
    answer("get after unlock", get(win, right(), 0));
    answer("flush after unlock", MPI_Win_flush(right(), win));
    barrier();
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

void lock_in_a_fence_epoch(MPI_Win win) {
    CHECK_MPI(MPI_Win_fence(0, win));
    answer("get", get(win, right(), 512));
    if (answer("lock", MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win)))
        answer("unlock", MPI_Win_unlock(right(), win));
    answer("get", get(win, right(), 0));
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

// --- post, start, complete, wait

/// Runs `body` in an access epoch at the right neighbour alone.
void in_start(MPI_Win win, const std::function<void()>& body) {
    MPI_Group all, to, from;
    MPI_Win_get_group(win, &all);
    const int r = right(), l = (rank() + size() - 1) % size();
    MPI_Group_incl(all, 1, &r, &to);
    MPI_Group_incl(all, 1, &l, &from);
    CHECK_MPI(MPI_Win_post(from, 0, win));
    CHECK_MPI(MPI_Win_start(to, 0, win));
    body();
    CHECK_MPI(MPI_Win_complete(win));
    CHECK_MPI(MPI_Win_wait(win));
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
}

void access_outside_the_group(MPI_Win win) {
    in_start(win, [&] {
        answer("get", get(win, right(), 0));
        const int third = (rank() + 2) % size();
        answer("get from outside", get(win, third, 0));
        answer("get of more from outside", get(win, third, 1024, 128));
    });
    answer("get after complete", get(win, right(), 0));
}

void flush_in_a_start_epoch(MPI_Win win) {
    in_start(win, [&] {
        answer("get", get(win, right(), 0));
        ANSWER(MPI_Win_flush(right(), win));
        ANSWER(MPI_Win_flush_local(right(), win));
        ANSWER(MPI_Win_flush_all(win));
        ANSWER(MPI_Win_flush_local_all(win));
    });
}

void lock_in_a_start_epoch(MPI_Win win) {
    in_start(win, [&] {
        if (answer("lock", MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win)))
            answer("unlock", MPI_Win_unlock(right(), win));
        answer("get", get(win, right(), 0));
    });
}

// --- out of range

void displacement_out_of_range(MPI_Win win) {
    CHECK_MPI(MPI_Win_lock_all(0, win));
    const std::pair<const char*, std::pair<MPI_Aint, int>> places[] = {
        {"behind the end", {bytes, 64}},
        {"across the end", {bytes - 32, 64}},
        {"from what is cached across the end", {bytes - 64, 128}},
        {"before the beginning", {-64, 64}},
        {"across the beginning", {-32, 64}},
    };
    for (int pass = 0; pass < 2; ++pass)
        for (const auto& [name, place] : places) {
            answer(name, get(win, right(), place.first, place.second));
            answer("flush", MPI_Win_flush(right(), win));
            std::int64_t result = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            const MPI_Aint last = place.first < 0 ? place.first : place.first + place.second - 8;
            if (answer("rget",
                       MPI_Rget(&result, 1, MPI_INT64_T, right(), last, 1, MPI_INT64_T, win, &request)))
                answer("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    CHECK_MPI(MPI_Win_unlock_all(win));
}

/// A window in a larger run of memory, for the same reason.
class Embedded {
  public:
    explicit Embedded(Kind kind) {
        if (kind == Kind::allocate || !can_create()) {
            CHECK_MPI(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win_));
        } else {
            memory_.resize(bytes + 512);
            base_ = memory_.data() + 256;
            CHECK_MPI(MPI_Win_create(base_, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win_));
        }
        CHECK_MPI(MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN));
        fill(base_, bytes, rank());
        barrier();
    }
    Embedded(const Embedded&) = delete;
    Embedded& operator=(const Embedded&) = delete;
    ~Embedded() { CHECK_MPI(MPI_Win_free(&win_)); }
    operator MPI_Win() const { return win_; }

  private:
    unsigned char* base_ = nullptr;
    MPI_Win win_ = MPI_WIN_NULL;
    std::vector<unsigned char> memory_;
};

struct Case {
    const char* name;
    void (*run)(MPI_Win);
};
#define CASE(function) \
    Case { #function, function }
constexpr Case cases[] = {
    CASE(access_without_epoch),        CASE(flush_without_epoch),
    CASE(unlock_without_lock),         CASE(complete_without_start),
    CASE(sync_without_epoch),          CASE(other_target_than_the_locked),
    CASE(unlock_of_the_other_kind),    CASE(bad_lock_arguments),
    CASE(flush_in_a_fence_epoch),      CASE(lock_in_a_lock),
    CASE(other_epochs_in_a_lock),      CASE(access_after_the_last_fence),
    CASE(access_after_fence_and_lock), CASE(lock_in_a_fence_epoch),
    CASE(access_outside_the_group),    CASE(flush_in_a_start_epoch),
    CASE(lock_in_a_start_epoch),       CASE(displacement_out_of_range),
};

/// All ranks' lines, in the order of the ranks.
void print_lines() {
    int mine = static_cast<int>(lines.size());
    std::vector<int> sizes(static_cast<std::size_t>(size())), places(sizes.size());
    MPI_Gather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    int total = 0;
    for (std::size_t r = 0; r < sizes.size(); total += sizes[r++])
        places[r] = total;
    std::string all(static_cast<std::size_t>(total), ' ');
    MPI_Gatherv(lines.data(), mine, MPI_CHAR, all.data(), sizes.data(), places.data(), MPI_CHAR, 0,
                MPI_COMM_WORLD);
    std::cout << all << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        for (const auto& [name, run] : cases) {
            if (argc > 1 && std::find(argv + 1, argv + argc, std::string(name)) == argv + argc) continue;
            part(name);
            current = std::string(kind == Kind::allocate ? "allocate: " : "create: ") + name;
            // Each has a window of its own: what a library makes of a bad call may stay with the window.
            const Embedded window(kind);
            good_epoch(window);
            if (counts_hits() && never_forgets(mode())) CHECK(counter(window, "hits") > 0);
            run(window);
            barrier();
            good_epoch(window);
        }
    }
    print_lines();
    return program.finish();
}
