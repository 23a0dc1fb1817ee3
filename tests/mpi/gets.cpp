// SPDX-License-Identifier: Apache-2.0
// Gets of every size and alignment, many in flight, overlapping, re-read.
#include <algorithm>

#include "check.hpp"

using namespace check;

namespace {

constexpr std::uint64_t most = 65536;
constexpr unsigned char guard = 0xA5;

void get_bytes(const Window& window, int target, std::uint64_t offset, void* to, std::uint64_t bytes) {
    CHECK_MPI(MPI_Get(to, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset),
                      static_cast<int>(bytes), MPI_BYTE, window));
}

void sizes(const Window& window, int target, std::uint64_t step) {
    part("sizes");
    std::vector<unsigned char> buffer(most + 128);
    for (std::uint64_t bytes = 0; bytes <= most;
         bytes += (bytes < (step > 5000 ? 40u : 300u) || bytes + step > most) ? 1 : step) {
        const std::uint64_t offset = bytes % 67;
        unsigned char* to = buffer.data() + 32 + bytes % 7;
        std::fill(to - 8, to + bytes + 8, guard);
        get_bytes(window, target, offset, to, bytes);
        CHECK_MPI(MPI_Win_flush(target, window));
        CHECK_BYTES(to, bytes, target, offset);
        for (int i = 1; i <= 8; ++i)
            CHECK_EQ(to[-i], guard);
        for (std::uint64_t i = 0; i < 8; ++i)
            CHECK_EQ(to[bytes + i], guard);
        if (bytes + step > most && bytes < most - 40) bytes = most - 40;
    }
}

void in_flight(const Window& window) {
    part("in flight");
    constexpr std::uint64_t each = 97, number = 300;
    for (int round = 0; round < 3; ++round) {
        std::vector<unsigned char> buffer(each * number, guard);
        for (std::uint64_t i = 0; i < number; ++i)
            get_bytes(window, static_cast<int>(i) % size(), i * 113 + static_cast<std::uint64_t>(round),
                      &buffer[i * each], each);
        CHECK_MPI(MPI_Win_flush_all(window));
        for (std::uint64_t i = 0; i < number; ++i)
            CHECK_BYTES(&buffer[i * each], each, static_cast<int>(i) % size(),
                        i * 113 + static_cast<std::uint64_t>(round));
    }
}

void sub_ranges(const Window& window, int target) {
    part("sub-ranges and neighbours");
    std::vector<unsigned char> buffer(4096);
    const struct {
        std::uint64_t offset, bytes;
    } ranges[] = {{1000, 512}, {1000, 512}, {1000, 100},  {1100, 100},  {1411, 101}, {900, 100},
                  {900, 700},  {1512, 88},  {800, 900},   {0, 4096},    {1, 1},      {4095, 1},
                  {2048, 640}, {2688, 640}, {2048, 1280}, {2100, 1000}, {2047, 1282}};
    for (const bool flushed : {true, false}) {
        std::vector<std::vector<unsigned char>> seen;
        for (const auto& [offset, bytes] : ranges) {
            seen.emplace_back(bytes, guard);
            get_bytes(window, target, offset, seen.back().data(), bytes);
            if (flushed) CHECK_MPI(MPI_Win_flush(target, window));
            if (flushed) CHECK_BYTES(seen.back().data(), bytes, target, offset);
        }
        CHECK_MPI(MPI_Win_flush_local(target, window));
        for (std::size_t i = 0; i < seen.size(); ++i)
            CHECK_BYTES(seen[i].data(), ranges[i].bytes, target, ranges[i].offset);
    }
}

void random_ranges(const Window& window, std::uint64_t seed, int number) {
    part("random ranges");
    Random random(seed);
    struct Range {
        int target;
        std::uint64_t offset, bytes;
    };
    std::vector<Range> ranges;
    for (int i = 0; i < number; ++i) {
        const std::uint64_t bytes = 1 + random.below(std::uint64_t{1} << random.below(13));
        ranges.push_back({static_cast<int>(random.below(static_cast<std::uint64_t>(size()))),
                          random.below(most - bytes), bytes});
    }
    std::vector<unsigned char> buffer(8192);
    for (int pass = 0; pass < 4; ++pass)
        for (const Range& r : ranges) {
            std::fill(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(r.bytes), guard);
            get_bytes(window, r.target, r.offset, buffer.data(), r.bytes);
            if (pass % 2 == 0)
                CHECK_MPI(MPI_Win_flush(r.target, window));
            else
                CHECK_MPI(MPI_Win_flush_local(r.target, window));
            CHECK_BYTES(buffer.data(), r.bytes, r.target, r.offset);
        }
}

void nobody(const Window& window) {
    part("MPI_PROC_NULL and nothing");
    unsigned char byte = guard;
    CHECK_MPI(MPI_Get(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, window));
    CHECK_MPI(MPI_Get(nullptr, 0, MPI_BYTE, right(), 0, 0, MPI_BYTE, window));
    CHECK_MPI(MPI_Put(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, window));
    CHECK_MPI(MPI_Win_flush_all(window));
    CHECK_EQ(byte, guard);
}

/// A window whose data never changes: the second get of the same bytes costs the network nothing.
void counted(const std::string& window_mode) {
    part("counted");
    const Info info{{"nearfetch_mode", window_mode.c_str()}};
    const Window window(4096, 1, Kind::create, info);
    fill(window.bytes(), 4096, rank());
    const LockAll epoch(window);
    publish(window, window_mode);
    if (size() > 1) {
        unsigned char buffer[256];
        for (int i = 0; i < 10; ++i) {
            std::memset(buffer, guard, sizeof buffer);
            get_bytes(window, right(), 128, buffer, 256);
            CHECK_MPI(MPI_Win_flush(right(), window));
            CHECK_BYTES(buffer, 256, right(), 128);
        }
        get_bytes(window, right(), 200, buffer, 100);
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(buffer, 100, right(), 200);
        if (counts_hits()) {
            CHECK_EQ(counter(window, "gets"), 11u);
            CHECK_EQ(counter(window, "direct"), 1u);
            CHECK_EQ(counter(window, "hits"), 10u);
            CHECK_EQ(counter(window, "bytes_from_network"), 256u);
            CHECK_EQ(counter(window, "bytes_from_cache"), 9u * 256 + 100);
            CHECK_EQ(counter(window, "bytes_requested"), 10u * 256 + 100);
            CHECK(counter(window, "flushes_elided") >= 10u);
        }
        // Half resident: only what is missing comes over the network.
        get_bytes(window, right(), 256, buffer, 256);
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(buffer, 256, right(), 256);
        if (counts_hits()) {
            CHECK_EQ(counter(window, "partial_hits"), 1u);
            CHECK_EQ(counter(window, "bytes_from_network"), 256u + 128);
        }
    }
    barrier();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(most + 128, 1, kind);
        const LockAll epoch(window);
        store_all(window, 0);
        const bool slow = crowded() && kind == Kind::create;
        sizes(window, right(), slow ? 8191 : 509);
        sizes(window, rank(), 4099);
        in_flight(window);
        sub_ranges(window, right());
        sub_ranges(window, rank());
        for (std::uint64_t seed = 1; seed <= (slow ? 1 : 2); ++seed) {
            state().seed = seed;
            random_ranges(window, seed + static_cast<std::uint64_t>(rank()), slow ? 50 : 300);
        }
        nobody(window);
        barrier();
    }
    counted("always-cache");
    counted("user-defined");
    return program.finish();
}
