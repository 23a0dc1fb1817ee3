// SPDX-License-Identifier: Apache-2.0
// A process sees its own writes: after a put, an accumulate or an atomic over bytes that it has read before,
// its next read (past the flush) shows them, whatever the mode. Each rank works on its own slice of the right
// neighbour.
#include <algorithm>
#include <type_traits>

#include "check.hpp"

using namespace check;

namespace {

constexpr int slice = 2048;

/// The neighbour's slice as it must be.
class Shadow {
  public:
    explicit Shadow(const Window& window) : window_(window), bytes_(slice) {
        get(0, slice);  // whatever is there
        std::copy(seen_.begin(), seen_.end(), bytes_.begin());
    }
    unsigned char* at(int offset) { return bytes_.data() + offset; }
    void get(int offset, int bytes) {
        seen_.assign(static_cast<std::size_t>(bytes), 0x77);
        CHECK_MPI(MPI_Get(seen_.data(), bytes, MPI_BYTE, right(), offset, bytes, MPI_BYTE, window_));
        CHECK_MPI(MPI_Win_flush(right(), window_));
    }
    /// Reads [offset, offset + bytes) again and compares.
    void expect(const char* file, int line, int offset, int bytes) {
        get(offset, bytes);
        for (int i = 0; i < bytes; ++i) {
            const auto seen = seen_[static_cast<std::size_t>(i)],
                       expected = bytes_[static_cast<std::size_t>(offset + i)];
            if (seen == expected) continue;
            report(file, line,
                   "offset " + std::to_string(offset + i) + " of [" + std::to_string(offset) + ", " +
                       std::to_string(offset + bytes) + "): expected " + show(expected) + ", seen " +
                       show(seen));
            return;
        }
    }

  private:
    const Window& window_;
    std::vector<unsigned char> bytes_, seen_;
};
#define EXPECT(shadow, offset, bytes) (shadow).expect(__FILE__, __LINE__, offset, bytes)

void put(const Window& window, Shadow& shadow, int offset, int bytes, int version) {
    std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
    fill(data.data(), data.size(), rank(), version);
    std::copy(data.begin(), data.end(), shadow.at(offset));
    CHECK_MPI(MPI_Put(data.data(), bytes, MPI_BYTE, right(), offset, bytes, MPI_BYTE, window));
    CHECK_MPI(MPI_Win_flush_local(right(), window));
    std::fill(data.begin(), data.end(), static_cast<unsigned char>(0));  // the buffer is the program's again
    CHECK_MPI(MPI_Win_flush(right(), window));
}

void puts(const Window& window) {
    part("puts");
    Shadow shadow(window);
    const struct {
        int offset, bytes;
    } writes[] = {{100, 100}, {100, 100}, {50, 100}, {150, 100}, {120, 10},
                  {0, 400},   {255, 1},   {199, 2},  {0, 2048},  {1000, 24}};
    int version = 1;
    for (const auto& [offset, bytes] : writes) {
        // Bytes in one entry, in neighbours, and some not cached at all.
        EXPECT(shadow, 100, 100);
        EXPECT(shadow, 200, 56);
        EXPECT(shadow, 900, 200);
        put(window, shadow, offset, bytes, version++);
        EXPECT(shadow, 100, 100);
        EXPECT(shadow, 120, 30);
        EXPECT(shadow, 200, 56);
        EXPECT(shadow, 900, 200);
        EXPECT(shadow, 0, 2048);
    }
}

/// Put over bytes whose get is still under way in another window range; and a get that follows a put after
/// the flush.
void many_puts(const Window& window) {
    part("many puts before one flush");
    Shadow shadow(window);
    std::vector<unsigned char> data(64 * 32);
    fill(data.data(), data.size(), rank(), 200);
    for (int i = 0; i < 32; ++i) {
        CHECK_MPI(MPI_Put(&data[static_cast<std::size_t>(i) * 64], 32, MPI_BYTE, right(), i * 64, 32,
                          MPI_BYTE, window));
        std::copy_n(&data[static_cast<std::size_t>(i) * 64], 32, shadow.at(i * 64));
    }
    CHECK_MPI(MPI_Win_flush_all(window));
    for (int i = 0; i < 32; ++i)
        EXPECT(shadow, i * 64, 64);
    EXPECT(shadow, 0, slice);
}

void strided_puts(const Window& window) {
    part("strided puts");
    Shadow shadow(window);
    MPI_Datatype strided, indexed;
    MPI_Type_vector(16, 3, 8, MPI_BYTE, &strided);
    const int lengths[] = {5, 1, 9}, places[] = {40, 0, 500};
    MPI_Type_indexed(3, lengths, places, MPI_BYTE, &indexed);
    MPI_Type_commit(&strided);
    MPI_Type_commit(&indexed);
    std::vector<unsigned char> data(256);
    for (int round = 0; round < 3; ++round) {
        EXPECT(shadow, 300, 200);
        EXPECT(shadow, 500, 600);
        fill(data.data(), data.size(), rank(), 300 + round);
        CHECK_MPI(MPI_Put(data.data(), 48, MPI_BYTE, right(), 400 + round, 1, strided, window));
        for (int i = 0; i < 48; ++i)
            *shadow.at(400 + round + i / 3 * 8 + i % 3) = data[static_cast<std::size_t>(i)];
        CHECK_MPI(MPI_Win_flush(right(), window));
        EXPECT(shadow, 300, 200);
        EXPECT(shadow, 500, 600);
        CHECK_MPI(MPI_Put(data.data() + 100, 15, MPI_BYTE, right(), 450, 1, indexed, window));
        for (int i = 0; i < 5; ++i)
            *shadow.at(490 + i) = data[static_cast<std::size_t>(100 + i)];
        *shadow.at(450) = data[105];
        for (int i = 0; i < 9; ++i)
            *shadow.at(950 + i) = data[static_cast<std::size_t>(106 + i)];
        CHECK_MPI(MPI_Win_flush(right(), window));
        EXPECT(shadow, 300, 200);
        EXPECT(shadow, 500, 600);
        EXPECT(shadow, 0, slice);
    }
    MPI_Type_free(&strided);
    MPI_Type_free(&indexed);
}

template <class T>
T apply(MPI_Op op, T target, T operand) {
    if (op == MPI_SUM) return static_cast<T>(target + operand);
    if (op == MPI_PROD) return static_cast<T>(target * operand);
    if (op == MPI_MIN) return std::min(target, operand);
    if (op == MPI_MAX) return std::max(target, operand);
    if (op == MPI_REPLACE) return operand;
    if constexpr (std::is_integral_v<T>) {
        if (op == MPI_BAND) return static_cast<T>(target & operand);
        if (op == MPI_BOR) return static_cast<T>(target | operand);
        if (op == MPI_BXOR) return static_cast<T>(target ^ operand);
    }
    return target;  // MPI_NO_OP
}

template <class T>
void accumulates(const Window& window, MPI_Datatype type, std::vector<MPI_Op> ops) {
    part("accumulates");
    constexpr int count = 10, place = 512;
    const int bytes = static_cast<int>(count * sizeof(T));
    Shadow shadow(window);
    T start[count];
    for (int i = 0; i < count; ++i)
        start[i] = static_cast<T>(i + 3);
    std::memcpy(shadow.at(place), start, sizeof start);
    CHECK_MPI(MPI_Put(start, count, type, right(), place, count, type, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    EXPECT(shadow, place - 8, bytes + 16);
    for (const MPI_Op op : ops) {
        T operand[count], old[count] = {}, now[count];
        for (int i = 0; i < count; ++i)
            operand[i] = static_cast<T>(i % 4 + 1);
        std::memcpy(now, shadow.at(place), sizeof now);
        CHECK_MPI(MPI_Accumulate(operand, count, type, right(), place, count, type, op, window));
        for (int i = 0; i < count; ++i)
            now[i] = apply(op, now[i], operand[i]);
        std::memcpy(shadow.at(place), now, sizeof now);
        CHECK_MPI(MPI_Win_flush(right(), window));
        EXPECT(shadow, place - 8, bytes + 16);
        CHECK_MPI(MPI_Get_accumulate(operand, count, type, old, count, type, right(), place, count, type, op,
                                     window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        for (int i = 0; i < count; ++i) {
            CHECK_EQ(old[i], now[i]);
            now[i] = apply(op, now[i], operand[i]);
        }
        std::memcpy(shadow.at(place), now, sizeof now);
        EXPECT(shadow, place, bytes);
        // One element by itself; what comes back is what was there before.
        T one = static_cast<T>(2), before = static_cast<T>(0);
        CHECK_MPI(MPI_Fetch_and_op(&one, &before, type, right(), place + static_cast<int>(3 * sizeof(T)), op,
                                   window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_EQ(before, now[3]);
        now[3] = apply(op, now[3], one);
        std::memcpy(shadow.at(place), now, sizeof now);
        EXPECT(shadow, place, bytes);
    }
}

void swaps(const Window& window) {
    part("compare and swap");
    Shadow shadow(window);
    std::int64_t value = 41, compare = 41, next = 99, old = 0;
    std::memcpy(shadow.at(1024), &value, 8);
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, right(), 1024, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    EXPECT(shadow, 1000, 64);
    CHECK_MPI(MPI_Compare_and_swap(&next, &compare, &old, MPI_INT64_T, right(), 1024, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_EQ(old, 41);
    std::memcpy(shadow.at(1024), &next, 8);
    EXPECT(shadow, 1000, 64);
    next = 7;
    CHECK_MPI(
        MPI_Compare_and_swap(&next, &compare, &old, MPI_INT64_T, right(), 1024, window));  // does not match
    CHECK_MPI(MPI_Win_flush(right(), window));
    CHECK_EQ(old, 99);
    EXPECT(shadow, 1000, 64);
}

/// A strided accumulate over an entry: dropped or updated, never stale.
void strided_accumulate(const Window& window) {
    part("strided accumulate");
    Shadow shadow(window);
    std::int64_t zeros[16] = {}, operand[8];
    std::memcpy(shadow.at(256), zeros, sizeof zeros);
    CHECK_MPI(MPI_Put(zeros, 16, MPI_INT64_T, right(), 256, 16, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    MPI_Datatype strided;
    MPI_Type_vector(8, 1, 2, MPI_INT64_T, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < 8; ++i)
        operand[i] = i + 1;
    for (int round = 1; round <= 3; ++round) {
        EXPECT(shadow, 250, 150);
        CHECK_MPI(MPI_Accumulate(operand, 8, MPI_INT64_T, right(), 256, 1, strided, MPI_SUM, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        for (int i = 0; i < 8; ++i) {
            const std::int64_t now = round * (i + 1);
            std::memcpy(shadow.at(256 + i * 16), &now, 8);
        }
        EXPECT(shadow, 250, 150);
    }
    MPI_Type_free(&strided);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(slice, 1, kind);
        const LockAll epoch(window);
        store_all(window, 0);
        puts(window);
        many_puts(window);
        strided_puts(window);
        const std::vector<MPI_Op> arithmetic = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_REPLACE};
        std::vector<MPI_Op> integer = arithmetic;
        integer.insert(integer.end(), {MPI_BAND, MPI_BOR, MPI_BXOR});
        accumulates<std::int32_t>(window, MPI_INT32_T, integer);
        accumulates<std::uint64_t>(window, MPI_UINT64_T, integer);
        accumulates<double>(window, MPI_DOUBLE, arithmetic);
        if (can_swap(kind)) swaps(window);
        strided_accumulate(window);
        barrier();
    }
    return program.finish();
}
