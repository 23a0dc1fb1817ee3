// SPDX-License-Identifier: Apache-2.0

// Every constructor of datatypes, and the named ones: the blocks it means, and that MPI packs the same.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "types.hpp"

namespace nearfetch {
namespace {

using namespace testing;  // NOLINT: the tests' own

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

}  // namespace
}  // namespace nearfetch
