// SPDX-License-Identifier: Apache-2.0
//
// Gets that are under way into the same buffer, and such that are not.

#include <gtest/gtest.h>

#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::WindowCacheTest;

TEST_F(WindowCacheTest, WhatSharesABufferOnItsWayIsNotKept) {
    Buffer scratch(64), beside(64), own(64);
    for (std::size_t i = 0; i < 16; ++i)
        rig.get(1, i * 256, 64, scratch.data());
    rig.get(2, 0, 32, scratch.data() + 48 - 32);
    rig.get(1, 8192, 64, own.data());
    rig.get(2, 64, 64, beside.data());
    rig.get(2, 64, 64, own.data());  // waits, and then overwrites what the other brings
    rig.flush_all();
    for (std::size_t i = 0; i < 16; ++i)
        EXPECT_EQ(fetched(1, i * 256, 64), bytes(1, i * 256, 64));
    EXPECT_EQ(fetched(2, 0, 32), bytes(2, 0, 32));
    EXPECT_EQ(fetched(1, 8192, 64), bytes(1, 8192, 64));
    const std::uint64_t messages = rig.messages;
    EXPECT_EQ(fetched(2, 64, 64), bytes(2, 64, 64));
    EXPECT_EQ(rig.messages, messages) << "that was a buffer of its own";
}

TEST_F(WindowCacheTest, ABufferThatIsFilledInAnyOrderIsKept) {
    Buffer all(64 * 64);
    for (const int round : {0, 1}) {
        for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t place = i * 37 % 64;
            rig.get(round ? 2 : 1, place * 256, 64, &all[place * 64]);
        }
        if (round == 0) rig.flush(1);
    }
    rig.flush(2);
    for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_TRUE(rig.hits(1, i * 256, 64, all.data()));
        EXPECT_TRUE(rig.hits(2, i * 256, 64, all.data()));
    }
    // One buffer for one after the other, while another get is under way.
    Buffer slow(8), one(8);
    rig.get(2, 20000, 8, slow.data());
    for (std::size_t i = 0; i < 8; ++i) {
        rig.get(1, 20000 + 8 * i, 8, one.data());
        rig.flush(1);
        EXPECT_TRUE(rig.hits(1, 20000 + 8 * i, 8, one.data()));
    }
}

// As bandwidth tests do. The last place that was found to be shared is known without a look at what is on its
// way, but only as long as that is.
TEST_F(WindowCacheTest, ThousandsThatShareABufferAreNotKept) {
    Buffer one(64), other(64);
    for (std::size_t i = 0; i < 600; ++i) {
        rig.get(1, i * 64, 64, one.data());
        if (i % 3 == 0) rig.get(1, 40000 + i * 32, 32, one.data() + i % 32);
        if (i % 100 == 50) rig.get(2, i * 64, 64, other.data());
    }
    rig.flush_all();
    EXPECT_EQ(counters().hits, 0u);
    for (std::size_t i = 0; i < 600; ++i)
        EXPECT_EQ(fetched(1, i * 64, 64), bytes(1, i * 64, 64));
    for (std::size_t i = 0; i < 600; i += 3)
        EXPECT_EQ(fetched(1, 40000 + i * 32, 32), bytes(1, 40000 + i * 32, 32));
    for (std::size_t i = 50; i < 600; i += 100)
        EXPECT_EQ(fetched(2, i * 64, 64), bytes(2, i * 64, 64));
    rig.get(1, 60000, 64, one.data());
    rig.get(1, 60100, 64, one.data());
    rig.flush(1);
    rig.get(1, 60200, 64, one.data());
    rig.flush(1);
    EXPECT_TRUE(rig.hits(1, 60200, 64, one.data())) << "alone in it";
}

}  // namespace
}  // namespace nearfetch
