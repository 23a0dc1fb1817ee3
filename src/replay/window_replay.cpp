// SPDX-License-Identifier: Apache-2.0
#include "replay/window_replay.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/finally.hpp"

namespace nearfetch {

namespace {

/// Starts the network's part of a get.
class Starter final : public GetStarter {
  public:
    Starter(WindowTransfers& transfers, Rank target, const ByteRun& whole) noexcept
        : transfers_(transfers), target_(target), whole_(whole) {}
    int start_whole() override { return start_runs({&whole_, 1}); }
    int start_runs(std::span<const ByteRun> runs) override { return transfers_.start_get(target_, runs); }

  private:
    WindowTransfers& transfers_;
    Rank target_;
    const ByteRun& whole_;
};

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

int ModelledTransfers::start_get(Rank, std::span<const ByteRun> runs) {
    for (const ByteRun& run : runs)
        slowest_ns_ = std::max(slowest_ns_, network_.get_ns(run.size));
    return 0;
}

std::uint64_t ModelledTransfers::complete() noexcept { return std::exchange(slowest_ns_, 0); }

WindowReplay::WindowReplay(const Settings& settings, const NetworkModel& network, const Trace& trace)
    : trace_(trace),
      network_(network),
      // A trace has no gets of its own rank, and does not say which one that is.
      window_(settings, static_cast<Rank>(trace.ranks + 1), static_cast<Rank>(trace.ranks), false, process_,
              transfers_, listener_),
      origin_(trace.largest_bytes()) {
    if (!listener_.problem.empty()) throw Error(listener_.problem);
    window_.describe_memory(memory_of(trace));
    // Else the first get of a target would be no lookup, and the cache would count as many gets less.
    if (settings.mode != Mode::off && settings.bypass == Bypass::off)
        for (Rank target = 0; target < static_cast<Rank>(trace.ranks); ++target)
            window_.bypass().resume(target);
    window_.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
}

void WindowReplay::run() {
    simulated_ticks = &clock_;
    const auto back = [] { simulated_ticks = nullptr; };
    const Finally finally(back);
    const std::clock_t begin = std::clock();
    for (const TraceGet& each : trace_.gets) {
        get({each.target, each.offset, each.size, origin_.data()});
        flush(each.target);
    }
    constexpr double clocks_per_ns = CLOCKS_PER_SEC / 1e9;
    software_ns_ = static_cast<std::uint64_t>(static_cast<double>(std::clock() - begin) / clocks_per_ns);
    if (!listener_.problem.empty()) throw Error(listener_.problem);
}

/// As a front end does it.
void WindowReplay::get(const RangeGet& get) {
    if (const std::byte* const data = window_.gets().find(get)) {
        copy_bytes(get.origin, data, get.size);
        return;
    }
    const ByteRun whole{get.offset, get.size, get.origin};
    Starter starter(transfers_, get.target, whole);
    switch (window_.gets().try_get(get)) {
        case Served::hit:
            return;
        case Served::bypass:
            (void)starter.start_whole();
            return window_.gets().record_bypassed_get(get);
        case Served::miss:
            break;
    }
    Begun begun{};
    (void)window_.gets().get({get.target, {&whole, 1}, get.size}, starter, begun);
}

/// The same for a flush.
void WindowReplay::flush(Rank target) {
    constexpr FlushKind kind = FlushKind::full;
    switch (window_.completions().try_flush(target, kind)) {
        case Served::hit:
            return;
        case Served::bypass:
            window_.completions().bypass_flush(target, kind, [this] {
                (void)wait();
                return 0;
            });
            return;
        case Served::miss:
            break;
    }
    const Flush flush = window_.completions().flush(target, kind);
    if (flush == Flush::elided || flush == Flush::elided_progress) return;
    const Moment since = window_.completions().now();
    const std::uint64_t waited_ns = wait();  // in ticks, too: the simulated clock's are nanoseconds
    if (flush == Flush::needed_bypassed)
        window_.completions().complete_bypassed_flush(target, since, kind);
    else
        window_.completions().complete(target, since, kind, 0, waited_ns);
}

/// \return how long it took, ns
std::uint64_t WindowReplay::wait() noexcept {
    const std::uint64_t waited_ns = transfers_.complete();
    network_ns_ += waited_ns;
    clock_.now += waited_ns;
    return waited_ns;
}

}  // namespace nearfetch
