// SPDX-License-Identifier: Apache-2.0
#pragma once

// Puts a modelled network in front of any transport. An operation is started on the transport underneath at
// once, and reported when both that one has completed it and the model lets it be complete; when that is, is
// known as soon as it is started (network_interface.hpp).
//
// A transport's contract leaves more open than a quiet network shows. So completions can be delayed by chance
// (jitter_ns), which puts them in any order, and effects can be late: the operation is then started
// underneath at some time between its start and its completion, and shows who looked at a buffer, or changed
// one, too early.

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "transport/model/model_clock.hpp"
#include "transport/model/network_interface.hpp"
#include "transport/model/network_model.hpp"
#include "transport/model/random.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

class VirtualRanks;

struct ModelSettings {
    NetworkModel network;
    std::uint64_t seed = 1;
    std::uint64_t jitter_ns = 0;  ///< each operation takes up to so much longer, by chance
    bool late_effects = false;    ///< GETs read and PUTs write at some time before they complete, by chance
};

class ModelTransport final : public Transport {
  public:
    /// \param self the rank whose endpoint this is: what it does with itself needs no network
    /// \param ranks in virtual time; else nullptr
    ModelTransport(std::unique_ptr<Transport> inner, const ModelSettings& settings, std::uint64_t seed,
                   Rank self, NetworkInterface& network, ModelClock& clock, VirtualRanks* ranks);

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override;
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override;
    std::size_t test(std::span<Completion> out) override;
    std::size_t wait(std::span<Completion> out) override;
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override {
        return inner_->readable(target, address);
    }
    void yield() override;
    std::uint64_t now_ns() override { return clock_.now_ns(); }
    std::string status_text(int status) const override { return inner_->status_text(status); }

  private:
    struct Operation {
        Rank target = 0;
        std::uint64_t address = 0;
        std::uint64_t size = 0;
        std::byte* to = nullptr;          ///< of a GET
        const std::byte* from = nullptr;  ///< of a PUT
        Token token = 0;
        std::uint64_t due_ns = 0;
        int status = 0;
    };
    /// An operation's place in operations_, and when it is its turn.
    using Event = std::pair<std::uint64_t, std::size_t>;
    using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

    int start(const Operation& operation);
    int start_inside(std::size_t place);
    std::uint64_t done_ns(const Operation& operation, std::uint64_t now_ns);
    void start_late_ones(std::uint64_t now_ns);
    void collect(bool wait);
    std::size_t report(std::span<Completion> out, std::uint64_t now_ns);
    std::uint64_t next_event_ns() const;

    std::unique_ptr<Transport> inner_;
    const ModelSettings& settings_;
    Rank self_;
    NetworkInterface& network_;
    ModelClock& clock_;
    VirtualRanks* ranks_;
    Chance chance_;
    std::vector<Operation> operations_;
    std::vector<std::size_t> free_;
    Events late_;             ///< not started underneath yet
    std::size_t inside_ = 0;  ///< so many are under way underneath
    Events complete_;         ///< underneath, and waiting to be due
};

}  // namespace nearfetch
