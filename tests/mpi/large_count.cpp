// SPDX-License-Identifier: Apache-2.0
// The large-count variants of MPI 4: every one, with the values that the small ones bring, mixed with these
// on the same windows; and one transfer that only they can do.
#include <sys/mman.h>

#include "check.hpp"

using namespace check;

#if MPI_VERSION >= 4
namespace {

constexpr MPI_Aint bytes = 4096;

/// Reads by both variants; each must hit what the other cached, and see what the other wrote.
void read_write(MPI_Win win, MPI_Count unit) {
    const int target = right();
    const MPI_Aint place = 1024 / unit;
    unsigned char seen[256];
    for (int pass = 0; pass < 2; ++pass) {
        std::memset(seen, 0, sizeof seen);
        CHECK_MPI(MPI_Get_c(seen, MPI_Count{256}, MPI_BYTE, target, place, MPI_Count{256}, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(target, win));
        CHECK_BYTES(seen, 256, target, 1024);
        MPI_Request request;
        std::memset(seen, 0, sizeof seen);
        CHECK_MPI(MPI_Rget_c(seen, 256, MPI_BYTE, target, place, 256, MPI_BYTE, win, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_BYTES(seen, 256, target, 1024);
        std::memset(seen, 0, sizeof seen);
        CHECK_MPI(MPI_Get(seen, 64, MPI_INT32_T, target, place, 64, MPI_INT32_T, win));
        CHECK_MPI(MPI_Win_flush(target, win));
        CHECK_BYTES(seen, 256, target, 1024);
    }
    // From here on in the second kilobyte, which nobody else writes.
    const MPI_Aint mine = 2048 / unit;
    std::int64_t values[8], back[8], old[8];
    MPI_Request request;
    const auto read_back = [&](std::int64_t expected) {
        CHECK_MPI(MPI_Get(back, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, win));
        CHECK_MPI(MPI_Win_flush(target, win));
        for (int i = 0; i < 8; ++i)
            CHECK_EQ(back[i], expected + i);
    };
    for (int i = 0; i < 8; ++i)
        values[i] = 100 + i;
    CHECK_MPI(MPI_Put_c(values, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    read_back(100);
    for (int i = 0; i < 8; ++i)
        values[i] = 200 + i;
    CHECK_MPI(MPI_Rput_c(values, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, win, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Win_flush(target, win));
    read_back(200);
    for (auto& v : values)
        v = 10;
    CHECK_MPI(MPI_Accumulate_c(values, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    read_back(210);
    CHECK_MPI(
        MPI_Raccumulate_c(values, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, MPI_SUM, win, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Win_flush(target, win));
    read_back(220);
    CHECK_MPI(MPI_Get_accumulate_c(values, 8, MPI_INT64_T, old, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T,
                                   MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    for (int i = 0; i < 8; ++i)
        CHECK_EQ(old[i], 220 + i);
    read_back(230);
    CHECK_MPI(MPI_Rget_accumulate_c(values, 8, MPI_INT64_T, old, 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T,
                                    MPI_SUM, win, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Win_flush(target, win));
    for (int i = 0; i < 8; ++i)
        CHECK_EQ(old[i], 230 + i);
    read_back(240);
    // A type that was made by a large-count constructor.
    MPI_Datatype strided;
    CHECK_MPI(MPI_Type_vector_c(16, 2, 4, MPI_BYTE, &strided));
    CHECK_MPI(MPI_Type_commit(&strided));
    for (int pass = 0; pass < 2; ++pass) {
        std::memset(seen, 0, sizeof seen);
        CHECK_MPI(MPI_Get_c(seen, 32, MPI_BYTE, target, 512 / unit, 1, strided, win));
        CHECK_MPI(MPI_Win_flush(target, win));
        for (int i = 0; i < 32; ++i)
            CHECK_EQ(seen[i], pattern_byte(target, static_cast<std::uint64_t>(512 + i / 2 * 4 + i % 2)));
    }
    MPI_Type_free(&strided);
    barrier();
}

void windows() {
    part("windows");
    for (const MPI_Aint unit : {MPI_Aint{1}, MPI_Aint{4}}) {
        std::vector<std::uint64_t> memory(bytes / 8);
        unsigned char* base[3] = {reinterpret_cast<unsigned char*>(memory.data()), nullptr, nullptr};
        MPI_Win win[3];
        CHECK_MPI(MPI_Win_create_c(base[0], bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]));
        CHECK_MPI(MPI_Win_allocate_c(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base[1], &win[1]));
        CHECK_MPI(MPI_Win_allocate_shared_c(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base[2], &win[2]));
        MPI_Aint size_bytes = 0, unit_seen = 0;
        unsigned char* theirs = nullptr;
        CHECK_MPI(MPI_Win_shared_query_c(win[2], rank(), &size_bytes, &unit_seen, &theirs));
        CHECK_EQ(unit_seen, unit);
        CHECK(theirs == base[2]);
        for (int i = 0; i < 3; ++i) {
            fill(base[i], bytes, rank());
            CHECK_MPI(MPI_Win_lock_all(0, win[i]));
            publish(win[i]);
            read_write(win[i], unit);
            CHECK_MPI(MPI_Win_unlock_all(win[i]));
            CHECK_MPI(MPI_Win_free(&win[i]));
        }
    }
}

/// Displacements past 2^32 and a count that is more than an int holds.
void beyond_int() {
    part("beyond INT_MAX");
    constexpr MPI_Aint giga = 1 << 30;
    constexpr MPI_Aint unit = giga, window_bytes = 6 * giga + 4096;
    const auto map = [](MPI_Aint size_bytes) {
        return static_cast<unsigned char*>(mmap(nullptr, static_cast<std::size_t>(size_bytes),
                                                PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    };
    unsigned char* base = map(window_bytes);
    if (base == MAP_FAILED) return;
    MPI_Win win;
    CHECK_MPI(MPI_Win_create_c(base, window_bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int i = 0; i < 7; ++i)
        fill(base + i * unit, 64, rank(), i);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    publish(win);
    for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i < 7; ++i) {
            unsigned char seen[64] = {};
            CHECK_MPI(MPI_Get_c(seen, 64, MPI_BYTE, right(), i, 64, MPI_BYTE, win));
            CHECK_MPI(MPI_Win_flush(right(), win));
            CHECK_BYTES(seen, 64, right(), 0, i);
        }
    // 3e9 elements of nothing: the count passes through, no byte moves.
    MPI_Datatype nothing;
    CHECK_MPI(MPI_Type_contiguous(0, MPI_BYTE, &nothing));
    CHECK_MPI(MPI_Type_commit(&nothing));
    unsigned char untouched = 7;
    CHECK_MPI(MPI_Get_c(&untouched, MPI_Count{3000000000}, nothing, right(), 0, MPI_Count{3000000000},
                        nothing, win));
    CHECK_MPI(MPI_Win_flush(right(), win));
    CHECK_EQ(untouched, 7);
    MPI_Type_free(&nothing);
    barrier();
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK_MPI(MPI_Win_free(&win));
    munmap(base, static_cast<std::size_t>(window_bytes));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    windows();
    beyond_int();
    return program.finish();
}
#else
int main(int argc, char** argv) {
    Program program(argc, argv);
    return program.skip("this MPI has no large-count functions");
}
#endif
