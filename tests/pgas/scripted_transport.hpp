// SPDX-License-Identifier: Apache-2.0
#pragma once

// A transport that is a few arrays. Operations take effect when the test lets them, oldest or newest first;
// starts and completions can be refused; and while it waits it may run what the test says, as a tasking
// runtime's does.

#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace nearfetch::testing {

class ScriptedTransport : public Transport {
  public:
    ScriptedTransport(std::size_t ranks, std::size_t bytes) : memory(ranks, std::vector<std::byte>(bytes)) {}

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override {
        if (refuse_gets != 0) return refuse_gets;
        ++gets;
        flights_.push_back(
            {token, 0, [this, target, address, size, to] { std::memcpy(to, at(target, address), size); }});
        return 0;
    }
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override {
        if (refuse_puts != 0) return refuse_puts;
        ++puts;
        flights_.push_back({token, fail_puts, [this, target, address, size, from] {
                                std::memcpy(at(target, address), from, size);
                            }});
        return 0;
    }
    std::size_t test(std::span<Completion> out) override { return held ? 0 : complete(out); }
    std::size_t wait(std::span<Completion> out) override {
        ++waits;
        if (while_waiting) {
            const auto run = std::exchange(while_waiting, nullptr);
            run();
        }
        return complete(out);
    }
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override {
        if (target < 0 || static_cast<std::size_t>(target) >= memory.size()) return {};
        const ByteRange all{0, memory[0].size()};
        return address < all.end ? all : ByteRange{};
    }
    void yield() override {}
    std::uint64_t now_ns() override { return now += 100; }

    std::byte* at(Rank rank, std::uint64_t address) {
        return memory[static_cast<std::size_t>(rank)].data() + address;
    }
    std::size_t under_way() const { return flights_.size(); }

    std::vector<std::vector<std::byte>> memory;
    bool held = true;  ///< nothing completes unless somebody waits
    bool newest_first = false;
    int refuse_gets = 0;  ///< the status with which starts are refused
    int refuse_puts = 0;
    int fail_puts = 0;  ///< the status with which PUTs started from now on complete
    std::function<void()> while_waiting;
    int gets = 0;
    int puts = 0;
    int waits = 0;
    std::uint64_t now = 0;

  private:
    struct Flight {
        Token token;
        int status;
        std::function<void()> effect;
    };
    std::size_t complete(std::span<Completion> out) {
        if (flights_.empty() || out.empty()) return 0;
        const Flight flight = newest_first ? flights_.back() : flights_.front();
        newest_first ? flights_.pop_back() : flights_.pop_front();
        if (flight.status == 0) flight.effect();
        out[0] = {flight.token, flight.status};
        return 1;
    }
    std::deque<Flight> flights_;
};

}  // namespace nearfetch::testing
