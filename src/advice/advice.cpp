// SPDX-License-Identifier: Apache-2.0
#include "advice/advice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/settings.hpp"
#include "replay/process_replay.hpp"
#include "report/run_summary.hpp"

namespace nearfetch {

namespace {

/// More choices than these are not worth the time: of a large job so many processes are replayed.
constexpr std::size_t most_processes = 16;
constexpr std::uint64_t least_memory_bytes = 64u << 10;
constexpr double share_of_gain = 0.95;
constexpr double nearly_all = 0.99;
/// What a choice other than the default has to gain more.
constexpr double worth_asking = 1.05;
constexpr double normal_95 = 1.96;
/// Fewer bytes that were read again prove nothing.
constexpr std::uint64_t least_checked = 20;
constexpr std::size_t most_curve_points = 12;

class Adviser {
  public:
    Adviser(const std::vector<RecordedProcess>& processes,
            const std::function<void(std::size_t, std::size_t)>& step)
        : step_(step), rereading_(rereading_of(processes)) {
        const std::size_t stride = (processes.size() + most_processes - 1) / most_processes;
        for (std::size_t i = 0; i < processes.size(); i += std::max<std::size_t>(stride, 1))
            processes_.push_back(&processes[i]);
        for (const RecordedProcess* const one : processes_)
            writes_of_others_.push_back(writes_of_others(processes, *one));
        has_locks_ = std::ranges::any_of(processes, [](const auto& p) { return p.shared_locks != 0; });
        replays_ = 3 + (has_locks_ ? 1 : 0) + most_curve_points + 3;
    }

    Advice advise() {
        Advice advice;
        advice.choices.push_back(try_out({}));
        const Rereads& seen = rereading_.all;
        if (has_locks_)
            advice.choices.push_back(try_promise({{"locks", "access"}}, seen.changed_by_locks, "a lock"));
        advice.choices.push_back(
            try_promise({{"mode", "always-cache"}}, seen.changed_by_locks + seen.changed, "an acquire"));
        advice.choices.push_back(try_out({{"read_ahead_bytes", "0"}}));
        for (std::size_t i = 1; i < advice.choices.size(); ++i) {
            const double best = advice.choices[advice.best].saved_s;
            if (advice.choices[i].is_safe && advice.choices[i].saved_s > std::max(best, 0.0) * worth_asking)
                advice.best = i;
        }
        const Prospect& best = advice.choices[advice.best];
        if (best.saved_s <= 0) return advice;
        follow_memory(best, advice);
        compare_policies(best, advice);
        return advice;
    }

  private:
    static WriteIntervals writes_of_others(const std::vector<RecordedProcess>& all,
                                           const RecordedProcess& one) {
        WriteIntervals writes;
        for (const RecordedProcess& other : all) {
            if (&other == &one) continue;
            for (const auto& [where, intervals] : other.writes)
                std::ranges::copy(intervals, std::back_inserter(writes[where]));
        }
        return writes;
    }

    Prospect try_out(const SettingWords& words) {
        step_(std::min(replayed_, replays_), replays_);
        ++replayed_;
        Settings settings;
        for (const auto& [name, value] : words)
            apply_setting(settings, name, value);
        Prospect prospect{.settings = words,
                          .least_saved_s = std::numeric_limits<double>::infinity(),
                          .most_saved_s = -std::numeric_limits<double>::infinity()};
        double variance = 0;
        const auto count = static_cast<double>(processes_.size());
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            const RecordedProcess& process = *processes_[i];
            const ProcessOutcome outcome = ProcessReplay(settings, process, writes_of_others_[i]).run();
            prospect.counters.add(outcome.counters);
            const double scale = 1e-9 / process.share();
            const double saved_s =
                (static_cast<double>(outcome.recorded_ns) - static_cast<double>(outcome.replayed_ns)) * scale;
            prospect.saved_s += saved_s / count;
            variance += outcome.saved_variance * scale * scale;
            prospect.least_saved_s = std::min(prospect.least_saved_s, saved_s);
            prospect.most_saved_s = std::max(prospect.most_saved_s, saved_s);
            prospect.memory_bytes = std::max(
                prospect.memory_bytes,
                static_cast<std::uint64_t>(static_cast<double>(outcome.memory_bytes) / process.share()));
        }
        prospect.saved_margin_s = normal_95 * std::sqrt(variance) / count;
        return prospect;
    }

    /// The same of settings that promise something.
    /// \param broken reads of the same bytes that brought others where the promise says that they do not
    Prospect try_promise(const SettingWords& words, std::uint64_t broken, const std::string& after) {
        Prospect prospect = try_out(words);
        const std::uint64_t checked = rereading_.all.checked();
        prospect.is_safe = broken == 0 && rereading_.is_known && checked >= least_checked;
        if (!rereading_.is_known)
            prospect.why = "not known: a process has not come to MPI_Finalize";
        else if (checked < least_checked)
            prospect.why =
                "not known: only " + std::to_string(checked) + " reads of the same bytes were checked";
        else if (broken != 0)
            prospect.why = "unsafe: " + std::to_string(broken) + " of " + std::to_string(checked) +
                           " reads again brought other bytes after " + after;
        else
            prospect.why =
                "kept in this run: " + std::to_string(checked) + " reads again brought the same bytes";
        return prospect;
    }

    static SettingWords with(SettingWords words, const char* name, const std::string& value) {
        words.emplace_back(name, value);
        return words;
    }

    /// Doubled until nearly all is gained.
    void follow_memory(const Prospect& best, Advice& advice) {
        const std::uint64_t most = std::bit_ceil(std::max(best.memory_bytes, least_memory_bytes));
        for (std::uint64_t bytes = std::max(most >> (most_curve_points - 1), least_memory_bytes);
             bytes <= most; bytes *= 2) {
            Prospect point = try_out(with(best.settings, "memory_bytes", std::to_string(bytes)));
            point.memory_bytes = bytes;
            advice.curve.push_back(std::move(point));
            const double gained = advice.curve.back().saved_s / best.saved_s;
            if (advice.memory_bytes == 0 && gained >= share_of_gain) advice.memory_bytes = bytes;
            if (gained >= nearly_all) break;
        }
        if (advice.memory_bytes == 0) advice.memory_bytes = most;
    }

    void compare_policies(const Prospect& best, Advice& advice) {
        const SettingWords words = with(best.settings, "memory_bytes", std::to_string(advice.memory_bytes));
        for (const char* const policy : {"density", "gdsf", "lru"})
            advice.policies.push_back(try_out(with(words, "policy", policy)));
    }

    const std::function<void(std::size_t, std::size_t)>& step_;
    Rereading rereading_;
    std::vector<const RecordedProcess*> processes_;
    std::vector<WriteIntervals> writes_of_others_;
    bool has_locks_ = false;
    std::size_t replays_ = 0;
    std::size_t replayed_ = 0;
};

}  // namespace

double Prospect::hit_ratio() const noexcept {
    const std::uint64_t gets = remote_gets(counters);
    return gets == 0 ? 0 : static_cast<double>(served_gets(counters)) / static_cast<double>(gets);
}

Rereading rereading_of(const std::vector<RecordedProcess>& processes) {
    Rereading rereading;
    for (const RecordedProcess& process : processes) {
        rereading.is_known &= process.is_whole;
        rereading.all.add(process.rereads);
    }
    return rereading;
}

Advice advise(const std::vector<RecordedProcess>& processes,
              const std::function<void(std::size_t, std::size_t)>& step) {
    return Adviser(processes, step).advise();
}

}  // namespace nearfetch
