// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of the flattener share: datatypes that free themselves, and the flattener against MPI
// itself. MPI_Pack of a buffer in which every byte tells its place gives the bytes of a type in the order of
// its type map, and that has to be the order of the blocks.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/datatypes/datatype.hpp"

namespace nearfetch::testing {

constexpr std::int64_t buffer_bytes = 1 << 16;
constexpr std::int64_t middle = buffer_bytes / 2;
constexpr std::uint64_t many_blocks = 1 << 20;

/// A datatype that is freed with its scope.
class Type {
  public:
    template <class Constructor>
    static Type make(Constructor constructor) {
        Type type;
        EXPECT_EQ(constructor(&type.handle_), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_commit(&type.handle_), MPI_SUCCESS);
        return type;
    }
    Type(Type&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
    Type& operator=(Type&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Type() { free(); }
    void free() {
        if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
    }
    operator MPI_Datatype() const { return handle_; }  // NOLINT: stands for the handle

  private:
    Type() = default;
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

inline const std::vector<LayoutRun>& blocks_of(MPI_Datatype type) {
    const Layout& layout = layout_of(type, many_blocks);
    EXPECT_TRUE(layout.known);
    return layout.blocks;
}

using Blocks = std::vector<LayoutRun>;

/// True if `count` elements stay inside the buffer and are few enough to compare.
inline bool fits(MPI_Datatype type, int count) {
    MPI_Count lower = 0, true_extent = 0, lb = 0, extent = 0, size = 0;
    MPI_Type_get_true_extent_x(type, &lower, &true_extent);
    MPI_Type_get_extent_x(type, &lb, &extent);
    MPI_Type_size_x(type, &size);
    if (size == 0) return true;  // its bounds may mean nothing
    const MPI_Count reach = extent * std::max(count - 1, 0);
    return middle + lower + std::min<MPI_Count>(reach, 0) >= 0 && size * count <= 4096 &&
           middle + lower + true_extent + std::max<MPI_Count>(reach, 0) <= buffer_bytes;
}

/// The places of the bytes of `count` elements at the middle of the buffer, as MPI packs them.
inline std::vector<std::int64_t> packed_places(MPI_Datatype type, int count) {
    int size = 0;
    MPI_Type_size(type, &size);
    const std::size_t bytes = static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
    std::vector<std::int64_t> places(bytes, 0);
    std::vector<unsigned char> buffer(buffer_bytes), packed(bytes + 64);
    for (const int shift : {0, 8}) {
        for (std::size_t i = 0; i < buffer.size(); ++i)
            buffer[i] = static_cast<unsigned char>(i >> shift);
        int position = 0;
        EXPECT_EQ(MPI_Pack(buffer.data() + middle, count, type, packed.data(),
                           static_cast<int>(packed.size()), &position, MPI_COMM_SELF),
                  MPI_SUCCESS);
        EXPECT_EQ(static_cast<std::size_t>(position), bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            places[i] |= std::int64_t{packed[i]} << shift;
    }
    return places;
}

/// The same as nearfetch flattens them.
inline std::vector<std::int64_t> flattened_places(MPI_Datatype type, int count) {
    Blocks blocks;
    const Layout& layout = layout_of(type, many_blocks);
    EXPECT_TRUE(flatten(layout, middle, static_cast<std::uint64_t>(count), many_blocks, blocks));
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_GT(blocks[i].size, 0u);
        if (i > 0) {
            EXPECT_NE(blocks[i - 1].offset + static_cast<std::int64_t>(blocks[i - 1].size), blocks[i].offset)
                << "not merged";
        }
        for (std::uint64_t b = 0; b < blocks[i].size; ++b)
            places.push_back(blocks[i].offset + static_cast<std::int64_t>(b));
    }
    return places;
}

inline void expect_as_packed(MPI_Datatype type) {
    for (const int count : {0, 1, 3}) {
        if (!fits(type, count)) continue;
        EXPECT_EQ(flattened_places(type, count), packed_places(type, count)) << count << " elements";
    }
}

}  // namespace nearfetch::testing
