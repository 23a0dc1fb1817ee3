// SPDX-License-Identifier: Apache-2.0
#pragma once

// A page cache on a fake network: ranks are arrays, time is a number, and messages are recorded.

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "cache/page_cache/page_cache.hpp"

namespace nearfetch::testing {

class PageCacheRig {
  public:
    explicit PageCacheRig(const PageCacheConfig& config = {}, std::uint64_t segment_bytes = 1 << 17,
                          Rank ranks = 2)
        : cache(config), part{0, segment_bytes} {
        for (Rank rank = 0; rank < ranks; ++rank) {
            memory.emplace_back(segment_bytes);
            for (std::uint64_t i = 0; i < segment_bytes; ++i)
                memory.back()[i] = original(rank, i);
        }
    }

    static std::byte original(Rank rank, std::uint64_t offset) {
        return static_cast<std::byte>(
            (offset * 7 + offset / 256 * 13 + static_cast<std::uint64_t>(rank) * 101 + 1) & 0xff);
    }

    // The network.
    struct Flight {
        Operation* op;
        OperationId id;
        std::uint64_t ready_at;
    };

    void start(Operation& op) {
        const bool get = op.kind == Operation::Kind::get;
        if (!log.empty()) log += ' ';
        log += (get ? "g" : "p") + std::to_string(op.offset) + "+" + std::to_string(op.size_bytes);
        ASSERT_GE(op.offset, part.begin);
        ASSERT_LE(op.offset + op.size_bytes, part.end);
        link_free_at = std::max(now, link_free_at) + message_ticks;
        flights.push_back({&op, op.id, link_free_at + latency_ticks});
        cache.started(op, now);
    }
    /// The transfer takes effect, and the cache is told.
    void finish(std::size_t which, int status = 0) {
        const Flight flight = flights[which];
        flights.erase(flights.begin() + static_cast<std::ptrdiff_t>(which));
        Operation& op = *flight.op;
        std::byte* const remote = memory[static_cast<std::size_t>(op.target)].data() + op.offset;
        if (status == 0) {
            if (op.kind == Operation::Kind::get)
                std::memcpy(op.buffer, remote, op.size_bytes);
            else
                std::memcpy(remote, op.buffer, op.size_bytes);
        }
        now = std::max(now, flight.ready_at);
        cache.complete(op, status, now);
        while (Operation* const due = cache.next_due())
            start(*due);
    }
    std::size_t flight_of(const Step& step) const {
        for (std::size_t i = 0; i < flights.size(); ++i)
            if (flights[i].op == step.operation && flights[i].id == step.id) return i;
        ADD_FAILURE() << "a step waits for an operation that was never started";
        return 0;
    }
    /// All that has arrived so far.
    void poll() {
        for (std::size_t i = 0; i < flights.size();)
            if (flights[i].ready_at <= now)
                finish(i);
            else
                ++i;
    }

    /// Executes a request to its end.
    template <class Ask>
    void drive(Ask&& ask) {
        int steps = 0;
        for (Step step; (step = ask()).kind != Step::Kind::done;) {
            ASSERT_LT(++steps, 100000) << "a request that is never done";
            if (step.kind == Step::Kind::start)
                start(*step.operation);
            else if (step.is_outstanding()) {
                ++waits;
                finish(flight_of(step));
            }
        }
    }

    // The program.
    std::vector<std::byte> get(Rank target, std::uint64_t offset, std::uint64_t size) {
        return get(task, target, offset, size);
    }
    std::vector<std::byte> get(TaskClock& who, Rank target, std::uint64_t offset, std::uint64_t size) {
        std::vector<std::byte> bytes(size);
        if (const std::byte* found = cache.find(who, target, offset, size)) {
            bytes.assign(found, found + size);
            return bytes;
        }
        poll();
        GetRequest request(target, offset, size, bytes.data(), part, now);
        drive([&] { return cache.get(who, request); });
        EXPECT_EQ(request.status, 0);
        return bytes;
    }
    void put(Rank target, std::uint64_t offset, const std::vector<std::byte>& bytes) {
        if (cache.write(target, offset, bytes.size(), bytes.data())) return;
        PutRequest request(target, offset, bytes.size(), bytes.data());
        drive([&] { return cache.put(request); });
        EXPECT_EQ(request.status, 0);
    }
    void put(Rank target, std::uint64_t offset, std::uint64_t size, int value) {
        put(target, offset, std::vector<std::byte>(size, static_cast<std::byte>(value)));
    }
    void prefetch(Rank target, std::uint64_t begin, std::uint64_t end) {
        PrefetchRequest request(target, {begin, end}, part);
        drive([&] { return cache.prefetch(task, request); });
    }
    void release() {
        ReleaseRequest request;
        drive([&] { return cache.release(request); });
    }
    void release(Rank target, ByteRange range) {
        ReleaseRequest request(target, range);
        drive([&] { return cache.release(request); });
    }
    void finish_all() {
        while (!flights.empty())
            finish(0);
    }

    /// A get has to return the target's bytes.
    ::testing::AssertionResult reads(Rank target, std::uint64_t offset, std::uint64_t size) {
        return reads(task, target, offset, size);
    }
    ::testing::AssertionResult reads(TaskClock& who, Rank target, std::uint64_t offset, std::uint64_t size) {
        const std::vector<std::byte> bytes = get(who, target, offset, size);
        for (std::uint64_t i = 0; i < size; ++i)
            if (bytes[i] != memory[static_cast<std::size_t>(target)][offset + i])
                return ::testing::AssertionFailure() << "byte " << offset + i << " is wrong";
        return ::testing::AssertionSuccess();
    }
    /// Messages since the last call.
    std::string sent() {
        std::string text;
        text.swap(log);
        return text;
    }

    /// The same after a read, which has to be right.
    std::string sent_by_read(Rank target, std::uint64_t offset, std::uint64_t size) {
        return sent_by_read(task, target, offset, size);
    }
    std::string sent_by_read(TaskClock& who, Rank target, std::uint64_t offset, std::uint64_t size) {
        EXPECT_TRUE(reads(who, target, offset, size));
        return sent();
    }

    PageCache cache;
    ByteRange part;
    std::vector<std::vector<std::byte>> memory;
    std::deque<Flight> flights;
    std::string log;
    TaskClock task;
    std::uint64_t now = 1000;
    std::uint64_t latency_ticks = 100;
    std::uint64_t message_ticks = 0;
    std::uint64_t link_free_at = 0;
    std::uint64_t waits = 0;
};

/// Few pages and operations; no read-ahead unless asked for.
inline PageCacheConfig small_config(bool read_ahead = false) {
    PageCacheConfig config;
    config.capacity_bytes = 16 * 1024;
    config.dirty_pages = 4;
    config.operations = 16;
    config.read_ahead = read_ahead;
    return config;
}

}  // namespace nearfetch::testing
