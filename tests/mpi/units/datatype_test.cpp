// SPDX-License-Identifier: Apache-2.0

// The flattener against MPI itself: MPI_Pack of a buffer in which every byte tells its place gives the bytes
// of a type in the order of its type map, and that has to be the order of the blocks.

#include "mpi/datatype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nearfetch {
namespace {

constexpr std::int64_t buffer_bytes = 1 << 16;
constexpr std::int64_t middle = buffer_bytes / 2;
#if defined(OPEN_MPI)
constexpr bool open_mpi = true;
#else
constexpr bool open_mpi = false;
#endif
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

const std::vector<Block>& blocks_of(MPI_Datatype type) {
    const Layout& layout = layout_of(type, many_blocks);
    EXPECT_TRUE(layout.known);
    return layout.blocks;
}

using Blocks = std::vector<Block>;

/// True if `count` elements stay inside the buffer and are few enough to compare.
bool fits(MPI_Datatype type, int count) {
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
std::vector<std::int64_t> packed_places(MPI_Datatype type, int count) {
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
std::vector<std::int64_t> flattened_places(MPI_Datatype type, int count) {
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

void expect_as_packed(MPI_Datatype type) {
    for (const int count : {0, 1, 3}) {
        if (!fits(type, count)) continue;
        EXPECT_EQ(flattened_places(type, count), packed_places(type, count)) << count << " elements";
    }
}

/// Whether MPI packs three elements as three times one element. Open MPI 4.1 does not for some structures
/// with empty parts.
bool packs_consistently(MPI_Datatype type) {
    MPI_Aint lower_bound = 0, extent = 0;
    MPI_Type_get_extent(type, &lower_bound, &extent);
    const std::vector<std::int64_t> one = packed_places(type, 1);
    std::vector<std::int64_t> three;
    for (int i = 0; i < 3; ++i)
        for (const std::int64_t place : one)
            three.push_back(place + i * extent);
    return packed_places(type, 3) == three;
}

TEST(Named, without_gaps_is_one_block) {
    for (const MPI_Datatype type :
         {MPI_BYTE, MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_INT64_T, MPI_C_DOUBLE_COMPLEX, MPI_AINT, MPI_FLOAT_INT,
          MPI_2INT, MPI_LONG_DOUBLE, MPI_PACKED}) {
        int size = 0;
        MPI_Type_size(type, &size);
        const Layout& layout = layout_of(type, 1);
        ASSERT_TRUE(layout.known);
        EXPECT_TRUE(layout.dense());
        EXPECT_EQ(layout.size, static_cast<std::uint64_t>(size));
        EXPECT_EQ(layout.extent, size);
    }
}

TEST(Named, pairs_with_gaps) {
    EXPECT_EQ(blocks_of(MPI_DOUBLE_INT), (Blocks{{0, 12}}));
    EXPECT_EQ(blocks_of(MPI_LONG_INT), (Blocks{{0, 12}}));
    EXPECT_EQ(blocks_of(MPI_SHORT_INT), (Blocks{{0, 2}, {4, 4}}));
    EXPECT_EQ(blocks_of(MPI_LONG_DOUBLE_INT), (Blocks{{0, 20}}));
    for (const MPI_Datatype type : {MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT}) {
        EXPECT_FALSE(layout_of(type, many_blocks).dense());
        expect_as_packed(type);
    }
}

TEST(Named, null_is_not_known) { EXPECT_FALSE(layout_of(MPI_DATATYPE_NULL, many_blocks).known); }

TEST(Constructor, contiguous) {
    const Type type = Type::make([](auto* out) { return MPI_Type_contiguous(5, MPI_INT, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{0, 20}}));
    EXPECT_TRUE(layout_of(type, 1).dense());
    const Type with_gaps = Type::make([](auto* out) { return MPI_Type_contiguous(2, MPI_SHORT_INT, out); });
    EXPECT_EQ(blocks_of(with_gaps), (Blocks{{0, 2}, {4, 6}, {12, 4}}));
    const Type none = Type::make([](auto* out) { return MPI_Type_contiguous(0, MPI_INT, out); });
    EXPECT_TRUE(blocks_of(none).empty());
    EXPECT_FALSE(layout_of(none, 1).dense());
}

TEST(Constructor, a_billion_elements_cost_one_block) {
    const Type type = Type::make([](auto* out) { return MPI_Type_contiguous(1 << 30, MPI_DOUBLE, out); });
    EXPECT_EQ(layout_of(type, 1).size, std::uint64_t{8} << 30);
    const Type vector = Type::make([](auto* out) { return MPI_Type_vector(1 << 28, 2, 2, MPI_DOUBLE, out); });
    EXPECT_TRUE(layout_of(vector, 1).dense());
}

TEST(Constructor, vector_with_negative_stride) {
    const Type type = Type::make([](auto* out) { return MPI_Type_vector(3, 2, -4, MPI_INT, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{0, 8}, {-16, 8}, {-32, 8}}));
    expect_as_packed(type);
}

TEST(Constructor, hvector) {
    const Type type = Type::make([](auto* out) { return MPI_Type_create_hvector(3, 1, 7, MPI_INT, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{0, 4}, {7, 4}, {14, 4}}));
    const Type overlapping =
        Type::make([](auto* out) { return MPI_Type_create_hvector(3, 1, 2, MPI_INT, out); });
    EXPECT_EQ(blocks_of(overlapping), (Blocks{{0, 4}, {2, 4}, {4, 4}}));
    expect_as_packed(overlapping);
}

TEST(Constructor, what_the_library_misreads_is_not_known) {
    // Open MPI 4.1 takes a stride of -1 byte for the type's extent.
    const Type type = Type::make([](auto* out) { return MPI_Type_create_hvector(3, 2, -1, MPI_INT, out); });
    MPI_Aint lower_bound = 0, extent = 0;
    MPI_Type_get_extent(type, &lower_bound, &extent);
    EXPECT_EQ(layout_of(type, many_blocks).known, lower_bound == -2 && extent == 10);
    if (layout_of(type, many_blocks).known) expect_as_packed(type);
}

TEST(Constructor, indexed_keeps_order_and_skips_empty_blocks) {
    const std::array lengths{1, 0, 2, 1}, places{5, 9, 0, 6};
    const Type type = Type::make(
        [&](auto* out) { return MPI_Type_indexed(4, lengths.data(), places.data(), MPI_SHORT, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{10, 2}, {0, 4}, {12, 2}}));
    const Type block = Type::make(
        [&](auto* out) { return MPI_Type_create_indexed_block(4, 2, places.data(), MPI_SHORT, out); });
    EXPECT_EQ(blocks_of(block), (Blocks{{10, 4}, {18, 4}, {0, 4}, {12, 4}}));
    expect_as_packed(type);
    expect_as_packed(block);
}

TEST(Constructor, hindexed_and_hindexed_block) {
    const std::array lengths{1, 2};
    const std::array<MPI_Aint, 2> places{-9, 3};
    const Type type = Type::make(
        [&](auto* out) { return MPI_Type_create_hindexed(2, lengths.data(), places.data(), MPI_INT, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{-9, 4}, {3, 8}}));
    const Type block = Type::make(
        [&](auto* out) { return MPI_Type_create_hindexed_block(2, 3, places.data(), MPI_CHAR, out); });
    EXPECT_EQ(blocks_of(block), (Blocks{{-9, 3}, {3, 3}}));
    expect_as_packed(type);
    expect_as_packed(block);
}

TEST(Constructor, structure) {
    const std::array lengths{1, 2, 0, 1};
    const std::array<MPI_Aint, 4> places{0, 8, 100, 32};
    const std::array types{MPI_INT, MPI_DOUBLE, MPI_DOUBLE, MPI_SHORT_INT};
    const Type type = Type::make([&](auto* out) {
        return MPI_Type_create_struct(4, lengths.data(), places.data(), types.data(), out);
    });
    EXPECT_EQ(blocks_of(type), (Blocks{{0, 4}, {8, 16}, {32, 2}, {36, 4}}));
    expect_as_packed(type);
}

TEST(Constructor, resized_keeps_the_bytes_and_takes_the_extent) {
    const Type type = Type::make([](auto* out) { return MPI_Type_create_resized(MPI_INT, -3, 11, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{0, 4}}));
    EXPECT_EQ(layout_of(type, 1).extent, 11);
    EXPECT_FALSE(layout_of(type, 1).dense());
    const Type twice = Type::make([&](auto* out) { return MPI_Type_contiguous(2, type, out); });
    EXPECT_EQ(blocks_of(twice), (Blocks{{0, 4}, {11, 4}}));
    expect_as_packed(twice);
    const Type backwards = Type::make([](auto* out) { return MPI_Type_create_resized(MPI_INT, 0, -4, out); });
    EXPECT_EQ(layout_of(backwards, 1).extent, -4);
    Blocks blocks;
    ASSERT_TRUE(flatten(layout_of(backwards, 1), 100, 3, 10, blocks));
    EXPECT_EQ(blocks, (Blocks{{100, 4}, {96, 4}, {92, 4}}));
}

TEST(Constructor, subarray_in_both_orders) {
    const std::array sizes{4, 6}, parts{2, 3}, starts{1, 2};
    const auto make = [&](int order) {
        return Type::make([&](auto* out) {
            return MPI_Type_create_subarray(2, sizes.data(), parts.data(), starts.data(), order, MPI_INT,
                                            out);
        });
    };
    const Type c = make(MPI_ORDER_C), fortran = make(MPI_ORDER_FORTRAN);
    EXPECT_EQ(blocks_of(c), (Blocks{{32, 12}, {56, 12}}));
    EXPECT_EQ(blocks_of(fortran), (Blocks{{36, 8}, {52, 8}, {68, 8}}));
    EXPECT_EQ(layout_of(c, 10).extent, 96);
    expect_as_packed(c);
    expect_as_packed(fortran);
}

TEST(Constructor, darray_of_every_rank) {
    const std::array sizes{7, 5, 3}, grid{2, 3, 1};
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        for (const int first : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC})
            for (const int second : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC})
                for (const int length : {int{MPI_DISTRIBUTE_DFLT_DARG}, 2, 4}) {
                    const std::array kinds{first, second, int{MPI_DISTRIBUTE_NONE}};
                    const std::array arguments{
                        first == MPI_DISTRIBUTE_BLOCK ? int{MPI_DISTRIBUTE_DFLT_DARG} : length,
                        second == MPI_DISTRIBUTE_BLOCK && length == 4 ? 3
                        : length == 4                                 ? 4
                                                                      : int{MPI_DISTRIBUTE_DFLT_DARG},
                        int{MPI_DISTRIBUTE_DFLT_DARG}};
                    std::uint64_t bytes = 0;
                    for (int rank = 0; rank < 6; ++rank) {
                        const Type type = Type::make([&](auto* out) {
                            return MPI_Type_create_darray(6, rank, 3, sizes.data(), kinds.data(),
                                                          arguments.data(), grid.data(), order, MPI_INT, out);
                        });
                        bytes += layout_of(type, many_blocks).size;
                        SCOPED_TRACE("rank " + std::to_string(rank) + " order " + std::to_string(order) +
                                     " kinds " + std::to_string(first) + ' ' + std::to_string(second) +
                                     " arguments " + std::to_string(arguments[0]) + ' ' +
                                     std::to_string(arguments[1]));
                        expect_as_packed(type);
                    }
                    EXPECT_EQ(bytes, 7u * 5 * 3 * sizeof(int)) << "the parts make up the array";
                }
}

TEST(Constructor, dup_has_a_life_of_its_own) {
    Type type = Type::make([](auto* out) { return MPI_Type_vector(2, 1, 3, MPI_INT, out); });
    EXPECT_EQ(blocks_of(type).size(), 2u);
    Type copy = Type::make([&](auto* out) { return MPI_Type_dup(type, out); });
    EXPECT_EQ(blocks_of(copy), blocks_of(type));
    type.free();
    EXPECT_EQ(blocks_of(copy), (Blocks{{0, 4}, {12, 4}}));
    const std::uint64_t before = datatype_generation();
    copy.free();
    EXPECT_NE(datatype_generation(), before);
}

TEST(Constructor, fortran_90_types) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_Type_create_f90_integer(9, &type) != MPI_SUCCESS || type == MPI_DATATYPE_NULL)
        GTEST_SKIP() << "this MPI was built without Fortran";
    EXPECT_TRUE(layout_of(type, 1).dense());
    const Type several = Type::make([&](auto* out) { return MPI_Type_vector(2, 1, 2, type, out); });
    EXPECT_EQ(blocks_of(several), (Blocks{{0, 4}, {8, 4}}));
    EXPECT_EQ(blocks_of(type), (Blocks{{0, 4}})) << "still alive";
}

#if !defined(OPEN_MPI) && MPI_VERSION >= 4
TEST(LargeCount, constructors) {
    const std::array<MPI_Count, 2> lengths{1, 2}, places{4, 0}, sizes{4, 6}, parts{2, 3}, starts{1, 2};
    const std::array types{MPI_INT, MPI_SHORT};
    const std::vector<Type> all = [&] {
        std::vector<Type> made;
        const auto add = [&](auto constructor) { made.push_back(Type::make(constructor)); };
        add([](auto* out) { return MPI_Type_contiguous_c(3, MPI_INT, out); });
        add([](auto* out) { return MPI_Type_vector_c(3, 2, 4, MPI_INT, out); });
        add([](auto* out) { return MPI_Type_create_hvector_c(3, 2, -9, MPI_INT, out); });
        add([&](auto* out) { return MPI_Type_indexed_c(2, lengths.data(), places.data(), MPI_INT, out); });
        add([&](auto* out) {
            return MPI_Type_create_hindexed_c(2, lengths.data(), places.data(), MPI_INT, out);
        });
        add([&](auto* out) { return MPI_Type_create_indexed_block_c(2, 2, places.data(), MPI_INT, out); });
        add([&](auto* out) { return MPI_Type_create_hindexed_block_c(2, 2, places.data(), MPI_CHAR, out); });
        add([&](auto* out) {
            return MPI_Type_create_struct_c(2, lengths.data(), places.data(), types.data(), out);
        });
        add([&](auto* out) { return MPI_Type_create_resized_c(MPI_INT, -8, 16, out); });
        for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
            add([&](auto* out) {
                return MPI_Type_create_subarray_c(2, sizes.data(), parts.data(), starts.data(), order,
                                                  MPI_INT, out);
            });
            add([&](auto* out) {
                const std::array kinds{int{MPI_DISTRIBUTE_CYCLIC}, int{MPI_DISTRIBUTE_BLOCK}}, grid{2, 2};
                const std::array arguments{1, int{MPI_DISTRIBUTE_DFLT_DARG}};
                return MPI_Type_create_darray_c(4, 1, 2, sizes.data(), kinds.data(), arguments.data(),
                                                grid.data(), order, MPI_INT, out);
            });
        }
        return made;
    }();
    for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_TRUE(layout_of(all[i], many_blocks).known);
        expect_as_packed(all[i]);
    }
}

TEST(LargeCount, more_than_an_int_holds) {
    const Type type =
        Type::make([](auto* out) { return MPI_Type_contiguous_c(MPI_Count{3} << 32, MPI_BYTE, out); });
    EXPECT_EQ(blocks_of(type), (Blocks{{0, std::uint64_t{3} << 32}}));
    EXPECT_TRUE(layout_of(type, 1).dense());
}
#endif

TEST(Limit, more_blocks_are_not_known_whoever_asked_first) {
    const Type type = Type::make([](auto* out) { return MPI_Type_vector(10, 1, 2, MPI_INT, out); });
    EXPECT_FALSE(layout_of(type, 1).known);
    EXPECT_FALSE(layout_of(type, 9).known);
    EXPECT_TRUE(layout_of(type, 10).known);
    EXPECT_FALSE(layout_of(type, 9).known);
    EXPECT_EQ(layout_of(type, 100).blocks.size(), 10u);
    Blocks blocks;
    EXPECT_TRUE(flatten(layout_of(type, 10), 0, 3, 28, blocks))
        << "the last block of each continues in the next";
    EXPECT_EQ(blocks.size(), 28u);
    EXPECT_FALSE(flatten(layout_of(type, 10), 0, 3, 27, blocks));
}

TEST(Limit, huge_types_are_given_up_at_the_limit) {
    const Type type = Type::make([](auto* out) { return MPI_Type_vector(1 << 29, 1, 2, MPI_CHAR, out); });
    EXPECT_FALSE(layout_of(type, 4096).known);
}

TEST(Flatten, addresses_that_overflow_are_refused) {
    Blocks blocks;
    const Layout& bytes = layout_of(MPI_BYTE, 1);
    EXPECT_TRUE(flatten(bytes, 1, std::uint64_t{INT64_MAX} - 1, 1, blocks));
    EXPECT_EQ(blocks, (Blocks{{1, std::uint64_t{INT64_MAX} - 1}}));
    EXPECT_FALSE(flatten(bytes, 2, std::uint64_t{INT64_MAX} - 1, 1, blocks));
    EXPECT_FALSE(flatten(layout_of(MPI_INT, 1), 0, UINT64_MAX, 1, blocks));
    EXPECT_FALSE(flatten(Layout{}, 0, 1, 1, blocks));
    EXPECT_TRUE(flatten(bytes, 0, 0, 1, blocks));
    EXPECT_TRUE(blocks.empty());
}

TEST(Life, a_freed_handle_is_forgotten) {
    for (int i = 1; i < 200; ++i) {
        const Type type = Type::make([&](auto* out) { return MPI_Type_vector(2, 1, i + 1, MPI_INT, out); });
        ASSERT_EQ(blocks_of(type), (Blocks{{0, 4}, {4 * (i + 1), 4}}));
        ASSERT_FALSE(layout_of(type, 1).known);
    }
}

TEST(Life, a_free_changes_the_generation) {
    Type type = Type::make([](auto* out) { return MPI_Type_vector(2, 1, 3, MPI_INT, out); });
    EXPECT_EQ(blocks_of(type).size(), 2u);
    const std::uint64_t before = datatype_generation();
    type.free();
    EXPECT_NE(datatype_generation(), before);
}

TEST(Life, generation_stands_still_while_nothing_is_freed) {
    const Type type = Type::make([](auto* out) { return MPI_Type_vector(2, 1, 2, MPI_INT, out); });
    const Type outer = Type::make([&](auto* out) { return MPI_Type_contiguous(2, type, out); });
    const std::uint64_t before = datatype_generation();
    const Layout* const first = &layout_of(outer, many_blocks);
    EXPECT_EQ(&layout_of(outer, many_blocks), first);
    EXPECT_EQ(blocks_of(type).size(), 2u);
    EXPECT_EQ(datatype_generation(), before) << "the parts of a type are looked at, not freed";
}

TEST(Life, an_inner_type_may_be_freed_before_the_outer_one) {
    Type inner = Type::make([](auto* out) { return MPI_Type_vector(2, 1, 3, MPI_SHORT, out); });
    const Type outer = Type::make([&](auto* out) { return MPI_Type_contiguous(2, inner, out); });
    EXPECT_EQ(blocks_of(inner).size(), 2u);
    inner.free();
    const Blocks expected{{0, 2}, {6, 4}, {14, 2}};
    EXPECT_EQ(blocks_of(outer), expected);
    expect_as_packed(outer);
}

/// Nested types at random; every constructor, negative and overlapping placements, empty parts.
class RandomTypes {
  public:
    explicit RandomTypes(std::uint64_t seed) : random_(seed) {}

    Type make(int depth) {
        const Type inner = depth > 1 ? make(depth - 1) : base();
        switch (below(12)) {
            case 0:
                return Type::make([&](auto* out) { return MPI_Type_contiguous(below(4), inner, out); });
            case 1:
                return Type::make([&](auto* out) {
                    return MPI_Type_vector(below(4), below(4), between(-4, 5), inner, out);
                });
            case 2:
                return Type::make([&](auto* out) {
                    return MPI_Type_create_hvector(below(4), below(3), between(-40, 60), inner, out);
                });
            case 3:
                return lists([&](int n, const int* l, const int* p, const MPI_Aint*, auto* out) {
                    return MPI_Type_indexed(n, l, p, inner, out);
                });
            case 4:
                return lists([&](int n, const int* l, const int*, const MPI_Aint* p, auto* out) {
                    return MPI_Type_create_hindexed(n, l, p, inner, out);
                });
            case 5:
                return lists([&](int n, const int* l, const int* p, const MPI_Aint*, auto* out) {
                    return MPI_Type_create_indexed_block(n, l[0], p, inner, out);
                });
            case 6:
                return lists([&](int n, const int* l, const int*, const MPI_Aint* p, auto* out) {
                    return MPI_Type_create_hindexed_block(n, l[0], p, inner, out);
                });
            case 7:
                return structure(inner);
            case 8:
                return Type::make([&](auto* out) {
                    return MPI_Type_create_resized(inner, between(-9, 9), between(0, 60), out);
                });
            case 9:
                return Type::make([&](auto* out) { return MPI_Type_dup(inner, out); });
            case 10:
                return subarray(inner);
            default:
                return darray(inner);
        }
    }
    int refused() const { return refused_; }
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  private:
    int between(int low, int high) { return low + below(high - low + 1); }
    int order() { return below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

    Type base() {
        const std::array types{MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_SHORT_INT, MPI_DOUBLE_INT};
        const MPI_Datatype type = types[static_cast<std::size_t>(below(6))];
        return Type::make([&](auto* out) { return MPI_Type_contiguous(1, type, out); });
    }
    template <class Constructor>
    Type lists(Constructor constructor) {
        std::array<int, 4> lengths{}, places{};
        std::array<MPI_Aint, 4> addresses{};
        for (std::size_t i = 0; i < 4; ++i)
            lengths[i] = below(3), places[i] = between(-6, 9), addresses[i] = between(-50, 90);
        return Type::make([&](auto* out) {
            return constructor(below(5), lengths.data(), places.data(), addresses.data(), out);
        });
    }
    Type structure(MPI_Datatype inner) {
        const Type other = base();
        const std::array types{inner, MPI_Datatype{other}, MPI_INT, inner};
        return lists([&](int n, const int* l, const int*, const MPI_Aint* p, auto* out) {
            return MPI_Type_create_struct(n, l, p, types.data(), out);
        });
    }
    Type subarray(MPI_Datatype inner) {
        std::array<int, 3> sizes{}, parts{}, starts{};
        for (std::size_t d = 0; d < 3; ++d) {
            sizes[d] = between(1, 4);
            parts[d] = between(1, sizes[d]);
            starts[d] = between(0, sizes[d] - parts[d]);
        }
        return Type::make([&](auto* out) {
            return MPI_Type_create_subarray(between(1, 3), sizes.data(), parts.data(), starts.data(), order(),
                                            inner, out);
        });
    }
    Type darray(MPI_Datatype inner) {
        const int n = between(1, 3);
        std::array<int, 3> sizes{}, kinds{}, arguments{}, grid{};
        int processes = 1;
        for (std::size_t d = 0; d < static_cast<std::size_t>(n); ++d) {
            sizes[d] = between(1, 6);
            grid[d] = between(1, 3);
            kinds[d] = std::array{int{MPI_DISTRIBUTE_BLOCK}, int{MPI_DISTRIBUTE_CYCLIC},
                                  int{MPI_DISTRIBUTE_NONE}}[static_cast<std::size_t>(below(3))];
            if (kinds[d] == MPI_DISTRIBUTE_NONE) grid[d] = 1;
            arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
            if (kinds[d] == MPI_DISTRIBUTE_CYCLIC && below(2)) arguments[d] = between(1, 3);
            if (kinds[d] == MPI_DISTRIBUTE_BLOCK && below(2))
                arguments[d] = between((sizes[d] + grid[d] - 1) / grid[d], 6);
            processes *= grid[d];
        }
        // Open MPI refuses some inner types here (those without data among them).
        return Type::make([&](auto* out) {
            const int made =
                MPI_Type_create_darray(processes, below(processes), n, sizes.data(), kinds.data(),
                                       arguments.data(), grid.data(), order(), inner, out);
            if (made == MPI_SUCCESS) return made;
            ++refused_;
            return MPI_Type_dup(inner, out);
        });
    }

    std::mt19937_64 random_;
    int refused_ = 0;
};

TEST(Random, nested_types_are_flattened_as_mpi_packs_them) {
    constexpr std::uint64_t seed = 20260117;
    RandomTypes types(seed);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int compared = 0, with_data = 0, left_out = 0;
    for (int i = 0; i < 4000; ++i) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", type " + std::to_string(i));
        const Type type = types.make(1 + types.below(3));
        if (!fits(type, 3)) continue;
        if (!layout_of(type, many_blocks).known || !packs_consistently(type)) {
            ++left_out;
            continue;
        }
        ++compared;
        with_data += layout_of(type, many_blocks).size > 0;
        expect_as_packed(type);
        if (::testing::Test::HasFailure()) break;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    EXPECT_LE(types.refused(), open_mpi ? 200 : 0);
    EXPECT_GT(compared, 2500);
    EXPECT_LE(left_out, open_mpi ? 40 : 0) << "only where a library disagrees with the standard";
    EXPECT_GT(with_data, 1000);
}

TEST(Threads, share_what_is_known) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
    const Type shared = Type::make([](auto* out) { return MPI_Type_vector(3, 1, 2, MPI_INT, out); });
    std::atomic<int> wrong{0};
    const auto work = [&](int me) {
        for (int i = 0; i < 300; ++i) {
            const int stride = 2 + me + i % 5;
            MPI_Datatype mine = MPI_DATATYPE_NULL;
            MPI_Type_vector(2, 1, stride, MPI_INT, &mine);
            wrong += layout_of(mine, 10).blocks != Blocks{{0, 4}, {4 * stride, 4}};
            wrong += layout_of(shared, 10).blocks.size() != 3 || layout_of(MPI_INT, 1).size != 4;
            MPI_Type_free(&mine);
        }
    };
    std::vector<std::thread> threads;
    for (int me = 0; me < 3; ++me)
        threads.emplace_back(work, me);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace nearfetch

int main(int argc, char** argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    ::testing::InitGoogleTest(&argc, argv);
    const int failed = RUN_ALL_TESTS();
    MPI_Finalize();
    return failed;
}
