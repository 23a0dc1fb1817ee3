// SPDX-License-Identifier: Apache-2.0
// Displacements of 2^32 bytes and more: two places that are equal modulo 2^32 must not be taken for one
// another. The window is address space without memory; only the pages that are touched exist.
#include <sys/mman.h>

#include "check.hpp"

using namespace check;

namespace {

constexpr MPI_Aint giga = 1 << 30;
constexpr MPI_Aint window_bytes = 9 * giga;
constexpr MPI_Aint far[] = {0,        4 * giga, 8 * giga,      4 * giga + 4096, 2 * giga,
                            6 * giga, 4096,     2 * giga - 64, 4 * giga - 64};

void places(MPI_Win win, unsigned char* base, MPI_Aint unit) {
    constexpr int bytes = 128;
    CHECK_MPI(MPI_Win_lock_all(0, win));
    for (const MPI_Aint offset : far)
        fill(base + offset, bytes, rank(), 3, static_cast<std::uint64_t>(offset));
    publish(win);
    for (int pass = 0; pass < 3; ++pass)
        for (const MPI_Aint offset : far) {
            if (offset % unit) continue;
            unsigned char seen[bytes] = {};
            CHECK_MPI(MPI_Get(seen, bytes, MPI_BYTE, right(), offset / unit, bytes, MPI_BYTE, win));
            CHECK_MPI(MPI_Win_flush(right(), win));
            CHECK_BYTES(seen, bytes, right(), static_cast<std::uint64_t>(offset), 3);
        }
    // A put up there changes that place and no other.
    unsigned char data[16];
    fill(data, 16, rank(), 9);
    if ((4 * giga) % unit == 0) {
        CHECK_MPI(MPI_Put(data, 16, MPI_BYTE, right(), 4 * giga / unit, 16, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        unsigned char seen[bytes] = {};
        CHECK_MPI(MPI_Get(seen, bytes, MPI_BYTE, right(), 4 * giga / unit, bytes, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(seen, 16, rank(), 0, 9);
        CHECK_BYTES(seen + 16, bytes - 16, right(), static_cast<std::uint64_t>(4 * giga + 16), 3);
        CHECK_MPI(MPI_Get(seen, bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(seen, bytes, right(), 0, 3);
    }
    barrier();
    CHECK_MPI(MPI_Win_unlock_all(win));
}

/// One target type whose blocks lie gigabytes apart.
void wide_type(MPI_Win win, unsigned char* base) {
    part("blocks gigabytes apart");
    int lengths[] = {64, 64, 64};
    MPI_Aint offsets[] = {8 * giga, 0, 4 * giga};
    MPI_Datatype type;
    MPI_Type_create_hindexed(3, lengths, offsets, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (const MPI_Aint offset : far)
        fill(base + offset, 128, rank(), 3, static_cast<std::uint64_t>(offset));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    publish(win);
    for (int pass = 0; pass < 3; ++pass) {
        unsigned char seen[192] = {};
        CHECK_MPI(MPI_Get(seen, 192, MPI_BYTE, right(), 0, 1, type, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        for (int i = 0; i < 3; ++i)
            CHECK_BYTES(seen + 64 * i, 64, right(), static_cast<std::uint64_t>(offsets[i]), 3);
    }
    barrier();
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Type_free(&type);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    if (!can_create()) return program.skip("this MPI creates no window for one process");
    void* memory = mmap(nullptr, window_bytes + giga, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return program.skip("no address space for the window");
    auto* base = static_cast<unsigned char*>(memory);
    for (const int unit : {1, 64, 4096, 1 << 30}) {
        part(unit == 1 ? "bytes" : "displacement units");
        MPI_Win win;
        CHECK_MPI(MPI_Win_create(base, window_bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        places(win, base, unit);
        if (unit == 1) wide_type(win, base);
        CHECK_MPI(MPI_Win_free(&win));
    }
    munmap(memory, window_bytes + giga);
    return program.finish();
}
