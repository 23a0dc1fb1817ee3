// SPDX-License-Identifier: Apache-2.0
// Gets of different sizes from one displacement: the header of a record of variable length, then all of it.
// They hit as gets from different displacements do. Only a get of the same bytes again is a poll.
#include "litmus.hpp"

using namespace litmus;

namespace {

constexpr int records = 60;
constexpr int record_step = 4096;
constexpr int rounds = 4;

int length_of(int record) { return 64 + record % 5 * 100; }

/// Records of a length, which stands in their first 8 bytes, and a pattern.
class Records {
  public:
    explicit Records(MPI_Info info) : window_(records * record_step, 1, Kind::allocate, info) {
        fill(window_.bytes(), records * record_step, rank());
        for (int i = 0; i < records; ++i)
            window_.as<std::int64_t>()[i * record_step / 8] = length_of(i);
        MPI_Win_lock_all(0, window_);
        publish(window_, "user-defined");
        MPI_Win_unlock_all(window_);
    }
    operator MPI_Win() const { return window_; }

  private:
    Window window_;
};

void get(MPI_Win win, void* into, int bytes, int disp) {
    CHECK_MPI(MPI_Get(into, bytes, MPI_BYTE, right(), disp, bytes, MPI_BYTE, win));
    CHECK_MPI(MPI_Win_flush(right(), win));
}

std::int64_t read_header(MPI_Win win, int record) {
    std::int64_t length = -1;
    get(win, &length, 8, record * record_step);
    return length;
}

/// The rest of the record is read from its begin, or from behind its header.
void read_record(MPI_Win win, int record, bool from_its_begin) {
    unsigned char bytes[512];
    const int length = static_cast<int>(read_header(win, record));
    CHECK_EQ(length, length_of(record));
    const int disp = record * record_step;
    if (from_its_begin)
        get(win, bytes, 8 + length, disp);
    else
        get(win, bytes + 8, length, disp + 8);
    CHECK_BYTES(bytes + 8, static_cast<std::uint64_t>(length), right(), static_cast<std::uint64_t>(disp + 8));
}

/// \return the hits of this rank
unsigned long long read_all(MPI_Info info, bool from_its_begin) {
    const Records window(info);
    const LockAll epoch(window);
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < records; ++i)
            read_record(window, i, from_its_begin);
    const auto hits = counter(window, "hits");
    if (loaded()) CHECK_EQ(counter(window, "polls"), 0u);
    barrier();
    return hits;
}

void hits_as_elsewhere() {
    part("header, then record");
    const Info exact{{"nearfetch_read_ahead_bytes", "0"}, NEVER_STANDS_STILL}, ahead{NEVER_STANDS_STILL};
    const auto behind = read_all(exact, false), begin = read_all(exact, true);
    const bool keeps = mode() != "transparent" && mode() != "off";
    if (counts_hits() && keeps) CHECK_EQ(behind, 2u * records * (rounds - 1));
    if (counts_hits()) CHECK_EQ(begin, behind);
    part("header, then record, read ahead");
    const auto combiner_ahead = read_all(ahead, false), begin_ahead = read_all(ahead, true);
    if (counts_hits()) CHECK(begin_ahead >= combiner_ahead);
}

/// The same bytes again are a poll, more or fewer are none.
void polls_ask_for_the_same_bytes() {
    part("polls ask for the same bytes");
    const Info exact{{"nearfetch_read_ahead_bytes", "0"}, {"nearfetch_mode", "acquire"}, NEVER_STANDS_STILL};
    const Records window(exact);
    const LockAll epoch(window);
    unsigned char bytes[512];
    struct Step {
        int bytes;
        unsigned long long polls;  ///< so far, with this one
    };
    constexpr Step steps[] = {{8, 0}, {8, 1}, {8, 2},  {64, 2}, {64, 3},
                              {8, 3}, {8, 4}, {32, 4}, {8, 4},  {300, 4}};
    for (const Step& step : steps) {
        get(window, bytes, step.bytes, 0);
        if (counts_hits()) CHECK_EQ(counter(window, "polls"), step.polls);
        CHECK_BYTES(bytes + 8, static_cast<std::uint64_t>(step.bytes - 8), right(), 8);
    }
    // In elements of another type they are the same bytes.
    std::int64_t length = -1;
    get(window, &length, 8, record_step);
    CHECK_MPI(MPI_Get(&length, 1, MPI_INT64_T, right(), record_step, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    if (counts_hits()) CHECK_EQ(counter(window, "polls"), 5u);
    barrier();
}

/// A reader that waits until a record has become longer, and looks at its header and at all of it in turn.
void waits_for_a_record() {
    part("wait for a record");
    const Info info{{"nearfetch_mode", "acquire"}};
    const Records window(info);
    const LockAll epoch(window);
    constexpr std::int64_t longer = 400;
    const auto look = [&] {
        unsigned char bytes[512];
        std::int64_t length = read_header(window, 0);
        get(window, bytes, 8 + static_cast<int>(length), 0);
        std::memcpy(&length, bytes, 8);
        return length;
    };
    if (reads()) {
        for (int i = 0; i < 3; ++i)
            CHECK_EQ(look(), length_of(0));
        CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, writer, 1, MPI_COMM_WORLD));
        while (look() != longer) {
        }
    }
    if (writes()) {
        CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, reader(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Put(&longer, 1, MPI_INT64_T, rank(), 0, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_flush(rank(), window));
    }
    barrier();
}

void all() {
    hits_as_elsewhere();
    polls_ask_for_the_same_bytes();
    waits_for_a_record();
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 60).run_with_others(all); }
