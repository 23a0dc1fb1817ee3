// SPDX-License-Identifier: Apache-2.0
//
// A trace of gets through the range cache alone, without MPI (src/replay). What hits and how full the buffer
// is are exact and the same on every machine. Each --config is a cache of its own; --buffers gives all of
// them and all ideal stores the same buffers, in bytes, or as `0.25x` in parts of the trace's distinct bytes.
// With --window MODE it goes through whole windows of that mode, with read-ahead, of which none is bypassed.
//
// One JSON object per line: config, counters, averages since the buffer was full for the first time, and
// times of each of --repeats rounds, in which the configurations take turns. With --occupancy-every K also
// the share of the buffer that is occupied after every K gets. Each --ideal POLICY or `belady` is a store of
// ideal_store.hpp. `plain_network_ns` is what the network takes without a cache. --describe yes prints one
// object on the trace itself: how many gets have which size, and how many bytes are asked for how often.

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "ideal_store.hpp"
#include "replay/replay.hpp"
#include "replay/window_replay.hpp"
#include "traces.hpp"

namespace nearfetch::bench {
namespace {

using Json = nlohmann::ordered_json;

Settings settings_of(const Config& config, Settings settings = {}) {
    for (const auto& [name, value] : config.settings)
        apply_setting(settings, name, value);
    return settings;
}

/// How often each range of bytes is asked for.
std::map<std::tuple<Rank, std::uint64_t, std::uint32_t>, std::uint64_t> uses(const Trace& trace) {
    std::map<std::tuple<Rank, std::uint64_t, std::uint32_t>, std::uint64_t> counts;
    for (const TraceGet& get : trace.gets)
        ++counts[{get.target, get.offset, get.size}];
    return counts;
}

std::uint64_t distinct_bytes(const Trace& trace) {
    std::uint64_t bytes = 0;
    for (const auto& [range, count] : uses(trace))
        bytes += std::get<2>(range);
    return bytes;
}

Json description(const Trace& trace) {
    std::map<std::uint64_t, std::uint64_t> gets_of_size;
    std::map<std::uint64_t, std::uint64_t> ranges_of_uses;
    for (const TraceGet& get : trace.gets)
        ++gets_of_size[get.size];
    for (const auto& [range, count] : uses(trace))
        ++ranges_of_uses[count];
    return {{"gets_of_size", gets_of_size}, {"ranges_of_uses", ranges_of_uses}};
}

/// The sizes that --buffers names; one of none where each configuration has its own.
std::vector<std::optional<std::uint64_t>> buffers(const std::string& text, const Trace& trace) {
    if (text.empty()) return {std::nullopt};
    const std::uint64_t all = distinct_bytes(trace);
    std::vector<std::optional<std::uint64_t>> sizes;
    for (const std::string& size : split(text, ',')) {
        if (size.back() == 'x') {
            sizes.push_back(static_cast<std::uint64_t>(to_real(size.substr(0, size.size() - 1)) *
                                                       static_cast<double>(all)));
            continue;
        }
        Settings settings;
        apply_setting(settings, "buffer_bytes", size);
        sizes.push_back(settings.buffer_bytes);
    }
    return sizes;
}

std::uint64_t plain_network_ns(const Trace& trace, const NetworkModel& network) {
    std::uint64_t sum = 0;
    for (const TraceGet& get : trace.gets)
        sum += network.get_ns(get.size);
    return sum;
}

Json as_json(const RangeCacheCounters& sum) {
    Json counters;
    for (const CounterInfo& row : range_cache_counter_table)
        counters[std::string(row.name)] = sum.*row.member;
    return counters;
}

/// One configuration, and what was measured of it.
class Run {
  public:
    Run(const Config& config, std::optional<std::uint64_t> buffer_bytes, const Trace& trace,
        const NetworkModel& network)
        : name_(config.name), trace_(trace), network_(network) {
        Settings settings = settings_of(config);
        if (buffer_bytes) settings.buffer_bytes = *buffer_bytes;
        config_ = range_cache_config(settings);
    }

    /// What is the same in each round.
    void count(std::uint64_t occupancy_every) {
        Replay run(config_, network_, trace_, Payloads::left_out);
        double free_sum = 0;
        std::uint64_t full_gets = 0, id = 0;
        Json occupancy = Json::array();
        for (; const auto type = run.step(); ++id) {
            if (full_gets == 0 && type != AccessType::capacity && type != AccessType::failing) continue;
            const Occupancy now = run.cache().occupancy();
            const double free = static_cast<double>(now.free_bytes) / static_cast<double>(now.buffer_bytes);
            ++full_gets;
            free_sum += free;
            if (occupancy_every != 0 && id % occupancy_every == 0) occupancy.push_back({id, 1 - free});
        }
        result_ = {{"config", name_},
                   {"buffer_bytes", config_.buffer_bytes},
                   {"gets_since_full", full_gets},
                   {"free_share", full_gets == 0 ? 0 : free_sum / static_cast<double>(full_gets)},
                   {"counters", as_json(run.counters())},
                   {"network_ns", run.network_ns()},
                   {"plain_network_ns", plain_network_ns(trace_, network_)},
                   {"occupancy", occupancy}};
    }
    void measure() {
        for (const auto& [payloads, column] :
             {std::pair{Payloads::copied, "with_copies"}, std::pair{Payloads::left_out, "without_copies"}}) {
            Replay run(config_, network_, trace_, payloads);
            run.finish();
            const SoftwareTimes times = run.times();
            Json& all = result_[column];
            all["get_ns"].push_back(times.get_ns);
            all["hit_ns"].push_back(times.hit_ns);
            all["miss_ns"].push_back(times.miss_ns);
            all["miss_median_ns"].push_back(times.miss_median_ns);
            all["miss_p99_ns"].push_back(times.miss_p99_ns);
        }
    }
    void print() const { std::printf("%s\n", result_.dump().c_str()); }

  private:
    std::string name_;
    const Trace& trace_;
    const NetworkModel& network_;
    RangeCacheConfig config_;
    Json result_;
};

/// The same of a window. Counts need no round of their own.
class WindowRun {
  public:
    WindowRun(const Config& config, const std::string& mode, const Trace& trace, const NetworkModel& network)
        : settings_(settings_of(config, never_bypassing(mode))), trace_(trace), network_(network) {
        result_ = {{"config", config.name},
                   {"buffer_bytes", settings_.buffer_bytes},
                   {"plain_network_ns", plain_network_ns(trace, network)}};
    }
    void measure() {
        WindowReplay run(settings_, network_, trace_);
        run.run();
        result_["counters"] = as_json(run.counters());
        result_["network_ns"] = run.network_ns();
        result_["software_ns"].push_back(run.software_ns());
    }
    void print() const { std::printf("%s\n", result_.dump().c_str()); }

  private:
    static Settings never_bypassing(const std::string& mode) {
        Settings settings;
        settings.bypass = Bypass::off;
        apply_setting(settings, "mode", mode);
        return settings;
    }

    Settings settings_;
    const Trace& trace_;
    const NetworkModel& network_;
    Json result_;
};

void run_windows(const Arguments& arguments, const std::string& mode, const Trace& trace,
                 const NetworkModel& network) {
    std::vector<WindowRun> runs;
    for (const Config& config : arguments.configs())
        runs.emplace_back(config, mode, trace, network);
    const std::uint64_t repeats = std::max<std::uint64_t>(arguments.number("--repeats", 1), 1);
    for (std::uint64_t round = 0; round < repeats; ++round)
        for (WindowRun& each : runs)
            each.measure();
    for (const WindowRun& each : runs)
        each.print();
}

Json ideal(const Config& config, std::optional<std::uint64_t> buffer_bytes, const Trace& trace,
           const NetworkModel& network) {
    const std::uint64_t bytes = buffer_bytes.value_or(settings_of(config).buffer_bytes);
    const StoreOutcome outcome = config.name == "belady" ? belady_size(trace, network, bytes)
                                                         : ideal_store(trace, network, bytes, config.name);
    return {{"ideal", config.name},
            {"buffer_bytes", bytes},
            {"gets", trace.gets.size()},
            {"hits", outcome.hits},
            {"network_ns", outcome.network_ns}};
}

void run(const Arguments& arguments) {
    const Trace trace = make_trace(to_config(arguments.text("--trace", "")));
    if (!arguments.text("--describe", "").empty()) {
        std::printf("%s\n", description(trace).dump().c_str());
        return;
    }
    const std::string name = arguments.text("--network", "");
    const NetworkModel network = name.empty() ? NetworkModel{} : network_model(name);
    if (const std::string mode = arguments.text("--window", ""); !mode.empty()) {
        for (const char* other : {"--buffers", "--ideal", "--occupancy-every"})
            if (!arguments.text(other, "").empty())
                give_up(std::string(other) +
                        " with --window (it is of the cache alone): leave one of them out");
        return run_windows(arguments, mode, trace, network);
    }
    for (const auto buffer_bytes : buffers(arguments.text("--buffers", ""), trace)) {
        std::vector<Run> runs;
        for (const Config& config : arguments.configs())
            runs.emplace_back(config, buffer_bytes, trace, network);
        for (Run& each : runs)
            each.count(arguments.number("--occupancy-every", 0));
        for (std::uint64_t round = arguments.number("--repeats", 0); round > 0; --round)
            for (Run& each : runs)
                each.measure();
        for (const Run& each : runs)
            each.print();
        for (const Config& config : arguments.configs("--ideal"))
            std::printf("%s\n", ideal(config, buffer_bytes, trace, network).dump().c_str());
    }
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch::bench;
    const Arguments arguments(argc, argv,
                              {"--trace", "--config", "--ideal", "--network", "--occupancy-every",
                               "--buffers", "--repeats", "--window", "--describe"});
    try {
        run(arguments);
    } catch (const nearfetch::Error& error) {
        give_up(error.what());
    }
}
