// SPDX-License-Identifier: Apache-2.0
#include "replay/window_replay.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/finally.hpp"

namespace nearfetch {

namespace {

/// Of each rank; the last one is whose trace it is.
std::vector<TargetMemory> memory_of(const Trace& trace) {
    std::vector<TargetMemory> memory(trace.ranks + std::size_t{1});
    for (const TraceGet& get : trace.gets) {
        std::uint64_t& extent = memory[static_cast<std::size_t>(get.target)].extent_bytes;
        extent = std::max(extent, get.offset + get.size);
    }
    return memory;
}

}  // namespace

WindowReplay::WindowReplay(const Settings& settings, const NetworkModel& network, const Trace& trace)
    : trace_(trace),
      network_(network),
      transfers_([this](const ByteRun& run) {
          slowest_ns_ = std::max(slowest_ns_, network_.get_ns(run.size));
          if (is_shared_) std::memset(run.origin, 0, run.size);
      }),
      // A trace has no gets of its own rank, and does not say which one that is.
      window_(settings, memory_of(trace), static_cast<Rank>(trace.ranks), process_, transfers_),
      origin_(trace.largest_bytes()) {
    if (settings.memory_bytes != 0) process_.memory.set_limit(settings.memory_bytes);
    // Else the first get of a target would be no lookup, and the cache would count as many gets less.
    if (settings.mode != Mode::off && settings.bypass == Bypass::off)
        for (Rank target = 0; target < static_cast<Rank>(trace.ranks); ++target)
            window_.cache().bypass().resume(target);
    window_.cache().locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
}

bool WindowReplay::step() {
    if (next_ == trace_.gets.size()) return false;
    simulated_ticks = &clock_;
    const auto back = [] { simulated_ticks = nullptr; };
    const Finally finally(back);
    const ReplayedWindow::LibraryCall wait = [this] {
        const std::uint64_t waited_ns = std::exchange(slowest_ns_, 0);
        network_ns_ += waited_ns;
        clock_.now += waited_ns;
        return waited_ns;
    };
    const TraceGet& get = trace_.gets[next_++];
    const ByteRun run{get.offset, get.size, origin_.data()};
    window_.get(get.target, {&run, 1}, get.size);
    window_.flush(get.target, FlushKind::full, wait);
    return true;
}

void WindowReplay::run() {
    const std::clock_t begin = std::clock();
    while (step()) {
    }
    constexpr double clocks_per_ns = CLOCKS_PER_SEC / 1e9;
    software_ns_ = static_cast<std::uint64_t>(static_cast<double>(std::clock() - begin) / clocks_per_ns);
    window_.check();
}

}  // namespace nearfetch
