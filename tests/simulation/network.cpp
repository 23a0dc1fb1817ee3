// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace nearfetch::simulation {

namespace {

constexpr int refused = 11;
constexpr int failed = 12;
constexpr std::uint64_t idle_waits_most = 100000;

}  // namespace

class SimTransport final : public Transport {
  public:
    SimTransport(Network& network, Rank rank) : network_(network), rank_(rank) {}

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override {
        Network::Flight flight{token, true, target, address, size, to, nullptr, 0, 0};
        std::memset(to, 0xee, size);
        const int status = start(flight);
        if (status != 0) return status;
        ++counts.gets;
        counts.get_bytes += size;
        return 0;
    }
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override {
        Network::Flight flight{token, false, target, address, size, nullptr, from, 0, 0};
        const int status = start(flight);
        if (status != 0) return status;
        ++counts.puts;
        counts.put_bytes += size;
        return 0;
    }
    std::size_t test(std::span<Completion> out) override {
        network_.idle_waits_ = 0;
        ++network_.looks_;
        if (network_.dice_.one_in(2)) return 0;
        network_.stir();
        return complete(out);
    }
    std::size_t wait(std::span<Completion> out) override {
        if (flights.empty()) network_.complain("somebody waits, and nothing is under way");
        ++network_.looks_;
        if (network_.while_waiting) network_.while_waiting();
        network_.stir();
        if (!flights.empty()) {
            network_.idle_waits_ = 0;
            return std::max<std::size_t>(1, complete(out, 1));
        }
        if (++network_.idle_waits_ > idle_waits_most) {
            std::fprintf(stderr, "simulate: a call waits for ever\n");
            std::abort();
        }
        return 0;
    }
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override {
        return network_.region_at(target, address);
    }
    void yield() override {}
    std::uint64_t now_ns() override { return network_.now_ns_ += network_.dice_.below(300); }

    std::vector<Network::Flight> flights;
    Network::Started counts;

  private:
    int start(const Network::Flight& flight) {
        const ByteRange range{flight.address, flight.address + flight.size};
        if (flight.size == 0 || !network_.region_at(flight.target, flight.address).contains(range))
            network_.complain(std::string(flight.get ? "a GET" : "a PUT") + " of " +
                              std::to_string(flight.target) + ": " + std::to_string(flight.address) + "+" +
                              std::to_string(flight.size) + " leaves the accessible memory");
        if (!network_.complaint_.empty()) return refused;
        if (network_.may_fail() && network_.dice_.one_in(12)) return refused;
        flights.push_back(flight);
        if (network_.program_.slow && network_.dice_.one_in(4))
            flights.back().slow_until = network_.looks_ + network_.dice_.below(300);
        if (network_.dice_.one_in(4)) network_.move(flights.back(), flight.size);
        return 0;
    }
    std::size_t complete(std::span<Completion> out, std::size_t least = 0) {
        // Slow flights are last; they are skipped until their time, or until nothing else is left.
        const auto slow = std::stable_partition(flights.begin(), flights.end(), [this](const auto& flight) {
            return flight.slow_until <= network_.looks_;
        });
        const auto ready = static_cast<std::size_t>(slow - flights.begin());
        const std::size_t most = std::min(out.size(), std::max(ready, least));
        std::size_t count = least + network_.dice_.below(1 + most - least);
        if (network_.dice_.one_in(3)) count = most;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t choice = ready > i ? ready - i : flights.size();
            const auto which = flights.begin() + static_cast<std::ptrdiff_t>(network_.dice_.below(choice));
            Network::Flight flight = *which;
            flights.erase(which);
            out[i] = {flight.token, network_.finish(flight, rank_)};
        }
        return count;
    }

    Network& network_;
    Rank rank_;
};

Network::Network(const PageProgram& program, Fault fault, Dice& dice)
    : program_(program), fault_(fault), dice_(dice) {
    for (Rank rank = 0; rank < program.ranks; ++rank) {
        memory.emplace_back(program.memory_bytes);
        for (std::uint64_t i = 0; i < program.memory_bytes; ++i)
            memory.back()[i] = static_cast<std::byte>(mixed(i * 8 + static_cast<std::uint64_t>(rank)));
        transports_.push_back(std::make_unique<SimTransport>(*this, rank));
    }
    if (fault == Fault::past_gets) past_ = memory;
}

Network::~Network() = default;

Transport& Network::transport(Rank rank) { return *transports_[static_cast<std::size_t>(rank)]; }
const Network::Started& Network::started(Rank rank) const {
    return transports_[static_cast<std::size_t>(rank)]->counts;
}

void Network::complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
}

ByteRange Network::region_at(Rank target, std::uint64_t address) const noexcept {
    if (target >= 0 && target < program_.ranks)
        for (const ByteRange& region : program_.regions)
            if (region.begin <= address && address < region.end) return region;
    return {};
}

/// The flight's bytes up to `until` take effect.
void Network::move(Flight& flight, std::uint64_t until) {
    if (until <= flight.moved) return;
    const std::uint64_t count = until - flight.moved;
    const std::uint64_t address = flight.address + flight.moved;
    std::byte* const there = memory[static_cast<std::size_t>(flight.target)].data() + address;
    if (flight.get) {
        std::memcpy(flight.to + flight.moved, there, count);
    } else {
        if (fault_ == Fault::past_gets)
            std::memcpy(past_[static_cast<std::size_t>(flight.target)].data() + address, there, count);
        std::memcpy(there, flight.from + flight.moved, count);
    }
    flight.moved = until;
}

/// \return the status with which it completes
int Network::finish(Flight& flight, Rank rank) {
    if (fault_ == Fault::lost_puts && !flight.get && dice_.one_in(30)) return 0;
    if (may_fail() && dice_.one_in(12)) return failed;
    if (fault_ == Fault::early_puts && !flight.get && dice_.one_in(4)) {
        ghosts_.push_back({flight.target, flight.address, {flight.from, flight.from + flight.size}});
        return 0;
    }
    move(flight, flight.size);
    if (fault_ != Fault::none) spoil(flight, rank);
    return 0;
}

/// Applies the injected fault to a complete flight.
void Network::spoil(Flight& flight, Rank rank) {
    auto& there = memory[static_cast<std::size_t>(flight.target)];
    if (fault_ == Fault::wide_puts && !flight.get &&
        flight.address + flight.size < region_at(flight.target, flight.address).end)
        there[flight.address + flight.size] = std::byte{0};
    if (!flight.get) return;
    if (fault_ == Fault::lost_gets && dice_.one_in(50)) flight.to[dice_.below(flight.size)] = std::byte{0xee};
    if (fault_ == Fault::past_gets && dice_.one_in(4))
        std::memcpy(flight.to, past_[static_cast<std::size_t>(flight.target)].data() + flight.address,
                    flight.size);
    if (fault_ == Fault::late_merges)
        arrivals.push_back({rank, flight.target, flight.address, {flight.to, flight.to + flight.size}});
}

/// Some outstanding bytes of any rank take effect.
void Network::stir() {
    for (std::uint64_t times = dice_.below(3); times > 0; --times) {
        auto& flights = transports_[dice_.below(transports_.size())]->flights;
        if (flights.empty()) continue;
        Flight& flight = flights[dice_.below(flights.size())];
        move(flight, dice_.one_in(2) ? flight.size : dice_.below(flight.size));
    }
    if (ghosts_.empty() || !dice_.one_in(3)) return;
    const Ghost& ghost = ghosts_.front();
    std::copy(
        ghost.bytes.begin(), ghost.bytes.end(),
        memory[static_cast<std::size_t>(ghost.target)].begin() + static_cast<std::ptrdiff_t>(ghost.address));
    ghosts_.erase(ghosts_.begin());
}

}  // namespace nearfetch::simulation
