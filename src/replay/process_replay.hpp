// SPDX-License-Identifier: Apache-2.0
#pragma once

// A recorded process with other settings, without MPI: its windows, their caches, and its acquires. What hits
// is what would have hit, but for decisions that depend on time.
//
// Time. The program computes between its calls as long as it did. A call that reaches the library takes what
// it took; more or fewer bytes make it longer or shorter by what bytes cost in this recording. A call that
// does not costs a fixed time. So it is known what would have been saved, as far as the network would have
// been the same.
//
// Other processes are seen by their exclusive locks alone, which end leases.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/ticks.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "recording/recorded_process.hpp"
#include "replay/replayed_window.hpp"
#include "rma/leases.hpp"

namespace nearfetch {

struct ProcessOutcome {
    RangeCacheCounters counters{};
    std::uint64_t recorded_ns = 0;   ///< what calls on windows took as they were recorded
    std::uint64_t replayed_ns = 0;   ///< what they would have taken
    std::uint64_t memory_bytes = 0;  ///< the most that caches took, of what was sampled
    /// The variance of what the calls took that are not made any more, together, ns^2.
    double saved_variance = 0;
};

class ProcessReplay {
  public:
    /// \param settings of all windows; memory_bytes is that of the whole process, as if nothing were sampled
    /// \param writes of all other processes \throws Error if the recording cannot be read
    ProcessReplay(const Settings& settings, const RecordedProcess& recorded, const WriteIntervals& writes);
    ~ProcessReplay();

    /// All of the recording, once. \throws Error if there is no memory for a cache
    ProcessOutcome run();

  private:
    struct Words;
    struct Window;

    void replay(const Event& event);
    void replay_access(const Event& event, Window& window);
    void replay_epoch(const Event& event, Window& window);
    void make_window(const Event& event);
    void end_window(std::uint32_t id);
    std::span<const ByteRun> runs_of(const Event& event);
    /// What the library's call takes; it is made.
    std::uint64_t enter(Window& window, std::uint64_t took_ns) noexcept;
    void spend(std::uint64_t ns) noexcept;
    /// A call that took so long is not made any more.
    void save(std::uint64_t took_ns) noexcept;

    Settings settings_;
    const RecordedProcess& recorded_;
    const WriteIntervals& writes_;
    ProcessState process_;
    SimulatedTicks clock_{1, 0};
    std::uint64_t recorded_now_ns_ = 0;  ///< since the process began, as recorded
    std::map<std::uint32_t, std::unique_ptr<Window>> windows_;
    std::map<std::uint64_t, std::string> texts_;
    ProcessOutcome outcome_;
    std::unique_ptr<std::byte[]> origins_;  ///< where gets go, one behind the other
    std::size_t origin_bytes_ = 0;
    std::size_t next_origin_ = 0;
    double saved_calls_ = 0, saved_sum_ns_ = 0, saved_squares_ = 0;
    std::vector<ByteRun> runs_;
};

}  // namespace nearfetch
