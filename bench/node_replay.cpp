// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a node, each with its trace of gets and its window, without MPI (src/replay). They share what
// they fetch where a --config has node_buffer_bytes, else they have their own caches alone. The rank that has
// waited least for the network goes next. Prints one JSON object for each --config: what all ranks have
// counted together, and the mean time that a rank waits for the network.
//
// --trace lcc:... is one of traces.hpp; the node's --ranks begin with its `rank`. Gets of the same node are
// left out, so all that is counted is between nodes.

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <queue>

#include "base/error.hpp"
#include "replay/own_node_buffer.hpp"
#include "replay/window_replay.hpp"
#include "traces.hpp"

namespace nearfetch::bench {
namespace {

using Json = nlohmann::ordered_json;

Settings settings_of(const Config& config) {
    Settings settings;
    settings.mode = Mode::always_cache;
    settings.bypass = Bypass::off;
    settings.node_buffer_bytes = 0;
    for (const auto& [name, value] : config.settings)
        apply_setting(settings, name, value);
    return settings;
}

/// The ranks of a node under one configuration.
class Node {
  public:
    Node(const Settings& settings, const NetworkModel& network, const std::vector<Trace>& traces) {
        if (settings.node_buffer_bytes != 0) shared_.emplace(settings.node_buffer_bytes);
        for (const Trace& trace : traces) {
            ranks_.push_back(std::make_unique<WindowReplay>(settings, network, trace));
            if (shared_) ranks_.back()->share(shared_->buffer());
        }
    }

    void run() {
        using Turn = std::pair<std::uint64_t, std::size_t>;  // when, who
        std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
            turns.emplace(0, rank);
        while (!turns.empty()) {
            const std::size_t rank = turns.top().second;
            turns.pop();
            if (ranks_[rank]->step()) turns.emplace(ranks_[rank]->network_ns(), rank);
        }
    }
    Json result() {
        RangeCacheCounters sum;
        std::uint64_t network_ns = 0, memory_bytes = shared_ ? shared_->bytes() : 0;
        for (const auto& rank : ranks_) {
            sum.add(rank->counters());
            network_ns += rank->network_ns();
            memory_bytes += rank->memory_bytes();
        }
        Json counters;
        for (const CounterInfo& row : range_cache_counter_table)
            counters[std::string(row.name)] = sum.*row.member;
        return {{"counters", counters},
                {"network_ns", network_ns / ranks_.size()},
                {"memory_bytes", memory_bytes}};
    }

  private:
    std::optional<OwnNodeBuffer> shared_;
    std::vector<std::unique_ptr<WindowReplay>> ranks_;
};

void run(const Arguments& arguments) {
    const Config chosen = to_config(arguments.text("--trace", ""));
    const std::uint64_t count = arguments.number("--ranks", 1);
    std::vector<Trace> traces = make_lcc_traces(chosen, count);
    Rank first = 0;
    for (const auto& [key, value] : chosen.settings)
        if (key == "rank") first = static_cast<Rank>(to_number(value));
    const auto is_near = [&](const TraceGet& get) {
        return get.target >= first && get.target < first + static_cast<Rank>(count);
    };
    for (Trace& trace : traces)
        std::erase_if(trace.gets, is_near);
    const std::string name = arguments.text("--network", "");
    const NetworkModel network = name.empty() ? NetworkModel{} : network_model(name);
    for (const Config& config : arguments.configs()) {
        Node node(settings_of(config), network, traces);
        node.run();
        Json result = node.result();
        result["config"] = config.name;
        std::printf("%s\n", result.dump().c_str());
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch::bench;
    const Arguments arguments(argc, argv, {"--trace", "--ranks", "--config", "--network"});
    try {
        run(arguments);
    } catch (const nearfetch::Error& error) {
        give_up(error.what());
    }
}
