// SPDX-License-Identifier: Apache-2.0
//
// lock_turns in virtual time, on a modelled network: any number of ranks, each with a clock and a cache of
// its own, over one another's words. The rank whose clock is behind goes on. A lock, an unlock and a look
// take a round trip each. Prints one JSON object for each mode: operations of all ranks, and nearfetch's
// counters.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "base/ticks.hpp"
#include "replay/replayed_window.hpp"
#include "rma/leases.hpp"
#include "transport/model/network_model.hpp"

namespace nearfetch::bench {
namespace {

constexpr std::uint64_t records = 256;
constexpr std::uint64_t record_bytes = 16;
/// What a hit, and an elided call, take.
constexpr std::uint64_t served_ns = 50;
/// What the program does between two operations.
constexpr std::uint64_t think_ns = 5000;
constexpr std::uint64_t start_ns = 500;

/// One rank's way to the words of all.
class Words final : public LeaseWords {
  public:
    Words(std::vector<std::uint64_t>& words, SimulatedTicks& clock, std::uint64_t round_trip_ns)
        : words_(words), clock_(clock), round_trip_ns_(round_trip_ns) {}
    int fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override {
        clock_.now += round_trip_ns_;
        return add(target, amount, before);
    }
    int start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override {
        clock_.now += start_ns;
        return add(target, amount, before);
    }
    int complete() override {
        clock_.now += round_trip_ns_;
        return 0;
    }
    void wait_until(std::uint64_t end_ticks) override {
        if (clock_.now < end_ticks) clock_.now = end_ticks;
    }

  private:
    int add(Rank target, std::uint64_t amount, std::uint64_t& before) {
        std::uint64_t& word = words_.at(static_cast<std::size_t>(target));
        before = word;
        word += amount;
        return 0;
    }

    std::vector<std::uint64_t>& words_;
    SimulatedTicks& clock_;
    std::uint64_t round_trip_ns_;
};

class ModelledRank {
  public:
    ModelledRank(Rank self, Rank ranks, const Settings& settings, const NetworkModel& network,
                 std::vector<std::uint64_t>& words)
        : clock_{1'000'000, 0},
          self_(self),
          ranks_(ranks),
          random_(static_cast<unsigned>(self) + 1),
          round_trip_ns_(network.get_ns(8)),
          get_ns_(network.get_ns(record_bytes)),
          words_(words, clock_, round_trip_ns_) {
        simulated_ticks = &clock_;
        const std::vector<TargetMemory> memory(static_cast<std::size_t>(ranks),
                                               {.extent_bytes = records * record_bytes});
        process_.acquires.come_one_by_one(true);
        window_ = std::make_unique<ReplayedWindow>(settings, memory, self, process_, transfers_);
        if (settings.mode != Mode::off)
            window_->cache().locks().open_leases(words_, settings.lease_us * 1000);
    }

    std::uint64_t now() const noexcept { return clock_.now; }
    std::uint64_t operations() const noexcept { return reads_ + writes_; }
    RangeCacheCounters counters() { return window_->cache().counters(); }

    /// One operation more.
    void step(std::uint64_t begin_ns, double writes_per_second) {
        simulated_ticks = &clock_;
        clock_.now += think_ns;
        const double elapsed = static_cast<double>(clock_.now - begin_ns) / 1e9;
        if (static_cast<double>(writes_) < elapsed * writes_per_second)
            write();
        else
            read();
    }

  private:
    Rank any_target() {
        return (self_ + 1 + static_cast<Rank>(random_() % static_cast<unsigned>(ranks_ - 1))) % ranks_;
    }
    ReplayedWindow::LibraryCall call(std::uint64_t ns) {
        return [this, ns] {
            clock_.now += ns;
            transfers_.deliver();
            return ns;
        };
    }
    ByteRun any_record() { return {random_() % records * record_bytes, record_bytes, record_.data()}; }

    void read() {
        const Rank target = any_target();
        const ByteRun run = any_record();
        const bool locked = window_->lock_shared(target, call(round_trip_ns_));
        window_->get(target, {&run, 1}, record_bytes);
        const bool unlocked = window_->unlock(target, call(get_ns_));
        if (!locked && !unlocked) clock_.now += served_ns;
        ++reads_;
    }
    void write() {
        const Rank target = any_target();
        const ByteRun run = any_record();
        (void)window_->lock_exclusive(target);
        clock_.now += round_trip_ns_;
        window_->put(target, {&run, 1});
        window_->unlock(target, call(round_trip_ns_));
        ++writes_;
    }

    SimulatedTicks clock_;
    Rank self_;
    Rank ranks_;
    std::mt19937 random_;
    std::uint64_t round_trip_ns_;
    std::uint64_t get_ns_;
    Words words_;
    ProcessState process_;
    CountedTransfers transfers_;
    std::unique_ptr<ReplayedWindow> window_;
    std::vector<std::byte> record_ = std::vector<std::byte>(record_bytes);
    std::uint64_t reads_ = 0;
    std::uint64_t writes_ = 0;
};

void run(const char* mode, Rank ranks, double seconds, double writes_per_second,
         const NetworkModel& network) {
    Settings settings;
    apply_setting(settings, "mode", mode);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(ranks));
    std::vector<std::unique_ptr<ModelledRank>> all;
    using Turn = std::pair<std::uint64_t, Rank>;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    for (Rank rank = 0; rank < ranks; ++rank) {
        all.push_back(std::make_unique<ModelledRank>(rank, ranks, settings, network, words));
        turns.emplace(all.back()->now(), rank);
    }
    const std::uint64_t begin_ns = all.front()->now();
    const auto end_ns = begin_ns + static_cast<std::uint64_t>(seconds * 1e9);
    while (turns.top().first < end_ns) {
        const Rank rank = turns.top().second;
        turns.pop();
        ModelledRank& next = *all[static_cast<std::size_t>(rank)];
        next.step(begin_ns, writes_per_second / ranks);
        turns.emplace(next.now(), rank);
    }
    std::uint64_t operations = 0;
    RangeCacheCounters sum{};
    for (const auto& rank : all) {
        operations += rank->operations();
        sum.add(rank->counters());
    }
    std::printf(
        "{\"mode\": \"%s\", \"operations\": %llu, \"gets\": %llu, \"hits\": %llu, \"lease_looks\": %llu, "
        "\"lease_waits\": %llu, \"locks_elided\": %llu}\n",
        mode, static_cast<unsigned long long>(operations), static_cast<unsigned long long>(sum.gets),
        static_cast<unsigned long long>(sum.hits), static_cast<unsigned long long>(sum.lease_looks),
        static_cast<unsigned long long>(sum.lease_waits), static_cast<unsigned long long>(sum.locks_elided));
    // Windows end by the clock that they have.
    for (auto& rank : all) {
        rank->step(begin_ns, 0);
        rank.reset();
    }
    simulated_ticks = nullptr;
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch;
    using namespace nearfetch::bench;
    const Arguments arguments(argc, argv, {"--writes", "--milliseconds", "--ranks", "--network"});
    const double writes = static_cast<double>(arguments.number("--writes", 1));
    const double seconds = static_cast<double>(arguments.number("--milliseconds", 1000)) / 1e3;
    const auto ranks = static_cast<Rank>(arguments.number("--ranks", 2));
    const NetworkModel network = network_model(arguments.text("--network", "10gbe"));
    for (const char* const mode : {"off", "acquire"})
        run(mode, ranks, seconds, writes, network);
    return 0;
}
