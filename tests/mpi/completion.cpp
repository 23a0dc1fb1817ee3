// SPDX-License-Identifier: Apache-2.0
// Bytes may be cached only when their transfer is really complete, and only the window's bytes: not those of
// a buffer that the program has used again meanwhile. The published CLaMPI gets both wrong.
#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 4096;

void get(const Window& window, int target, unsigned char* to, int offset, int count) {
    CHECK_MPI(MPI_Get(to, count, MPI_BYTE, target, offset, count, MPI_BYTE, window));
}

/// Flushes one target while gets of all others are under way; then asks the others for the same bytes again.
void one_of_many(const Window& window) {
    part("flush of one target while others are in flight");
    const int n = size();
    for (int round = 0; round < 8; ++round) {
        const int count = 64 << (round % 6), offset = round * 16;
        std::vector<unsigned char> first(static_cast<std::size_t>(n * count), 0xAA), second(first);
        for (int t = 0; t < n; ++t)
            get(window, t, &first[static_cast<std::size_t>(t * count)], offset, count);
        CHECK_MPI(round % 2 ? MPI_Win_flush_local(right(), window) : MPI_Win_flush(right(), window));
        CHECK_BYTES(&first[static_cast<std::size_t>(right() * count)], static_cast<std::uint64_t>(count),
                    right(), static_cast<std::uint64_t>(offset));
        for (int t = 0; t < n; ++t)
            get(window, t, &second[static_cast<std::size_t>(t * count)], offset, count);
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(&second[static_cast<std::size_t>(right() * count)], static_cast<std::uint64_t>(count),
                    right(), static_cast<std::uint64_t>(offset));
        CHECK_MPI(MPI_Win_flush_all(window));
        for (int t = 0; t < n; ++t) {
            CHECK_BYTES(&first[static_cast<std::size_t>(t * count)], static_cast<std::uint64_t>(count), t,
                        static_cast<std::uint64_t>(offset));
            CHECK_BYTES(&second[static_cast<std::size_t>(t * count)], static_cast<std::uint64_t>(count), t,
                        static_cast<std::uint64_t>(offset));
        }
    }
}

/// A flush_local gives the buffer back: what the program writes into it before the flush must not be cached.
void reused_after_flush_local(const Window& window, bool all) {
    part("buffer reused after flush_local");
    unsigned char buffer[256];
    for (int i = 0; i < 6; ++i) {
        std::memset(buffer, 0x55, sizeof buffer);
        get(window, right(), buffer, 1024, 256);
        CHECK_MPI(all ? MPI_Win_flush_local_all(window) : MPI_Win_flush_local(right(), window));
        CHECK_BYTES(buffer, 256, right(), 1024);
        std::memset(buffer, 0x66, sizeof buffer);
        get(window, right(), buffer, 2048 + i * 256, 256);  // the same buffer for other bytes
        CHECK_MPI(MPI_Win_flush_local(right(), window));
        std::memset(buffer, 0x67, sizeof buffer);
        CHECK_MPI(MPI_Win_flush(right(), window));
        unsigned char again[256] = {}, other[256] = {};
        get(window, right(), again, 1024, 256);
        get(window, right(), other, 2048 + i * 256, 256);
        CHECK_MPI(MPI_Win_flush_all(window));
        CHECK_BYTES(again, 256, right(), 1024);
        CHECK_BYTES(other, 256, right(), static_cast<std::uint64_t>(2048 + i * 256));
    }
}

/// After each completing call the buffer is overwritten; the next get of the same bytes must bring the
/// window's.
void overwritten(const Window& window) {
    part("buffer overwritten between gets");
    unsigned char buffer[300];
    for (int i = 0; i < 8; ++i) {
        get(window, right(), buffer, 300, 300);
        switch (i % 4) {
            case 0:
                CHECK_MPI(MPI_Win_flush(right(), window));
                break;
            case 1:
                CHECK_MPI(MPI_Win_flush_all(window));
                break;
            case 2:
                CHECK_MPI(MPI_Win_flush_local(right(), window));
                break;
            default: {
                MPI_Request request;
                CHECK_MPI(MPI_Win_flush(right(), window));
                CHECK_MPI(MPI_Rget(buffer, 300, MPI_BYTE, right(), 300, 300, MPI_BYTE, window, &request));
                CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            }
        }
        CHECK_BYTES(buffer, 300, right(), 300);
        std::memset(buffer, i, sizeof buffer);
    }
}

/// The same around lock and unlock, where nothing but the unlock completes the get.
void reused_after_unlock(const Window& window) {
    part("buffer reused after unlock");
    std::vector<unsigned char> buffer(512);
    for (int i = 0; i < 6; ++i) {
        const int target = i % size();
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
        get(window, target, buffer.data(), 512, 512);
        CHECK_MPI(MPI_Win_unlock(target, window));
        CHECK_BYTES(buffer.data(), 512, target, 512);
        buffer.assign(512, static_cast<unsigned char>(i));
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
        std::vector<unsigned char> again(512);
        get(window, target, again.data(), 512, 512);
        CHECK_MPI(MPI_Win_unlock(target, window));
        CHECK_BYTES(again.data(), 512, target, 512);
    }
}

/// Many pending gets of the same and of overlapping bytes, into different buffers, completed together.
void pending(const Window& window) {
    part("gets of bytes in flight");
    std::vector<std::vector<unsigned char>> buffers;
    std::vector<int> offsets;
    Random random(static_cast<std::uint64_t>(rank()) + 5);
    for (int i = 0; i < 100; ++i) {
        offsets.push_back(static_cast<int>(random.below(512)));
        buffers.emplace_back(1 + random.below(512), static_cast<unsigned char>(0xDD));
        get(window, right(), buffers.back().data(), offsets.back(), static_cast<int>(buffers.back().size()));
    }
    CHECK_MPI(MPI_Win_flush(right(), window));
    for (std::size_t i = 0; i < buffers.size(); ++i)
        CHECK_BYTES(buffers[i].data(), buffers[i].size(), right(), static_cast<std::uint64_t>(offsets[i]));
}

/// A put and a get of different bytes in one epoch, then both read back.
void put_and_get_in_flight(const Window& window) {
    part("put beside gets in flight");
    unsigned char data[128], seen[128] = {}, back[256] = {};
    for (int round = 0; round < 4; ++round) {
        fill(data, 128, rank(), 700 + round);
        get(window, right(), seen, 3584, 128);
        CHECK_MPI(MPI_Put(data, 128, MPI_BYTE, right(), 3712, 128, MPI_BYTE, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(seen, 128, right(), 3584);
        get(window, right(), back, 3584, 256);
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(back, 128, right(), 3584);
        CHECK_BYTES(back + 128, 128, rank(), 0, 700 + round);
    }
}

/// The standard forbids gets that are under way into the same buffer; but warm-ups and bandwidth tests do
/// that, and nobody looks at the buffer. What is read rightly later has to be right.
void one_buffer_for_many(const Window& window) {
    part("one buffer for many gets that are under way");
    unsigned char scratch[128], seen[128];
    for (const bool all : {false, true}) {
        for (int i = 0; i < 16; ++i)
            get(window, all ? i % size() : right(), scratch, i * 256, 128);
        CHECK_MPI(all ? MPI_Win_flush_all(window) : MPI_Win_flush(right(), window));
        for (int i = 0; i < 16; ++i) {
            const int target = all ? i % size() : right();
            get(window, target, seen, i * 256, 128);
            CHECK_MPI(MPI_Win_flush(target, window));
            CHECK_BYTES(seen, 128, target, static_cast<std::uint64_t>(i * 256));
        }
    }
}

/// What was started before the window's mode becomes another is complete after the same calls.
void mode_changed(const char* to) {
    part("the mode changes between a get and its flush");
    const auto flush = [](int target, MPI_Win window) { return MPI_Win_flush(target, window); };
    const auto flush_all = [](int, MPI_Win window) { return MPI_Win_flush_all(window); };
    for (int (*const complete)(int, MPI_Win) : {+flush, +flush_all, &flush_local}) {
        const Window window(bytes);
        const LockAll epoch(window);
        store_all(window, 0);
        unsigned char first[64] = {}, second[64] = {}, other[64] = {};
        get(window, right(), first, 512, 64);
        get(window, right(), second, 512, 64);  // waits for the first
        get(window, rank(), other, 128, 64);
        const Info info{{"nearfetch_mode", to}};
        CHECK_MPI(MPI_Win_set_info(window, info));
        CHECK_MPI(complete(right(), window));
        CHECK_BYTES(first, 64, right(), 512);
        CHECK_BYTES(second, 64, right(), 512);
        get(window, right(), first, 640, 64);
        CHECK_MPI(MPI_Win_flush_all(window));
        CHECK_BYTES(first, 64, right(), 640);
        CHECK_BYTES(other, 64, rank(), 128);
        barrier();
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(bytes, 1, kind);
        {
            const LockAll epoch(window);
            store_all(window, 0);
            one_of_many(window);
            one_buffer_for_many(window);
            reused_after_flush_local(window, false);
            reused_after_flush_local(window, true);
            overwritten(window);
            pending(window);
            barrier();
        }
        reused_after_unlock(window);
        barrier();
        {
            const LockAll epoch(window);
            put_and_get_in_flight(window);
            barrier();
        }
    }
    for (const char* const mode : {"off", "transparent", "acquire", "user-defined"})
        mode_changed(mode);
    return program.finish();
}
