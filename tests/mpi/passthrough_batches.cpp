// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "passthrough.hpp"

namespace passthrough {

namespace {

constexpr int in_row = 64;
constexpr int rows = slots / in_row;

int times() { return crowded() ? 4 : 48; }

using Complete = void (*)(MPI_Win win);

void flush(MPI_Win win) { CHECK_MPI(MPI_Win_flush(right(), win)); }
void flush_all(MPI_Win win) { CHECK_MPI(MPI_Win_flush_all(win)); }
void flush_local(MPI_Win win) { CHECK_MPI(MPI_Win_flush_local(right(), win)); }
void flush_local_all(MPI_Win win) { CHECK_MPI(MPI_Win_flush_local_all(win)); }
void fence(MPI_Win win) { CHECK_MPI(MPI_Win_fence(0, win)); }

void put_row(const Window& window, int row, const std::uint64_t* values) {
    for (int i = 0; i < in_row; ++i)
        CHECK_MPI(MPI_Put(&values[i], 1, MPI_UINT64_T, right(), row * in_row + i, 1, MPI_UINT64_T, window));
}

/// Puts all slots at the right neighbour, row by row.
void put_rows(const Window& window, int version, Complete complete) {
    std::vector<std::uint64_t> values(slots);
    for (std::size_t i = 0; i < slots; ++i)
        values[i] = pattern(rank(), i, version);
    for (int row = 0; row < rows; ++row) {
        put_row(window, row, &values[static_cast<std::size_t>(row * in_row)]);
        complete(window);
    }
    CHECK_MPI(MPI_Win_flush_all(window));
}

void get_row(const Window& window, int row, std::uint64_t* values) {
    for (int i = 0; i < in_row; ++i)
        CHECK_MPI(MPI_Get(&values[i], 1, MPI_UINT64_T, right(), row * in_row + i, 1, MPI_UINT64_T, window));
}

/// Gets all slots of the right neighbour, and checks that `writer` made them.
void check_rows(const Window& window, int writer, int version, Complete complete) {
    for (int row = 0; row < rows; ++row) {
        std::array<std::uint64_t, in_row> values{};
        get_row(window, row, values.data());
        complete(window);
        for (int i = 0; i < in_row; ++i) {
            const int slot = row * in_row + i;
            CHECK_EQ(values[static_cast<std::size_t>(i)],
                     pattern(writer, static_cast<std::size_t>(slot), version));
        }
    }
}

void store_own(const Window& window, int version) {
    barrier();
    for (std::size_t i = 0; i < slots; ++i)
        window.as<std::uint64_t>()[i] = pattern(rank(), i, version);
    publish(window);
}

/// A row of puts, or of gets, before each flush.
void rows_and_flushes(Kind kind) {
    part("rows and flushes");
    const Window window(8 * slots, 8, kind);
    const LockAll lock(window);
    int version = 0;
    for (const Complete complete : {flush, flush_all, flush_local, flush_local_all}) {
        for (const int end = version + times(); version < end; ++version)
            put_rows(window, version, complete);
        publish(window);
        check_own(window, version - 1);
        barrier();
    }
    check_rows(window, rank(), version - 1, flush);
    for (const Complete complete : {flush, flush_all}) {
        for (int i = 0; i < 3; ++i) {
            store_own(window, ++version);
            for (int j = 0; j < times(); ++j)
                check_rows(window, right(), version, complete);
        }
    }
    barrier();
}

/// After a row of puts single puts and gets, and rows of gets: each sees what was put before.
void changing(Kind kind) {
    part("changing");
    const Window window(8 * slots, 8, kind);
    const LockAll lock(window);
    store_own(window, 0);
    for (int version = 1; version < 1 + times() / 4; ++version) {
        for (int i = 0; i < 4; ++i)
            put_rows(window, version, flush);
        check_rows(window, rank(), version, flush_all);
        put_all(window, version + 1);
        check_rows(window, rank(), version + 1, flush);
        for (int i = 0; i < slots; i += 7)
            CHECK_EQ(get(window, right(), i),
                     static_cast<std::int64_t>(pattern(rank(), static_cast<std::size_t>(i), version + 1)));
        put_rows(window, version + 2, flush_all);
        CHECK_EQ(get(window, right(), 5), static_cast<std::int64_t>(pattern(rank(), 5, version + 2)));
    }
    barrier();
}

/// Rows between fences, from both sides; then epochs are the program's to open.
void rows_and_fences(Kind kind) {
    part("rows and fences");
    // Where the library delivers at once, a row that is read ahead hits.
    const Info exact{{"nearfetch_read_ahead_bytes", "0"}};
    const Window window(8 * slots, 8, kind, exact);
    fence(window);
    std::vector<std::uint64_t> values(slots);
    for (int version = 0; version < 2 * times(); ++version) {
        for (std::size_t i = 0; i < slots; ++i)
            values[i] = pattern(rank(), i, version);
        const int row = version % rows;
        put_row(window, row, &values[static_cast<std::size_t>(row * in_row)]);
        fence(window);
        std::array<std::uint64_t, in_row> seen{};
        get_row(window, row, seen.data());
        fence(window);
        for (std::size_t i = 0; i < in_row; ++i) {
            const std::size_t slot = static_cast<std::size_t>(row * in_row) + i;
            CHECK_EQ(seen[i], pattern(rank(), slot, version));
            CHECK_EQ(window.as<std::uint64_t>()[slot], pattern(left(), slot, version));
        }
    }
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    const LockAll lock(window);
    const int last = 2 * times() - 1, row = last % rows;
    CHECK_EQ(get(window, right(), row * in_row),
             static_cast<std::int64_t>(pattern(rank(), static_cast<std::size_t>(row * in_row), last)));
    barrier();
}

/// Each row under a lock of its own, and with a flush.
void rows_and_locks(Kind kind) {
    part("rows and locks");
    const Window window(8 * slots, 8, kind);
    std::vector<std::uint64_t> values(slots);
    for (int version = 1; version < 1 + times() / 4; ++version) {
        for (std::size_t i = 0; i < slots; ++i)
            values[i] = pattern(rank(), i, version);
        for (int row = 0; row < rows; ++row) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
            put_row(window, row, &values[static_cast<std::size_t>(row * in_row)]);
            if (version % 2 == 0) flush(window);
            CHECK_MPI(MPI_Win_unlock(right(), window));
        }
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
        check_rows(window, rank(), version, flush);
        CHECK_MPI(MPI_Win_unlock(right(), window));
    }
    barrier();
}

/// Gets into memory that is gone when they are complete; the last one in a series of any length. Whoever
/// looks at a get's buffer after calls that nobody has seen ends here.
void buffers_that_go(Kind kind) {
    part("buffers that go");
    const Window window(8 * slots, 8, kind);
    {
        const LockAll lock(window);
        store_own(window, 1);
    }
    const int few = crowded() ? 8 : 1;
    for (int gets = 1; gets < 200; gets += few) {
        const LockAll lock(window);
        for (int i = 0; i < gets; ++i) {
            void* const page =
                mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(page != MAP_FAILED);
            CHECK_MPI(MPI_Get(page, 1, MPI_UINT64_T, right(), i, 1, MPI_UINT64_T, window));
            CHECK_MPI(MPI_Win_flush(right(), window));
            CHECK_EQ(*static_cast<std::uint64_t*>(page), pattern(right(), static_cast<std::size_t>(i), 1));
            munmap(page, 4096);
        }
    }
    barrier();
}

}  // namespace

void batches() {
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        buffers_that_go(kind);
        rows_and_flushes(kind);
        changing(kind);
        rows_and_fences(kind);
        rows_and_locks(kind);
    }
}

}  // namespace passthrough
