// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of the transport tests: ways to start ranks, and blocking operations.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/inproc/inproc.hpp"
#include "transport/model/random.hpp"

namespace nearfetch::test {

/// A name for the test's title and what it stands for.
struct Kind {
    const char* name;
    InprocConfig config;

    friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

inline std::vector<Kind> all_kinds() {
    return {
        {"inproc", {}},
        {"wall", {.network = "fdr-ib"}},
        {"wall_unruly", {.network = "aries", .seed = 5, .jitter_ns = 20'000, .late_effects = true}},
        {"virtual", {.network = "fdr-ib", .virtual_time = true}},
        {"virtual_unruly",
         {.network = "1gbe", .virtual_time = true, .seed = 7, .jitter_ns = 100'000, .late_effects = true}},
        {"virtual_for_free", {.virtual_time = true}},
    };
}

inline InprocConfig with_ranks(InprocConfig config, Rank ranks) {
    config.ranks = ranks;
    return config;
}

/// The completion of the only outstanding operation.
inline Completion finish(Transport& transport) {
    std::array<Completion, 4> done;
    const std::size_t count = transport.wait(done);
    EXPECT_EQ(count, 1U);
    return done[0];
}

inline void put_value(Transport& transport, Rank target, std::uint64_t address, std::uint64_t value) {
    ASSERT_EQ(transport.start_put(target, address, 8, reinterpret_cast<const std::byte*>(&value), 7), 0);
    const Completion done = finish(transport);
    EXPECT_EQ(done.token, 7U);
    EXPECT_EQ(done.status, 0);
}

inline std::uint64_t get_value(Transport& transport, Rank target, std::uint64_t address) {
    std::uint64_t value = 0;
    EXPECT_EQ(transport.start_get(target, address, 8, reinterpret_cast<std::byte*>(&value), 9), 0);
    const Completion done = finish(transport);
    EXPECT_EQ(done.token, 9U);
    EXPECT_EQ(done.status, 0);
    return value;
}

inline void send_value(Job& job, Rank target, Port port, std::uint64_t value) {
    job.send(target, port, std::as_bytes(std::span(&value, 1)));
}

inline std::uint64_t value_of(const Message& message) {
    std::uint64_t value = 0;
    EXPECT_EQ(message.bytes.size(), sizeof value);
    std::memcpy(&value, message.bytes.data(), std::min(message.bytes.size(), sizeof value));
    return value;
}

inline std::uint64_t receive_value(Job& job, Port port) {
    Message message;
    EXPECT_TRUE(job.receive(port, message, true));
    return value_of(message);
}

/// Distinct bytes for each offset and `seed`.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; i += 8) {
        const std::uint64_t eight = mixed(mixed(seed) + i);
        std::memcpy(&bytes[i], &eight, std::min<std::size_t>(8, size - i));
    }
    return bytes;
}

/// The text of the Error that `work` throws.
template <typename Work>
std::string error_of(Work&& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "no error was thrown";
    return {};
}

}  // namespace nearfetch::test
