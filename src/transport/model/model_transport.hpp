// SPDX-License-Identifier: Apache-2.0
#pragma once

// A modelled network in front of any transport. An operation starts at once on the inner transport. It is
// reported when that has completed it and the model's completion time is reached; the time is known at the
// start (network_interface.hpp).
//
// A transport's contract allows more than an idle network shows. So completions can be delayed at random
// (jitter_ns), and effects can be late: the operation then starts on the inner transport at some time before
// its completion. That reveals code that uses a buffer too early.

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
    std::uint64_t seed = 1;
    std::uint64_t jitter_ns = 0;  ///< longest random delay of an operation
    bool late_effects = false;    ///< GETs read and PUTs write at a random time before they complete
};

class ModelTransport final : public Transport {
  public:
    /// \param self this endpoint's rank: accesses to itself bypass the network
    /// \param ranks in virtual time; else nullptr
    ModelTransport(std::unique_ptr<Transport> inner, const ModelSettings& settings, std::uint64_t seed,
                   Rank self, Network& network, ModelClock& clock, VirtualRanks* ranks);

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
    void spend(std::uint64_t ns) override { clock_.spend(ns); }
    std::string status_text(int status) const override { return inner_->status_text(status); }

  private:
    struct Operation {
        Rank target = 0;
        std::uint64_t address = 0;
        std::uint64_t size = 0;
        std::byte* to = nullptr;          ///< destination of a GET
        const std::byte* from = nullptr;  ///< source of a PUT
        Token token = 0;
        std::uint64_t due_ns = 0;
        int status = 0;
    };
    /// A due time, and an index of operations_.
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
    Network& network_;
    ModelClock& clock_;
    VirtualRanks* ranks_;
    SeededRandom chance_;
    std::vector<Operation> operations_;
    std::vector<std::size_t> free_;
    Events late_;             ///< not started on the inner transport yet
    std::size_t inside_ = 0;  ///< outstanding on the inner transport
    Events complete_;         ///< complete on the inner transport, not due yet
};

}  // namespace nearfetch
