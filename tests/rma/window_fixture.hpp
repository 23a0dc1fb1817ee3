// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <type_traits>

#include "rig.hpp"

namespace nearfetch::testing {

using Buffer = std::vector<unsigned char>;

/// A rig of three ranks whose memory holds distinct bytes.
struct WindowCacheTest : ::testing::Test {
    explicit WindowCacheTest(Mode mode = Mode::always_cache) : rig(Rig::settings(mode), 3, 65536) {
        for (std::size_t r = 0; r < rig.memory.size(); ++r)
            for (std::size_t i = 0; i < rig.memory[r].size(); ++i)
                rig.memory[r][i] = static_cast<unsigned char>(i * 7 + i / 256 + r * 91);
    }

    Buffer bytes(Rank target, std::size_t offset, std::size_t size) const {
        const auto begin =
            rig.memory[static_cast<std::size_t>(target)].begin() + static_cast<std::ptrdiff_t>(offset);
        return {begin, begin + static_cast<std::ptrdiff_t>(size)};
    }
    Buffer fetched(Rank target, std::size_t offset, std::size_t size) {
        Buffer buffer(size, 0xee);
        EXPECT_EQ(rig.get(target, offset, size, buffer.data()), 0);
        rig.flush(target);
        return buffer;
    }
    template <class T>
    void change_setting(T Settings::* setting, std::type_identity_t<T> value) {
        Settings settings = rig.window.settings();
        settings.*setting = value;
        rig.window.change_settings(settings);
    }
    RangeCacheCounters counters() const { return rig.window.counters(); }

    Rig rig;
};

/// A window whose breakers open, because its network takes no time.
struct OpenBreakerTest : WindowCacheTest {
    OpenBreakerTest() {
        change_setting(&Settings::bypass, Bypass::on);
        rig.flush_all();
        Buffer buffer(64);
        for (std::size_t i = 0; i < 64; ++i)
            fetched(1, i * 64, 64);
    }
};

}  // namespace nearfetch::testing
