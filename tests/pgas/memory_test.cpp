// SPDX-License-Identifier: Apache-2.0
//
// Gets, puts and their ordering in the C++ interface, with and without a cache.

#include <gtest/gtest.h>

#include <nearfetch/pgas.hpp>
#include <numeric>
#include <random>

#include "all_networks.hpp"
#include "pgas/symmetric_heap.hpp"

namespace nearfetch {
namespace {

class Memory : public CachedOrNot {};

TEST_P(Memory, WhatIsPutBeforeABarrierIsReadAfterIt) {
    launch(options(4), [] {
        const auto a = allocate<long>(1000);
        const auto next = a.at_rank((rank() + 1) % ranks());
        for (long i = 0; i < 1000; ++i)
            next[i] = 1000 * rank() + i;
        barrier();
        const auto before = static_cast<long>((rank() + ranks() - 1) % ranks());
        for (long i = 0; i < 1000; ++i) {
            ASSERT_EQ(a[i], 1000 * before + i);
            ASSERT_EQ(next[i], 1000 * rank() + i);
        }
        ASSERT_EQ(*a.local(), 1000 * before);
    });
}

TEST_P(Memory, TheCacheSavesMessages) {
    launch(options(), [cached = GetParam()] {
        const auto a = allocate<long>(4096);
        if (rank() == 0) {
            const auto other = a.at_rank(1);
            for (long i = 0; i < 4096; ++i)
                other[i] = i;
            release();
            long sum = 0;
            acquire();
            for (long i = 0; i < 4096; ++i)
                sum += other[i];
            EXPECT_EQ(sum, 4096l * 4095 / 2);
            const Statistics done = statistics();
            if (cached) {
                EXPECT_LE(done["put_messages"], 16u);
                EXPECT_LE(done["get_messages"], 24u);
            } else {
                EXPECT_EQ(done["put_messages"], 4096u);
                EXPECT_EQ(done["get_messages"], 4096u);
            }
        }
        barrier();
    });
}

TEST_P(Memory, NothingOlderThanAnAcquireIsRead) {
    launch(options(), [] {
        const auto data = allocate<long>(1);
        const auto flag = allocate<long>(1);
        constexpr int rounds = 200;
        if (rank() == 0) {
            for (long i = 1; i <= rounds; ++i) {  // Listing 2, task A
                put(data.at_rank(0), i);
                put(data.at_rank(1), i);
                atomic_store(flag.at_rank(0), i, std::memory_order_release);
                while (atomic_load(flag.at_rank(1), std::memory_order_acquire) != i)
                    yield();
            }
        } else {
            for (long i = 1; i <= rounds; ++i) {  // task B
                while (atomic_load(flag.at_rank(0), std::memory_order_acquire) != i)
                    yield();
                ASSERT_EQ(get(data.at_rank(0)), i);
                ASSERT_EQ(get(data.at_rank(1)), i);
                atomic_store(flag.at_rank(1), i, std::memory_order_release);
            }
        }
    });
}

TEST_P(Memory, RangesAloneAreReleasedAndAcquired) {
    launch(options(), [cached = GetParam()] {
        const auto a = allocate<long>(1024);
        if (rank() == 0) {
            const auto there = a.at_rank(1);
            put(there, 1);
            put(there + 512, 2);
            release(there, 1);
            EXPECT_EQ(statistics()["put_messages"], cached ? 1u : 2u);
            release();
        }
        barrier();
        if (rank() == 0) {
            const auto there = a.at_rank(1);
            EXPECT_EQ(get(there), 1);
            EXPECT_EQ(get(there + 512), 2);
        }
        barrier(std::memory_order_relaxed);
        if (rank() == 1) {
            a[0] = 3;
            a[512] = 4;
        }
        barrier(std::memory_order_relaxed);
        if (rank() == 0) {
            acquire(a.at_rank(1), 1);
            EXPECT_EQ(get(a.at_rank(1)), 3);
            EXPECT_EQ(get(a.at_rank(1) + 512), cached ? 2 : 4) << "not acquired";
        }
        barrier();
    });
}

TEST_P(Memory, LargeAndStridedTransfers) {
    launch(options(), [] {
        constexpr std::size_t n = 10000;
        const auto a = allocate<int>(n);
        if (rank() == 0) {
            const auto there = a.at_rank(1);
            std::vector<int> from(n), to(n), half(n / 2);
            std::iota(from.begin(), from.end(), 0);
            put<int>(there, from);
            there[5] = -5;  // over the bulk put
            auto transfer = start_get<int>(there, to);
            transfer.wait();
            EXPECT_EQ(to[5], -5);
            EXPECT_EQ(to[n - 1], static_cast<int>(n) - 1);
            put_strided<int>(there + 1, 2, std::vector<int>(n / 2, 8));
            get_strided<int>(there, 1, to);
            EXPECT_EQ(to[4], 4);
            EXPECT_EQ(to[5], 8);
            get_strided<int>(there + 1, 2, half);
            EXPECT_EQ(half, std::vector<int>(n / 2, 8));
            std::vector<std::unique_ptr<Transfer>> puts;
            for (int& value : from)
                value += 1;
            for (std::size_t i = 0; i < n; i += 1000)
                puts.push_back(std::make_unique<Transfer>(start_put<int>(
                    there + static_cast<std::ptrdiff_t>(i), std::span<const int>(from).subspan(i, 1000))));
            for (auto& put : puts)
                put->wait();
            release();
            acquire();
            get<int>(there, to);
            EXPECT_EQ(to, from);
        }
        barrier();
    });
}

TEST_P(Memory, StridedTransfersOfAnyStrideAndPlace) {
    launch(options(), [cached = GetParam()] {
        constexpr std::ptrdiff_t n = 3000;
        const auto a = allocate<std::int32_t>(n);
        if (rank() == 0) {
            for (const Rank where : {1, 0}) {
                std::vector<std::int32_t> model(n);
                const auto there = a.at_rank(where);
                int value = 0;
                for (const std::ptrdiff_t stride : {1, 2, 7, 100, -1, -3, -90, 0}) {
                    const std::ptrdiff_t count = stride == 0 ? 1 : (n - 1) / std::abs(stride) + 1;
                    const std::ptrdiff_t first = stride < 0 ? n - 1 : 0;
                    std::vector<std::int32_t> from(static_cast<std::size_t>(count)), to(from);
                    for (std::ptrdiff_t i = 0; i < count; ++i)
                        model.at(static_cast<std::size_t>(first + i * stride)) =
                            from[static_cast<std::size_t>(i)] = ++value;
                    put_strided<std::int32_t>(there + first, stride, from);
                    get_strided<std::int32_t>(there + first, stride, to);
                    EXPECT_EQ(to, from) << stride;
                    fence();
                    std::vector<std::int32_t> all(n);
                    get_strided<std::int32_t>(there, 1, all);
                    EXPECT_EQ(all, model) << stride;
                }
                std::vector<std::int32_t> same(5);
                get_strided<std::int32_t>(there + 8, 0, same);
                EXPECT_EQ(same, std::vector<std::int32_t>(5, model[8]));
                get_strided<std::int32_t>(there + n, 1, std::span(same).first(0));
                // All or nothing.
                const std::uint64_t before = statistics()["put_messages"];
                same.assign(5, 77);
                EXPECT_THROW(put_strided<std::int32_t>(there + n - 4, 1 << 20, same), Error);
                EXPECT_THROW(put_strided<std::int32_t>(there, -(1 << 20), same), Error);
                EXPECT_THROW(put_strided<std::int32_t>(there, std::ptrdiff_t{1} << 60, same), Error);
                release();
                EXPECT_EQ(statistics()["put_messages"], before);
            }
            acquire();
            const std::uint64_t before = statistics()["get_messages"];
            std::vector<std::int32_t> some(100);
            get_strided<std::int32_t>(a.at_rank(1), 10, some);
            const std::uint64_t messages = statistics()["get_messages"] - before;
            if (cached)
                EXPECT_LE(messages, 2U);
            else
                EXPECT_EQ(messages, 100U);
        }
        barrier();
    });
}

TEST_P(Memory, BadArgumentsAreErrors) {
    launch(options(), [] {
        const auto a = allocate<long>(8);
        EXPECT_THROW(get(a.at_rank(2)), Error);
        EXPECT_THROW(get(a.at_rank(-1)), Error);
        EXPECT_THROW(get(a + (1 << 20)), Error);
        EXPECT_THROW(get(a.at_rank(1 - rank()) + (1 << 20)), Error);
        EXPECT_THROW(put(a.at_rank(1 - rank()) - 1, 5), Error);
        EXPECT_THROW(get(a.at_rank(1 - rank()) - 1), Error);
        EXPECT_THROW(get(GlobalPtr<long>(1 - rank(), ~std::uint64_t{0} - 3)), Error);
        EXPECT_THROW(put(a.at_rank(7), 5), Error);
        EXPECT_THROW(atomic_load(GlobalPtr<long>(1, 4)), Error);
        EXPECT_THROW(allocate<long>(std::size_t{1} << 40), Error);
        EXPECT_THROW(acquire(a.at_rank(3), 1), Error);
        EXPECT_THROW(release(a, 1 << 20), Error);
        // More elements than bytes can be counted.
        constexpr std::size_t many = std::size_t{1} << 61;
        EXPECT_THROW(allocate<long>(many), Error);
        EXPECT_THROW(acquire(a.at_rank(1 - rank()), many), Error);
        EXPECT_THROW(release(a, many), Error);
        prefetch(a.at_rank(1 - rank()), many);
        EXPECT_THROW(statistics()["no such thing"], Error);
        prefetch(a.at_rank(5));
        prefetch(a.at_rank(1 - rank()) + (1 << 20));
        std::vector<long> nothing;
        get<long>(a.at_rank(1 - rank()), nothing);
        try {
            get(a.at_rank(2));
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), "get: rank 2 (the program has the ranks 0 to 1): use one of them");
        }
    });
    EXPECT_THROW(rank(), Error);
    EXPECT_THROW(get(GlobalPtr<long>(0, 0)), Error);
    LaunchOptions none = options(0);
    EXPECT_THROW(launch(none, [] {}), Error);
    LaunchOptions odd = options();
    odd.cached = true;
    odd.cache.line_bytes = 3;
    EXPECT_THROW(launch(odd, [] {}), Error);
}

TEST_P(Memory, NoPageReachesBeyondTheSegment) {
    launch(options(), [] {
        const Rank other = 1 - rank();
        const GlobalPtr<long> last(other, pgas::SymmetricHeap::first_bytes - 8);
        put(last, 7);
        release();
        EXPECT_EQ(get(last), 7);
        for (const std::uint64_t beyond : {4, 8, 100}) {
            const GlobalPtr<long> outside(other, last.address() + beyond);
            EXPECT_THROW(get(outside), Error);
            EXPECT_THROW(put(outside, 1), Error);
        }
        barrier();
    });
}

// Freed memory is reused, zeroed, and belongs to nobody else.
TEST_P(Memory, IsReallocated) {
    launch(options(1), [] {
        std::mt19937 dice(3);
        struct Block {
            std::uint64_t address;
            std::size_t bytes;
        };
        const auto check_and_fill = [](const Block& block, std::byte value) {
            std::byte* const memory = detail::local(block.address, block.bytes);
            ASSERT_TRUE(
                std::all_of(memory, memory + block.bytes, [](std::byte b) { return b == std::byte{}; }));
            std::fill_n(memory, block.bytes, value);
        };
        std::vector<Block> blocks;
        for (int n = 0; n < 20; ++n) {
            blocks.push_back({detail::allocate(100, Where::current()), 100});
            check_and_fill(blocks.back(), static_cast<std::byte>(n + 1));
        }
        // In total 30 times the first segment, a small part of it at a time.
        for (int n = 0; n < 20'000; ++n) {
            Block& block = blocks[dice() % blocks.size()];
            const auto value = static_cast<std::byte>(&block - blocks.data() + 1);
            std::byte* const memory = detail::local(block.address, block.bytes);
            ASSERT_TRUE(std::all_of(memory, memory + block.bytes, [&](std::byte b) { return b == value; }));
            const std::size_t wanted = dice() % 13000;
            block = {detail::reallocate(block.address, block.bytes, wanted), wanted};
            ASSERT_EQ(block.address % 64, 0u);
            check_and_fill(block, value);
        }
        const auto too_much = [&] {
            (void)detail::reallocate(blocks[0].address, blocks[0].bytes, std::size_t{1} << 43);
        };
        EXPECT_THROW(too_much(), Error);
        EXPECT_TRUE(blocks[0].bytes == 0 || *detail::local(blocks[0].address, 1) == std::byte{1})
            << "as it was";
    });
}

INSTANTIATE_TEST_SUITE_P(Caches, Memory, ::testing::Bool(), CachedOrNot::name);

}  // namespace
}  // namespace nearfetch
