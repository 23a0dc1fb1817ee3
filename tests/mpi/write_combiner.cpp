// SPDX-License-Identifier: Apache-2.0
// Small puts that nearfetch may combine: whatever completes them, they are at the target then, with the bytes
// that their buffers had when they were put. Each rank writes to the window of its right neighbour, which
// looks at it by loads. In the last part they are counted.
#include <algorithm>
#include <functional>

#include "check.hpp"

using namespace check;

namespace {

constexpr int count = 400;
constexpr int bytes_each = 8;
constexpr MPI_Aint window_bytes = 8192;

int left() { return (rank() + size() - 1) % size(); }

/// Many neighbours in no order, each from a buffer that is used again after a flush_local if one may be made.
void put_elements(MPI_Win win, int version, bool passive, int target = right()) {
    std::uint64_t element = 0;
    std::vector<std::uint64_t> elements(count);
    for (int i = 0; i < count; ++i) {
        const int index = (i * 149) % count;
        std::uint64_t& from = passive ? element : elements[static_cast<std::size_t>(i)];
        from = pattern(rank(), static_cast<std::uint64_t>(index), version);
        CHECK_MPI(
            MPI_Put(&from, bytes_each, MPI_BYTE, target, index * bytes_each, bytes_each, MPI_BYTE, win));
        if (passive) CHECK_MPI(MPI_Win_flush_local(target, win));
    }
    // In an active epoch the buffers have to live until its end; these do not.
    if (!passive) {
        static std::vector<std::vector<std::uint64_t>> kept;
        kept.push_back(std::move(elements));
    }
}
void expect_elements(const Window& window, int version, int from = left()) {
    for (int i = 0; i < count; ++i)
        CHECK_EQ(window.as<std::uint64_t>()[i], pattern(from, static_cast<std::uint64_t>(i), version));
}

/// `complete` ends the puts; then all look.
void passive(const char* name, const Window& window, int version,
             const std::function<void(MPI_Win)>& complete) {
    part(name);
    CHECK_MPI(MPI_Win_lock_all(0, window));
    put_elements(window, version, true);
    complete(window);
    barrier();
    MPI_Win_sync(window);
    expect_elements(window, version);
    barrier();
    CHECK_MPI(MPI_Win_unlock_all(window));
}

void completions(const Window& window) {
    int version = 0;
    passive("flush", window, ++version, [](MPI_Win win) { CHECK_MPI(MPI_Win_flush(right(), win)); });
    passive("flush_all", window, ++version, [](MPI_Win win) { CHECK_MPI(MPI_Win_flush_all(win)); });
    passive("unlock_all", window, ++version, [](MPI_Win win) {
        CHECK_MPI(MPI_Win_unlock_all(win));
        CHECK_MPI(MPI_Win_lock_all(0, win));
    });
    for (const int type : {MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE}) {
        part("unlock");
        CHECK_MPI(MPI_Win_lock(type, right(), 0, window));
        put_elements(window, ++version, true);
        CHECK_MPI(MPI_Win_unlock(right(), window));
        barrier();
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, window));
        expect_elements(window, version);
        CHECK_MPI(MPI_Win_unlock(rank(), window));
        barrier();
    }
    part("fence");
    CHECK_MPI(MPI_Win_fence(0, window));
    put_elements(window, ++version, false);
    CHECK_MPI(MPI_Win_fence(0, window));
    expect_elements(window, version);
    barrier();
    put_elements(window, ++version, false);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    expect_elements(window, version);
    barrier();
    if (size() == 1) return;
    part("complete");
    MPI_Group all, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const int there = right(), here = left();
    MPI_Group_incl(all, 1, &there, &to);
    MPI_Group_incl(all, 1, &here, &from);
    CHECK_MPI(MPI_Win_post(from, 0, window));
    CHECK_MPI(MPI_Win_start(to, 0, window));
    put_elements(window, ++version, false);
    CHECK_MPI(MPI_Win_complete(window));
    CHECK_MPI(MPI_Win_wait(window));
    expect_elements(window, version);
    for (MPI_Group* group : {&all, &to, &from})
        MPI_Group_free(group);
    barrier();
}

/// A wait says that the buffer may be used again, a flush that the put has arrived.
void requests(const Window& window) {
    part("Rput");
    const LockAll epoch(window);
    std::uint64_t element = 0;
    for (int i = 0; i < count; ++i) {
        element = pattern(rank(), static_cast<std::uint64_t>(i), 50);
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK_MPI(
            MPI_Rput(&element, 1, MPI_UINT64_T, right(), i * bytes_each, 1, MPI_UINT64_T, window, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
    }
    CHECK_MPI(MPI_Win_flush(right(), window));
    barrier();
    MPI_Win_sync(window);
    expect_elements(window, 50);
    barrier();
}

/// Elements of a strided datatype, every other one here and in reverse distance there.
void datatypes(const Window& window) {
    part("datatypes");
    const LockAll epoch(window);
    MPI_Datatype spread, pairs;
    MPI_Type_vector(4, 1, 2, MPI_UINT64_T, &spread);
    MPI_Type_vector(2, 2, 3, MPI_UINT64_T, &pairs);
    MPI_Type_commit(&spread);
    MPI_Type_commit(&pairs);
    for (int i = 0; i < 40; ++i) {
        std::uint64_t from[8];
        for (int k = 0; k < 8; ++k)
            from[k] = pattern(rank(), static_cast<std::uint64_t>(8 * i + k), 60);
        CHECK_MPI(MPI_Put(from, 1, spread, right(), 8 * 8 * i, 1, pairs, window));
        CHECK_MPI(MPI_Win_flush_local(right(), window));
    }
    CHECK_MPI(MPI_Win_flush(right(), window));
    barrier();
    MPI_Win_sync(window);
    for (int i = 0; i < 40; ++i)
        for (int k = 0; k < 4; ++k)
            CHECK_EQ(window.as<std::uint64_t>()[8 * i + k + k / 2],
                     pattern(left(), static_cast<std::uint64_t>(8 * i + 2 * k), 60));
    barrier();
    MPI_Type_free(&spread);
    MPI_Type_free(&pairs);
}

/// An atomic that follows a flush of the same target finds the puts; so does one in the other's window.
void atomics(const Window& window) {
    part("a flag behind puts");
    const LockAll epoch(window);
    constexpr int flag = count * bytes_each;
    window.as<std::uint64_t>()[count] = 0;
    barrier();
    put_elements(window, 70, true);
    CHECK_MPI(MPI_Win_flush(right(), window));
    const std::uint64_t one = 1;
    std::uint64_t seen = 0;
    CHECK_MPI(MPI_Fetch_and_op(&one, &seen, MPI_UINT64_T, right(), flag, MPI_SUM, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    do {
        CHECK_MPI(MPI_Fetch_and_op(nullptr, &seen, MPI_UINT64_T, rank(), flag, MPI_NO_OP, window));
        CHECK_MPI(MPI_Win_flush(rank(), window));
    } while (seen == 0);
    MPI_Win_sync(window);
    expect_elements(window, 70);
    barrier();
}

/// More than there is room for, to all targets in turn.
void many() {
    part("more than there is room for");
    const int elements = crowded() ? 1200 : 4000;
    const Info info{{"nearfetch_combining_buffer_bytes", "8KiB"}};
    const Window window(MPI_Aint{elements} * 8 * size(), 8, Kind::allocate, info);
    const LockAll epoch(window);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < elements; ++i)
            for (int target = 0; target < size(); ++target) {
                if (target == rank()) continue;
                const int index = (i * 7919) % elements;
                const std::uint64_t value = pattern(rank(), static_cast<std::uint64_t>(index), round);
                CHECK_MPI(MPI_Put(&value, 1, MPI_UINT64_T, target, MPI_Aint{elements} * rank() + index, 1,
                                  MPI_UINT64_T, window));
                CHECK_MPI(MPI_Win_flush_local(target, window));
                if (i % 1000 == 999) CHECK_MPI(MPI_Win_flush_all(window));
            }
        CHECK_MPI(MPI_Win_flush_all(window));
        barrier();
        MPI_Win_sync(window);
        for (int origin = 0; origin < size(); ++origin)
            for (int i = 0; i < elements && origin != rank(); ++i)
                CHECK_EQ(window.as<std::uint64_t>()[elements * origin + i],
                         pattern(origin, static_cast<std::uint64_t>(i), round));
        barrier();
    }
}

/// What is combined leaves when a window stops combining.
void switched_off() {
    part("switched off between a put and its flush");
    const Window window(window_bytes);
    const LockAll epoch(window);
    put_elements(window, 80, true);
    const Info off{{"nearfetch_mode", "off"}};
    CHECK_MPI(MPI_Win_set_info(window, off));
    CHECK_MPI(MPI_Win_flush(right(), window));
    barrier();
    MPI_Win_sync(window);
    expect_elements(window, 80);
    barrier();
}

/// A flush of puts through one window is an acquire for gets through another over the same memory.
void two_windows() {
    part("two windows over the same memory");
    if (!can_create()) return;
    std::vector<std::uint64_t> memory(count);
    MPI_Win first, second;
    CHECK_MPI(MPI_Win_create(memory.data(), count * 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &first));
    CHECK_MPI(MPI_Win_lock_all(0, first));
    put_elements(first, 90, true);
    CHECK_MPI(MPI_Win_create(memory.data(), count * 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second));
    CHECK_MPI(MPI_Win_lock_all(0, second));
    std::uint64_t seen = 0;
    CHECK_MPI(MPI_Get(&seen, 8, MPI_BYTE, right(), 8 * 17, 8, MPI_BYTE, second));
    CHECK_MPI(MPI_Win_flush(right(), second));
    CHECK_MPI(MPI_Win_flush(right(), first));
    forget(second);
    CHECK_MPI(MPI_Get(&seen, 8, MPI_BYTE, right(), 8 * 18, 8, MPI_BYTE, second));
    CHECK_MPI(MPI_Get(&seen, 8, MPI_BYTE, right(), 8 * 17, 8, MPI_BYTE, second));
    CHECK_MPI(MPI_Win_flush(right(), second));
    CHECK_EQ(seen, pattern(rank(), 17, 90));
    barrier();
    for (MPI_Win* win : {&second, &first}) {
        CHECK_MPI(MPI_Win_unlock_all(*win));
        CHECK_MPI(MPI_Win_free(win));
    }
}

/// What the library refuses comes back at once, from the put itself, whatever has been combined before it.
void errors(const Window& window) {
    part("errors");
    CHECK_MPI(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    {
        const LockAll epoch(window);
        std::uint64_t element = 1;
        CHECK_MPI(MPI_Put(&element, 1, MPI_UINT64_T, right(), 0, 1, MPI_UINT64_T, window));
        int error_class = MPI_SUCCESS;
        MPI_Error_class(MPI_Put(&element, 1, MPI_UINT64_T, size(), 0, 1, MPI_UINT64_T, window), &error_class);
        CHECK_EQ(error_class, MPI_ERR_RANK);
        MPI_Error_class(MPI_Put(&element, -1, MPI_UINT64_T, right(), 0, 1, MPI_UINT64_T, window),
                        &error_class);
        CHECK_EQ(error_class, MPI_ERR_COUNT);
        CHECK_MPI(MPI_Put(&element, 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, window));
        CHECK_MPI(MPI_Put(&element, 0, MPI_UINT64_T, right(), 0, 0, MPI_UINT64_T, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
    }
    CHECK_MPI(MPI_Win_set_errhandler(window, MPI_ERRORS_ARE_FATAL));
    barrier();
}

/// Where targets are cached whatever they cost, the puts of the first part are one message or two.
void counted() {
    const std::string name = mode();
    const bool combines = counts_hits() && name != "off" && name != "transparent";
    if (size() == 1 || !counts_hits()) return;
    part("counted");
    const Window window(window_bytes);
    const LockAll epoch(window);
    CHECK_EQ(counter(window, "puts"), 0u);  // who asks has every call counted from then on
    put_elements(window, 1, true);
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_EQ(counter(window, "puts"), name == "off" ? 0u : static_cast<unsigned>(count));
    CHECK_EQ(counter(window, "puts_combined"), combines ? static_cast<unsigned>(count) : 0u);
    CHECK_EQ(counter(window, "put_messages"), combines ? 1u : 0u);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(window_bytes, 1, kind);
        completions(window);
        requests(window);
        datatypes(window);
        atomics(window);
        errors(window);
    }
    many();
    switched_off();
    two_windows();
    counted();
    return program.finish();
}
