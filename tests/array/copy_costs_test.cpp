// SPDX-License-Identifier: Apache-2.0
//
// What virtual time charges for elements that an array copies.

#include <gtest/gtest.h>

#include <nearfetch/array.hpp>
#include <utility>
#include <vector>

namespace nearfetch {
namespace {

constexpr std::int64_t rows = 128;
constexpr std::int64_t columns = 1024;
constexpr std::int64_t kib_elements = 1024 / sizeof(double);

struct Times {
    std::uint64_t own_ns = 0;
    std::uint64_t packed_by_owner_ns = 0;
    std::uint64_t contiguous_ns = 0;
};

/// Of reading 1 KiB: of own elements, of another rank's columns, and of its rows.
Times times(std::uint64_t copied_kib_ns) {
    Times found;
    LaunchOptions options{.network = "aries", .virtual_time = true};
    options.access_ns = options.fence_ns = 0;
    options.copied_kib_ns = copied_kib_ns;
    launch(options, [&] {
        BlockArray<double, 2> array(Box<2>({}, {2 * rows, columns}), {2, 1});
        array.for_each([](const Index<2>& i, double& element) { element = static_cast<double>(i[0]); });
        barrier();
        if (rank() != 0) return;
        std::vector<double> copy(kib_elements);
        const auto took = [&](const Box<2>& box) {
            const std::uint64_t begin_ns = now_ns();
            array.get(box, copy);
            EXPECT_EQ(copy.back(), static_cast<double>(box.upper[0] - 1));
            return now_ns() - begin_ns;
        };
        found.own_ns = took({{0, 0}, {1, kib_elements}});
        found.packed_by_owner_ns = took({{rows, 0}, {2 * rows, 1}});
        found.contiguous_ns = took({{rows, 0}, {rows + 1, kib_elements}});
    });
    return found;
}

TEST(CopyCosts, EachCopyIsChargedWhereItIsMade) {
    const Times network = times(0);
    const Times all = times(1000);
    EXPECT_EQ(network.own_ns, 0u);
    EXPECT_EQ(all.own_ns, 1000u);
    // Into the message at the owner, which reads a cache line for each element; and out of it here.
    EXPECT_EQ(all.packed_by_owner_ns, network.packed_by_owner_ns + 8000 + 1000);
    // Straight to where it belongs.
    EXPECT_EQ(all.contiguous_ns, network.contiguous_ns);
}

}  // namespace
}  // namespace nearfetch
