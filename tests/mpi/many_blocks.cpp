// SPDX-License-Identifier: Apache-2.0

// Gets in hundreds and thousands of blocks: right in each kind of epoch, and not kept in as many runs where
// the program never asks again for what is still fresh.
#include "check.hpp"

using namespace check;

namespace {

constexpr int side = 400;
constexpr int window_bytes = side * side;
constexpr int columns = 8;

/// One column of the square, and the next element begins a byte further.
MPI_Datatype column_type() {
    MPI_Datatype column, one;
    MPI_Type_vector(side, 1, side, MPI_BYTE, &column);
    MPI_Type_create_resized(column, 0, 1, &one);
    MPI_Type_commit(&one);
    MPI_Type_free(&column);
    return one;
}

void check_columns(const std::vector<unsigned char>& seen, int first, int version) {
    for (int c = 0; c < columns; ++c)
        for (int row = 0; row < side; ++row)
            CHECK_EQ(seen[static_cast<std::size_t>(c * side + row)],
                     pattern_byte(right(), static_cast<std::uint64_t>(row * side + first + c), version));
}

void change(const Window& window, int version) {
    barrier();
    CHECK_MPI(MPI_Win_fence(0, window));
    fill(window.bytes(), window_bytes, rank(), version);
    CHECK_MPI(MPI_Win_fence(0, window));
    forget(window);
}

/// Each get once between two fences. The origins of the second are in columns, too.
void once_each(const Window& window, MPI_Datatype column) {
    part("once between fences");
    std::vector<unsigned char> in_a_row(columns * side), square(window_bytes);
    for (int round = 0; round < 8; ++round) {
        change(window, round);
        CHECK_MPI(MPI_Get(in_a_row.data(), columns * side, MPI_BYTE, right(), 16, columns, column, window));
        CHECK_MPI(MPI_Get(square.data(), 1, column, right(), 200, 1, column, window));
        CHECK_MPI(MPI_Win_fence(0, window));
        check_columns(in_a_row, 16, round);
        for (int row = 0; row < side; ++row)
            CHECK_EQ(square[static_cast<std::size_t>(row * side)],
                     pattern_byte(right(), static_cast<std::uint64_t>(row * side + 200), round));
    }
    if (mode() != "acquire" || counts_hits()) return;
    CHECK_EQ(counter(window, "bypassed"), 16U);
    CHECK_EQ(counter(window, "committed"), 0U);
    CHECK_EQ(counter(window, "hits"), 0U);
}

/// The same again, with others between, and what this process puts there.
void again(const Window& window, MPI_Datatype column) {
    part("again within an epoch");
    change(window, 20);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK_MPI(MPI_Win_lock_all(0, window));
    std::vector<unsigned char> seen(columns * side);
    const auto get = [&](int first) {
        std::fill(seen.begin(), seen.end(), 0xEE);
        CHECK_MPI(MPI_Get(seen.data(), columns * side, MPI_BYTE, right(), first, columns, column, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
    };
    for (int i = 0; i < 6; ++i) {
        get(i % 2 * 100);
        check_columns(seen, i % 2 * 100, 20);
    }
    unsigned char byte = 77;
    CHECK_MPI(MPI_Put(&byte, 1, MPI_BYTE, right(), 5 * side, 1, MPI_BYTE, window));
    get(0);
    CHECK_MPI(MPI_Win_flush(right(), window));
    get(100);
    get(0);
    CHECK_EQ(seen[5], byte);
    MPI_Request request;
    CHECK_MPI(
        MPI_Rget(seen.data(), columns * side, MPI_BYTE, right(), 100, columns, column, window, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_columns(seen, 100, 20);
    CHECK_MPI(MPI_Win_unlock_all(window));
    if (counts_hits() && never_forgets(mode())) CHECK(counter(window, "hits") >= 4);
}

/// A small get is kept while one of many blocks is under way beside it, elsewhere.
void beside(const Window& window, MPI_Datatype column) {
    part("beside a small get");
    change(window, 30);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK_MPI(MPI_Win_lock_all(0, window));
    std::vector<unsigned char> small(8), other(8), many(columns * side);
    CHECK_MPI(MPI_Get(small.data(), 8, MPI_BYTE, right(), 80, 8, MPI_BYTE, window));
    CHECK_MPI(MPI_Get(other.data(), 8, MPI_BYTE, right(), window_bytes - 8, 8, MPI_BYTE, window));
    CHECK_MPI(MPI_Get(many.data(), columns * side, MPI_BYTE, right(), 160, columns, column, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    const auto before = counter(window, "hits");
    CHECK_MPI(MPI_Get(small.data(), 8, MPI_BYTE, right(), 80, 8, MPI_BYTE, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_BYTES(small.data(), 8, right(), 80, 30);
    check_columns(many, 160, 30);
    if (mode() == "acquire") CHECK_EQ(counter(window, "hits"), before + 1);
    CHECK_MPI(MPI_Win_unlock_all(window));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    {
        const Window window = Window(window_bytes);
        MPI_Datatype column = column_type();
        once_each(window, column);
        again(window, column);
        if (size() > 1) beside(window, column);
        MPI_Type_free(&column);
    }
    return program.finish();
}
