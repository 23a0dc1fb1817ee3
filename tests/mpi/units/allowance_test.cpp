// SPDX-License-Identifier: Apache-2.0

// What counts the calls that pass in a recess, with a stand-in for the library's call of eight arguments, two
// of which are on the stack.

#include "mpi/allowance.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

int library(const void*, int a, long b, int c, long d, int e, int f, int g) {
    return static_cast<int>(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g);
}
int seen(const void* origin, int a, long b, int c, long d, int e, int f, int g) {
    return -library(origin, a, b, c, d, e, f, g);
}
[[gnu::noinline]] int call(Allowance& allowance, int a, long b, int c, long d, int e, int f, int g) {
    static constinit LibraryCall<library> of_library;
    return allowance.way(of_library, seen)(nullptr, a, b, c, d, e, f, g);
}
[[gnu::noinline]] int call_until_used_up(Allowance& allowance, int a, long b, int c, long d, int e, int f,
                                         int g) {
    static constinit LibraryCall<library> of_library;
    return allowance.way_until_used_up(of_library, seen)(nullptr, a, b, c, d, e, f, g);
}

TEST(Allowance, LetsSoManyCallsPassAndCountsThem) {
    Allowance allowance;
    EXPECT_FALSE(allowance.passes());
    EXPECT_EQ(allowance.left(), 0u);
    allowance.begin(3);
    EXPECT_TRUE(allowance.passes());
    EXPECT_EQ(allowance.left(), 2u);
    EXPECT_TRUE(allowance.passes());
    EXPECT_TRUE(allowance.passes());
    EXPECT_EQ(allowance.left(), 0u);
    EXPECT_FALSE(allowance.passes());
    EXPECT_EQ(allowance.end(), 0u);
    allowance.begin(3);
    EXPECT_TRUE(allowance.passes());
    EXPECT_EQ(allowance.end(), 2u);
    EXPECT_FALSE(allowance.passes()) << "it is over";
}

TEST(Allowance, IsTheWayToTheLibraryWithAllArguments) {
    constexpr int sum = 1 + 4 + 9 + 16 + 25 + 36 + 49;
    Allowance allowance;
    EXPECT_EQ(call(allowance, 1, 2, 3, 4, 5, 6, 7), -sum);
    allowance.begin(2);
    EXPECT_EQ(call(allowance, 1, 2, 3, 4, 5, 6, 7), sum);
    EXPECT_EQ(call(allowance, 1, 2, 3, 4, 5, 6, 7), sum);
    EXPECT_EQ(call(allowance, 1, 2, 3, 4, 5, 6, 7), -sum);
    EXPECT_EQ(allowance.end(), 0u);
}

TEST(Allowance, IsTheWayUntilOneMoreHasCome) {
    constexpr int sum = 1 + 4 + 9 + 16 + 25 + 36 + 49;
    Allowance allowance;
    allowance.begin(2);
    EXPECT_EQ(call_until_used_up(allowance, 1, 2, 3, 4, 5, 6, 7), sum);
    EXPECT_EQ(allowance.left(), 1u);
    EXPECT_EQ(call_until_used_up(allowance, 1, 2, 3, 4, 5, 6, 7), sum);
    EXPECT_EQ(allowance.left(), 0u);
    EXPECT_EQ(call_until_used_up(allowance, 1, 2, 3, 4, 5, 6, 7), -sum);
    EXPECT_EQ(allowance.left(), 0u);
    EXPECT_EQ(allowance.end(), 0u);
    EXPECT_FALSE(allowance.passes()) << "it is over";
}

TEST(Permission, KnowsWhetherItWasUsed) {
    Permission permission;
    EXPECT_FALSE(permission.given());
    EXPECT_FALSE(permission.passes());
    EXPECT_FALSE(permission.end());
    permission.begin(true);
    EXPECT_TRUE(permission.given());
    EXPECT_FALSE(permission.end()) << "nothing passed";
    permission.begin(true);
    EXPECT_FALSE(permission.was_used());
    EXPECT_TRUE(permission.passes());
    EXPECT_TRUE(permission.was_used());
    EXPECT_TRUE(permission.passes());
    EXPECT_TRUE(permission.given());
    EXPECT_TRUE(permission.end());
    EXPECT_FALSE(permission.passes()) << "it is over";
    permission.begin(false);
    EXPECT_FALSE(permission.passes());
    EXPECT_FALSE(permission.end());
}

}  // namespace
}  // namespace nearfetch
