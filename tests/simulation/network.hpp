// SPDX-License-Identifier: Apache-2.0
#pragma once

// A network with every freedom of a transport (transport.hpp), at random: an operation reads or writes its
// bytes in parts between its start and its completion, operations complete in any order, starts are refused,
// operations fail half done. Injected faults break the contract.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dice.hpp"
#include "fault.hpp"
#include "page_program.hpp"
#include "transport/transport.hpp"

namespace nearfetch::simulation {

class SimTransport;

class Network {
  public:
    Network(const PageProgram& program, Fault fault, Dice& dice);
    ~Network();

    Transport& transport(Rank rank);
    /// Number and bytes of operations started there.
    struct Started {
        std::uint64_t gets = 0;
        std::uint64_t get_bytes = 0;
        std::uint64_t puts = 0;
        std::uint64_t put_bytes = 0;
    };
    const Started& started(Rank rank) const;
    /// Turns failures off, or on as the program says.
    void set_steady(bool steady) { steady_ = steady; }
    bool may_fail() const { return program_.flaky && !steady_; }
    /// The first violation by its user, or nothing.
    const std::string& complaint() const { return complaint_; }

    std::vector<std::vector<std::byte>> memory;
    /// Called while a rank waits: others may run.
    std::function<void()> while_waiting;

    /// Fault::late_merges: bytes that GETs have fetched since the last call.
    struct Arrival {
        Rank rank;
        Rank target;
        std::uint64_t address;
        std::vector<std::byte> bytes;
    };
    std::vector<Arrival> arrivals;

  private:
    friend class SimTransport;
    struct Flight {
        Token token = 0;
        bool get = false;
        Rank target = 0;
        std::uint64_t address = 0;
        std::uint64_t size = 0;
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::uint64_t moved = 0;       ///< bytes read or written so far
        std::uint64_t slow_until = 0;  ///< others overtake it until so many polls
    };
    /// Fault::early_puts: not yet at its target, but reported as complete.
    struct Ghost {
        Rank target;
        std::uint64_t address;
        std::vector<std::byte> bytes;
    };

    void complain(const std::string& what);
    ByteRange region_at(Rank target, std::uint64_t address) const noexcept;
    void move(Flight& flight, std::uint64_t until);
    int finish(Flight& flight, Rank rank);
    void spoil(Flight& flight, Rank rank);
    void stir();

    const PageProgram& program_;
    Fault fault_;
    Dice& dice_;
    std::vector<std::unique_ptr<SimTransport>> transports_;
    std::vector<std::vector<std::byte>> past_;  ///< Fault::past_gets: each byte before its last PUT
    std::vector<Ghost> ghosts_;
    std::string complaint_;
    std::uint64_t now_ns_ = 0;
    std::uint64_t looks_ = 0;       ///< polls of any rank
    std::uint64_t idle_waits_ = 0;  ///< consecutive
    bool steady_ = false;
};

}  // namespace nearfetch::simulation
