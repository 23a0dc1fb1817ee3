// SPDX-License-Identifier: Apache-2.0
// What a program reads behind a flag that it polls by plain gets, whatever state the flag's target is in.
//
// The reader has read the data before, polls the flag, and is told of a change by nothing but other bytes of
// the flag: what was written before the flag has to be there then. The run sets the state (`bypass`); the
// data's window may have one of its own, so that they stay cached while the flag's gets pass.
//
// Polls of atomics, and of windows that are off, are the network's own and not tested here.
#include "litmus.hpp"

using namespace litmus;

namespace {

/// Who has the data and the flag: neither the reader nor, if there is a third, the writer.
int owner() { return size() > 2 ? 1 : writer; }

constexpr int data_number = 32;
/// So that each lies in a block of its own.
constexpr int data_step = 1024;
constexpr int flag_place = data_number * data_step;
constexpr int places = flag_place + 64;

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

#define IN_MODE_ACQUIRE {"nearfetch_mode", "acquire"}
#define ALWAYS_CACHED {"nearfetch_bypass", "off"}, {"nearfetch_read_ahead_bytes", "0"}, NEVER_STANDS_STILL

/// A window of int64 with data and a flag per rank, all 0.
class Board {
  public:
    explicit Board(Settings settings) : info_(settings), window_(places * 8, 8, Kind::allocate, info_) {
        std::memset(window_.bytes(), 0, static_cast<std::size_t>(window_.size_bytes()));
        CHECK_MPI(MPI_Win_lock_all(0, window_));
        publish(window_);
        CHECK_MPI(MPI_Win_unlock_all(window_));
    }
    operator MPI_Win() const { return window_; }

  private:
    Info info_;
    Window window_;
};

/// One look at a flag of `bytes` bytes; its last 4 bytes.
using Look = std::function<std::int32_t(MPI_Win, int target, int bytes)>;

std::int32_t last_int(const std::int64_t* flag, int bytes) {
    std::int32_t value;
    std::memcpy(&value, reinterpret_cast<const char*>(flag) + bytes - 4, 4);
    return value;
}

std::int32_t by_get(MPI_Win flags, int target, int bytes) {
    std::int64_t flag[8];
    CHECK_MPI(MPI_Get(flag, bytes, MPI_BYTE, target, flag_place, bytes, MPI_BYTE, flags));
    CHECK_MPI(MPI_Win_flush(target, flags));
    return last_int(flag, bytes);
}

std::int32_t by_get_and_flush_all(MPI_Win flags, int target, int bytes) {
    std::int64_t flag[8];
    CHECK_MPI(MPI_Get(flag, bytes, MPI_BYTE, target, flag_place, bytes, MPI_BYTE, flags));
    CHECK_MPI(MPI_Win_flush_all(flags));
    return last_int(flag, bytes);
}

/// Where a request is complete at once it does not enter the library, which may have to serve the writer:
/// a look for a message, which is none and no acquire, does.
std::int32_t by_request(MPI_Win flags, int target, int bytes) {
    std::int64_t flag[8];
    MPI_Request request;
    int found = 0;
    CHECK_MPI(MPI_Rget(flag, bytes, MPI_BYTE, target, flag_place, bytes, MPI_BYTE, flags, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Iprobe(writer, 2, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    return last_int(flag, bytes);
}

std::int32_t by_lock(MPI_Win flags, int target, int bytes) {
    std::int64_t flag[8];
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, flags));
    CHECK_MPI(MPI_Get(flag, bytes, MPI_BYTE, target, flag_place, bytes, MPI_BYTE, flags));
    CHECK_MPI(MPI_Win_unlock(target, flags));
    return last_int(flag, bytes);
}

struct Poll {
    const char* name;
    Look look;
    bool locks = false;  ///< each look has an epoch of its own
};

const Poll gets{"get and flush", by_get};
const Poll others[] = {{"get and flush_all", by_get_and_flush_all}, {"request and wait", by_request}};
const Poll locks{"lock, get and unlock", by_lock, true};

/// Data in one window and the flag in another one or the same.
struct Places {
    MPI_Win data;
    MPI_Win flags;
    int data_target;
    int flag_target;
};

/// What data and flag have been raised to.
std::int64_t version = 0;

void read_data(const Places& at, std::int64_t expected) {
    for (int i = 0; i < data_number; ++i) {
        const std::int64_t seen = get(at.data, at.data_target, i * data_step);
        CHECK_EQ(seen, expected);
        if (seen != expected) return;
    }
}

void change_data(const Places& at) {
    for (int i = 0; i < data_number; ++i)
        CHECK_MPI(MPI_Put(&version, 1, MPI_INT64_T, at.data_target, i * data_step, 1, MPI_INT64_T, at.data));
    CHECK_MPI(MPI_Win_flush(at.data_target, at.data));
}

/// Its last 4 bytes, with those beside them that make it a word of the window.
void raise_flag(const Places& at, const Poll& poll, int bytes) {
    const auto value = static_cast<std::int32_t>(version);
    char word[8] = {};
    std::memcpy(word + (bytes - 4) % 8, &value, 4);
    if (poll.locks) CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, at.flag_target, 0, at.flags));
    CHECK_MPI(
        MPI_Put(word, 8, MPI_BYTE, at.flag_target, flag_place + (bytes - 4) / 8, 8, MPI_BYTE, at.flags));
    CHECK_MPI(poll.locks ? MPI_Win_unlock(at.flag_target, at.flags)
                         : MPI_Win_flush(at.flag_target, at.flags));
}

/// \param looks at the flag before it may be raised
void combiner_the_flag(const Places& at, const Poll& poll, int bytes, int looks = 20) {
    if (reads()) {
        // Twice, for what is kept at the second get only.
        read_data(at, version);
        read_data(at, version);
        for (int i = 0; i < looks; ++i)
            poll.look(at.flags, at.flag_target, bytes);
        CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, writer, 1, MPI_COMM_WORLD));
    }
    ++version;
    if (writes()) {
        CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, reader(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        change_data(at);
        raise_flag(at, poll, bytes);
    }
    if (reads()) {
        while (poll.look(at.flags, at.flag_target, bytes) != version)
            if (poll.locks) leave_time_for_a_lock();
        read_data(at, version);
    }
    barrier();
}

/// All data were 0 in windows that have just been made.
void from_zero() { version = 0; }

/// Looks that find the flag as it was forget nothing.
void forgets_nothing(const Places& at, const Poll& poll) {
    if (reads()) {
        read_data(at, version);
        const auto hits = counter(at.data, "hits");
        for (int i = 0; i < 50; ++i)
            poll.look(at.flags, at.flag_target, 8);
        read_data(at, version);
        if (loaded()) CHECK_EQ(counter(at.data, "hits") - hits, data_number);
    }
    barrier();
}

void in_one_window() {
    part("data and flag in one window");
    from_zero();
    const Board board({IN_MODE_ACQUIRE});
    const LockAll epoch(board);
    const Places one_target{board, board, owner(), owner()};
    combiner_the_flag(one_target, gets, 4, crowded() ? 500 : 3000);
    for (const int bytes : {4, 8, 64})
        combiner_the_flag(one_target, gets, bytes);
    for (const Poll& poll : others)
        combiner_the_flag(one_target, poll, 8);
    if (size() > 2) combiner_the_flag({board, board, owner(), writer}, gets, 8);
    if (counts_hits()) {
        const Board exact({IN_MODE_ACQUIRE, ALWAYS_CACHED});
        const LockAll exact_epoch(exact);
        from_zero();
        forgets_nothing({exact, exact, owner(), owner()}, gets);
    }
}

/// The data stay cached whatever becomes of the flag's target.
void in_two_windows() {
    part("data and flag in two windows");
    from_zero();
    const Board data({IN_MODE_ACQUIRE, ALWAYS_CACHED}), flags({IN_MODE_ACQUIRE});
    const LockAll data_epoch(data), flags_epoch(flags);
    const Places one_target{data, flags, owner(), owner()};
    for (const int bytes : {4, 8, 64})
        combiner_the_flag(one_target, gets, bytes);
    for (const Poll& poll : others)
        combiner_the_flag(one_target, poll, 8);
    forgets_nothing(one_target, gets);
    for (const Poll& poll : others)
        forgets_nothing(one_target, poll);
    combiner_the_flag(one_target, gets, 8, crowded() ? 200 : 3000);
    if (size() > 2) combiner_the_flag({data, flags, owner(), writer}, gets, 8);
    part("the flag in the reader's own memory");
    combiner_the_flag({data, flags, owner(), reader()}, gets, 8);
}

void by_locks() {
    part("locks that only open epochs");
    from_zero();
    const Board data({IN_MODE_ACQUIRE, ALWAYS_CACHED});
    const Board flags({IN_MODE_ACQUIRE, {"nearfetch_locks", "access"}});
    const LockAll data_epoch(data);
    const Places at{data, flags, owner(), owner()};
    for (const int bytes : {4, 8, 64})
        combiner_the_flag(at, locks, bytes);
    forgets_nothing(at, locks);
}

/// A window whose state is held anew while the program runs.
void switched() {
    part("switched while it runs");
    const Board data({IN_MODE_ACQUIRE, ALWAYS_CACHED}), flags({IN_MODE_ACQUIRE});
    const LockAll data_epoch(data), flags_epoch(flags);
    for (const MPI_Win of : {MPI_Win(data), MPI_Win(flags)}) {
        from_zero();
        for (const char* state : {"off", "on", "off", "always", "off", "sampling", "always", "sampling"}) {
            const Info info{{"nearfetch_bypass", state}};
            CHECK_MPI(MPI_Win_set_info(flags, info));
            combiner_the_flag({of, flags, owner(), owner()}, gets, 8);
        }
    }
}

void all() {
    in_one_window();
    in_two_windows();
    by_locks();
    switched();
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 60).run_with_others(all); }
