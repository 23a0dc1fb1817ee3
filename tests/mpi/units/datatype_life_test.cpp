// SPDX-License-Identifier: Apache-2.0

// Limits of what is flattened, and the life of what is known about a datatype: until its handle is freed, in
// all threads. MPI is initialised here for all tests of the flattener.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "types.hpp"

namespace nearfetch {
namespace {

using namespace testing;  // NOLINT: the tests' own

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
