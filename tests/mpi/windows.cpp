// SPDX-License-Identifier: Apache-2.0
// Every way to make a window, what it says about itself, and that nothing of it stays behind.
#include "check.hpp"

using namespace check;

namespace {

constexpr MPI_Aint elements = 512;

/// Gets all of the right neighbour's window, in its displacement unit, in two halves and again as one.
void read_neighbour(MPI_Win win, int target, int target_unit, MPI_Aint bytes, int version) {
    std::vector<unsigned char> buffer(static_cast<std::size_t>(bytes));
    const MPI_Aint half = bytes / target_unit / 2 * target_unit;
    for (int pass = 0; pass < 2; ++pass) {
        std::fill(buffer.begin(), buffer.end(), static_cast<unsigned char>(0));
        CHECK_MPI(MPI_Get(buffer.data(), static_cast<int>(half), MPI_BYTE, target, 0, static_cast<int>(half),
                          MPI_BYTE, win));
        CHECK_MPI(MPI_Get(buffer.data() + half, static_cast<int>(bytes - half), MPI_BYTE, target,
                          half / target_unit, static_cast<int>(bytes - half), MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(target, win));
        CHECK_BYTES(buffer.data(), static_cast<std::uint64_t>(bytes), target, 0, version);
    }
    std::fill(buffer.begin(), buffer.end(), static_cast<unsigned char>(0));
    CHECK_MPI(MPI_Get(buffer.data(), static_cast<int>(bytes), MPI_BYTE, target, 0, static_cast<int>(bytes),
                      MPI_BYTE, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    CHECK_BYTES(buffer.data(), static_cast<std::uint64_t>(bytes), target, 0, version);
}

void check_attributes(MPI_Win win, const void* base, MPI_Aint bytes, int disp_unit, int flavor) {
    void* value = nullptr;
    int found = 0;
    if (flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &found));
        CHECK(found && value == base);
        CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &found));
        CHECK(found && *static_cast<MPI_Aint*>(value) == bytes);
        CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &found));
        CHECK(found && *static_cast<int*>(value) == disp_unit);
    }
    CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &found));
    CHECK(found && *static_cast<int*>(value) == flavor);
    MPI_Group group;
    int members = 0;
    CHECK_MPI(MPI_Win_get_group(win, &group));
    CHECK_MPI(MPI_Group_size(group, &members));
    CHECK_EQ(members, size());
    MPI_Group_free(&group);
}

int unit_of(int r) {
    constexpr int units[] = {1, 8, 4, 2};
    return units[r % 4];
}

void units_per_rank() {
    part("displacement unit of each rank");
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(elements * 8, unit_of(rank()), kind);
        check_attributes(
            window, window.bytes(), elements * 8, unit_of(rank()),
            kind == Kind::allocate || !can_create() ? MPI_WIN_FLAVOR_ALLOCATE : MPI_WIN_FLAVOR_CREATE);
        const LockAll epoch(window);
        for (int version = 0; version < 2; ++version) {
            store_all(window, version);
            read_neighbour(window, right(), unit_of(right()), elements * 8, version);
            read_neighbour(window, rank(), unit_of(rank()), elements * 8, version);
        }
        barrier();
    }
}

void size_per_rank() {
    part("size of each rank, none and NULL among them");
    if (!can_create()) return;
    std::vector<unsigned char> memory(1024);
    const bool empty = size() > 1 && rank() % 2 == 0;
    const MPI_Aint bytes = empty ? 0 : 512;
    MPI_Win win;
    CHECK_MPI(MPI_Win_create(empty ? nullptr : memory.data(), bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    fill(memory.data(), memory.size(), rank());
    {
        const LockAll epoch(win);
        publish(win);
        for (int target = 0; target < size(); ++target) {
            unsigned char buffer[512] = {};
            const bool target_empty = size() > 1 && target % 2 == 0;
            for (int pass = 0; pass < 2; ++pass) {
                const int count = target_empty ? 0 : 512;
                CHECK_MPI(MPI_Get(buffer, count, MPI_BYTE, target, 0, count, MPI_BYTE, win));
                CHECK_MPI(MPI_Win_flush(target, win));
                CHECK_BYTES(buffer, static_cast<std::uint64_t>(count), target, 0);
            }
        }
        barrier();
    }
    CHECK_MPI(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

void shared() {
    part("shared memory");
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int node_size = 0, node_rank = 0;
    MPI_Comm_size(node, &node_size);
    MPI_Comm_rank(node, &node_rank);
    unsigned char* base = nullptr;
    MPI_Win win;
    CHECK_MPI(MPI_Win_allocate_shared(1024, 4, MPI_INFO_NULL, node, &base, &win));
    const int target = (node_rank + 1) % node_size;
    MPI_Aint bytes = 0;
    int unit = 0;
    unsigned char* theirs = nullptr;
    CHECK_MPI(MPI_Win_shared_query(win, target, &bytes, &unit, &theirs));
    CHECK(bytes >= 1024);
    CHECK_EQ(unit, 4);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    for (int version = 0; version < 2; ++version) {
        fill(base, 1024, node_rank, version);
        MPI_Win_sync(win);
        MPI_Barrier(node);
        MPI_Win_sync(win);
        forget(win);
        CHECK_BYTES(theirs, 1024, target, 0, version);
        read_neighbour(win, target, 4, 1024, version);
        MPI_Barrier(node);
    }
    // A store into a neighbour's memory reaches the neighbour, and its gets from itself.
    theirs[7] = 99;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    forget(win);
    unsigned char seen = 0;
    CHECK_MPI(MPI_Get(&seen, 1, MPI_BYTE, node_rank, 1, 1, MPI_BYTE, win));
    CHECK_MPI(MPI_Win_flush(node_rank, win));
    CHECK_EQ(seen, base[4]);
    CHECK_EQ(base[7], 99);
    // Nor does a get from there need more than a flush to bring it.
    for (unsigned char value = 1; value < 20; ++value) {
        unsigned char other = 0;
        theirs[16] = value;
        CHECK_MPI(MPI_Win_flush(target, win));
        CHECK_MPI(MPI_Get(&seen, 1, MPI_BYTE, target, 4, 1, MPI_BYTE, win));
        CHECK_MPI(MPI_Get(&other, 1, MPI_BYTE, target, 200, 1, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(target, win));
        CHECK_EQ(seen, value);
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK_MPI(MPI_Win_free(&win));
    MPI_Comm_free(&node);
}

void dynamic() {
    part("dynamic");
    if (!can_create()) return;
    MPI_Win win;
    CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    check_attributes(win, nullptr, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    std::vector<unsigned char> first(2048), second(4096);
    for (int round = 0; round < 3; ++round) {
        fill(first.data(), first.size(), rank(), round);
        fill(second.data(), second.size(), rank(), round + 100);
        CHECK_MPI(MPI_Win_attach(win, first.data(), static_cast<MPI_Aint>(first.size())));
        CHECK_MPI(MPI_Win_attach(win, second.data(), static_cast<MPI_Aint>(second.size())));
        MPI_Aint mine[2], theirs[2];
        MPI_Get_address(first.data(), &mine[0]);
        MPI_Get_address(second.data(), &mine[1]);
        const int left = (rank() + size() - 1) % size();
        MPI_Sendrecv(mine, 2, MPI_AINT, left, 0, theirs, 2, MPI_AINT, right(), 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        {
            const LockAll epoch(win);
            publish(win);
            for (int pass = 0; pass < 3; ++pass) {
                unsigned char a[300] = {}, b[300] = {};
                CHECK_MPI(
                    MPI_Get(a, 300, MPI_BYTE, right(), MPI_Aint_add(theirs[0], 100), 300, MPI_BYTE, win));
                CHECK_MPI(
                    MPI_Get(b, 300, MPI_BYTE, right(), MPI_Aint_add(theirs[1], 3000), 300, MPI_BYTE, win));
                CHECK_MPI(MPI_Win_flush(right(), win));
                CHECK_BYTES(a, 300, right(), 100, round);
                CHECK_BYTES(b, 300, right(), 3000, round + 100);
            }
            barrier();
        }
        CHECK_MPI(MPI_Win_detach(win, second.data()));
        CHECK_MPI(MPI_Win_detach(win, first.data()));
        barrier();
    }
    CHECK_MPI(MPI_Win_free(&win));
}

void info_keys() {
    part("info keys");
    {
        const Info info{{"nearfetch_mode", "off"}, {"no_locks", "false"}, {"somebody_elses_key", "42"}};
        const Window window(4096, 1, Kind::create, info);
        const LockAll epoch(window);
        for (int version = 0; version < 2; ++version) {
            store_all(window, version, "off");
            read_neighbour(window, right(), 1, 4096, version);
        }
        if (loaded()) CHECK_EQ(counter(window, "hits") + counter(window, "pending_hits"), 0u);
        barrier();
    }
    {
        const Window window(4096);
        const Info info{{"nearfetch_mode", "user-defined"}, {"nearfetch_buffer_bytes", "64KiB"}};
        CHECK_MPI(MPI_Win_set_info(window, info));
        MPI_Info seen;
        CHECK_MPI(MPI_Win_get_info(window, &seen));
        CHECK(seen != MPI_INFO_NULL);
        MPI_Info_free(&seen);
        const LockAll epoch(window);
        for (int version = 0; version < 2; ++version) {
            store_all(window, version, "user-defined");
            read_neighbour(window, right(), 1, 4096, version);
        }
        barrier();
    }
}

/// Two windows over the same memory, and windows of other communicators: their bytes are not mixed up.
void several() {
    part("several windows at once");
    if (!can_create()) return;
    std::vector<unsigned char> memory(4096);
    fill(memory.data(), memory.size(), rank());
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &reversed);
    MPI_Win whole, tail, other;
    CHECK_MPI(MPI_Win_create(memory.data(), 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &whole));
    CHECK_MPI(MPI_Win_create(memory.data() + 1024, 3072, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &tail));
    CHECK_MPI(MPI_Win_create(memory.data(), 4096, 1, MPI_INFO_NULL, reversed, &other));
    {
        const LockAll a(whole), b(tail), c(other);
        publish(whole);
        unsigned char x[64], y[64], z[64];
        for (int pass = 0; pass < 3; ++pass) {
            const int mirrored = size() - 1 - right();
            CHECK_MPI(MPI_Get(x, 64, MPI_BYTE, right(), 0, 64, MPI_BYTE, whole));
            CHECK_MPI(MPI_Get(y, 64, MPI_BYTE, right(), 0, 64, MPI_BYTE, tail));
            CHECK_MPI(MPI_Get(z, 64, MPI_BYTE, mirrored, 64, 64, MPI_BYTE, other));
            CHECK_MPI(MPI_Win_flush(right(), whole));
            CHECK_MPI(MPI_Win_flush(right(), tail));
            CHECK_MPI(MPI_Win_flush(mirrored, other));
            CHECK_BYTES(x, 64, right(), 0);
            CHECK_BYTES(y, 64, right(), 1024);
            CHECK_BYTES(z, 64, right(), 64);
        }
        barrier();
    }
    MPI_Win_free(&other);
    MPI_Win_free(&whole);
    MPI_Win_free(&tail);
    MPI_Comm_free(&reversed);
}

long resident_kib() {
    long pages = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return resident * 4;
}

/// What MPI itself loses per window is not known: the bound is far below what one window's cache takes.
void created_and_freed(int number) {
    part("many windows");
    long start_kib = 0;
    std::vector<unsigned char> memory(256), buffer(256);
    fill(memory.data(), memory.size(), rank());
    for (int i = 0; i < number; ++i) {
        if (i == number / 4) start_kib = resident_kib();
        MPI_Win win;
        unsigned char* base = memory.data();
        if (can_create() && i % 2 == 0) {
            CHECK_MPI(MPI_Win_create(base, 256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        } else {
            CHECK_MPI(MPI_Win_allocate(256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
            fill(base, 256, rank());
        }
        CHECK_MPI(MPI_Win_fence(0, win));
        buffer.assign(256, 0);
        CHECK_MPI(MPI_Get(buffer.data(), 256, MPI_BYTE, right(), 0, 256, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_fence(0, win));
        CHECK_BYTES(buffer.data(), 256, right(), 0);
        CHECK_MPI(MPI_Win_free(&win));
    }
    const long growth_kib = resident_kib() - start_kib;
    if (growth_kib > 24 * 1024)
        report(__FILE__, __LINE__,
               std::to_string(number * 3 / 4) + " windows made the process grow by " +
                   std::to_string(growth_kib) + " KiB");
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    units_per_rank();
    size_per_rank();
    shared();
    dynamic();
    info_keys();
    several();
    created_and_freed(argc > 1 ? std::atoi(argv[1]) : crowded() ? 40 : 400);
    return program.finish();
}
