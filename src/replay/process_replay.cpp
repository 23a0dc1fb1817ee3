// SPDX-License-Identifier: Apache-2.0
#include "replay/process_replay.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/finally.hpp"
#include "recording/event_reader.hpp"
#include "recording/sampling.hpp"

namespace nearfetch {

namespace {

/// What a hit, an elided call or a put that is combined takes.
constexpr std::uint64_t served_ns = 100;
constexpr std::size_t least_origins = 16u << 20;

}  // namespace

/// The words of a window's leases: what this process has added, and what is known of the others.
struct ProcessReplay::Words final : LeaseWords {
    Words(ProcessReplay& replay, std::uint32_t id, std::size_t ranks)
        : replay_(replay), id_(id), own_(ranks) {}

    int fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override {
        replay_.spend(round_trip_ns);
        return start_fetch_add(target, amount, before);
    }
    int start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override {
        std::uint64_t& own = own_.at(static_cast<std::size_t>(target));
        before = own + of_others(target);
        own += amount;
        return 0;
    }
    int complete() override {
        replay_.spend(round_trip_ns);
        return 0;
    }
    void wait_until(std::uint64_t end_ticks) override {
        if (end_ticks > replay_.clock_.now) replay_.spend(end_ticks - replay_.clock_.now);
    }

  private:
    static constexpr std::uint64_t round_trip_ns = 20'000;

    /// Others have always looked meanwhile.
    std::uint64_t of_others(Rank target) {
        std::uint64_t word = ++looks_ * LeaseWord::one_look;
        const auto found = replay_.writes_.find({id_, target});
        if (found == replay_.writes_.end()) return word;
        const std::uint64_t now_ns = replay_.recorded_.begin_ns + replay_.recorded_now_ns_;
        for (const WriteInterval& write : found->second) {
            if (write.end_ns <= now_ns)
                word += LeaseWord::one_version;
            else if (write.begin_ns <= now_ns)
                word += LeaseWord::one_writer;
        }
        return word;
    }

    ProcessReplay& replay_;
    std::uint32_t id_;
    std::uint64_t looks_ = 0;
    std::vector<std::uint64_t> own_;
};

struct ProcessReplay::Window {
    Window(ProcessReplay& replay, std::uint32_t id, std::span<const TargetMemory> memory, Rank self)
        : words(replay, id, memory.size()),
          replayed(replay.settings_, memory, self, replay.process_, transfers) {}

    Words words;
    CountedTransfers transfers;
    ReplayedWindow replayed;
    std::uint64_t asked_bytes = 0;   ///< by gets whose completion is to come, of those that were started
    std::uint64_t before_bytes = 0;  ///< that had been started when they were counted last
};

ProcessReplay::ProcessReplay(const Settings& settings, const RecordedProcess& recorded,
                             const WriteIntervals& writes)
    : settings_(settings), recorded_(recorded), writes_(writes) {
    if (settings.memory_bytes != 0)
        process_.memory.set_limit(static_cast<std::uint64_t>(
            std::ceil(static_cast<double>(settings.memory_bytes) * recorded.share())));
    process_.acquires.come_one_by_one(true);
    origin_bytes_ = std::max<std::size_t>(least_origins, 2 * recorded.largest_get);
    origins_.reset(new std::byte[origin_bytes_]{});
}

ProcessReplay::~ProcessReplay() = default;

ProcessOutcome ProcessReplay::run() {
    simulated_ticks = &clock_;
    const auto back = [] { simulated_ticks = nullptr; };
    const Finally finally(back);
    process_.begin_ticks = clock_.now;
    EventReader reader(recorded_.path);
    Sampling sampling;
    sampling.set_share(recorded_.sampled);
    for (Event event; reader.next(event);) {
        const std::uint64_t duration_ns = event.gap_ns + event.took_ns;
        sampling.add(event, [this](const Event& kept) { replay(kept); });
        recorded_now_ns_ += duration_ns;
    }
    while (!windows_.empty())
        end_window(windows_.begin()->first);
    outcome_.memory_bytes = process_.memory.most_taken();
    if (saved_calls_ > 0)
        outcome_.saved_variance = saved_squares_ - saved_sum_ns_ * saved_sum_ns_ / saved_calls_;
    return outcome_;
}

void ProcessReplay::spend(std::uint64_t ns) noexcept {
    clock_.now += ns;
    outcome_.replayed_ns += ns;
}

void ProcessReplay::save(std::uint64_t took_ns) noexcept {
    const auto ns = static_cast<double>(took_ns);
    saved_calls_ += 1;
    saved_sum_ns_ += ns;
    saved_squares_ += ns * ns;
    spend(served_ns);
}

void ProcessReplay::replay(const Event& event) {
    clock_.now += event.gap_ns;
    switch (event.kind) {
        case EventKind::text:
            texts_[event.size].assign(event.values.begin(), event.values.end());
            return;
        case EventKind::acquire:
            clock_.now += event.took_ns;
            process_.acquires.acquire(texts_[event.size].c_str());
            if (process_.lease_writers != 0)
                for (auto& [id, window] : windows_)
                    window->replayed.cache().locks().end_writing();
            return;
        case EventKind::window:
            return make_window(event);
        case EventKind::window_end:
            return end_window(event.window);
        default:
            break;
    }
    const auto found = windows_.find(event.window);
    if (found == windows_.end()) return;
    outcome_.recorded_ns += event.took_ns;
    event.is_access() ? replay_access(event, *found->second) : replay_epoch(event, *found->second);
}

void ProcessReplay::make_window(const Event& event) {
    std::vector<TargetMemory> memory;
    for (std::size_t at = 1; at + 1 < event.values.size(); at += 2) {
        const std::uint64_t phase = event.values[at + 1];
        const bool is_declared = phase < memory_page_bytes;
        memory.push_back({.extent_bytes = event.values[at],
                          .page_phase = is_declared ? phase : 0,
                          .is_declared = is_declared});
    }
    auto window = std::make_unique<Window>(*this, event.window, memory, event.target);
    if (memory.size() > 1 && settings_.locks == "auto")
        window->replayed.cache().locks().open_leases(window->words, settings_.lease_us * 1000);
    windows_[event.window] = std::move(window);
}

void ProcessReplay::end_window(std::uint32_t id) {
    const auto found = windows_.find(id);
    if (found == windows_.end()) return;
    WindowCache& cache = found->second->replayed.cache();
    found->second->replayed.check();
    cache.locks().close_leases();
    outcome_.counters.add(cache.counters());
    windows_.erase(found);
}

/// The runs of an access. Those of accesses that are under way have origins of their own.
std::span<const ByteRun> ProcessReplay::runs_of(const Event& event) {
    runs_.clear();
    if (next_origin_ + event.size > origin_bytes_) next_origin_ = 0;
    std::byte* origin = origins_.get() + next_origin_;
    next_origin_ += event.size;
    if (event.values.empty()) runs_.push_back({event.offset, event.size, origin});
    for (std::size_t at = 0; at + 1 < event.values.size(); at += 2) {
        runs_.push_back({event.offset + event.values[at], event.values[at + 1], origin});
        origin += event.values[at + 1];
    }
    return runs_;
}

std::uint64_t ProcessReplay::enter(Window& window, std::uint64_t took_ns) noexcept {
    const std::uint64_t started = window.transfers.bytes() - window.before_bytes;
    window.before_bytes += started;
    const double more =
        static_cast<double>(started) - static_cast<double>(std::exchange(window.asked_bytes, 0));
    window.transfers.deliver();
    const double ns = std::max(static_cast<double>(took_ns) + more * recorded_.byte_ns, 1.0);
    spend(static_cast<std::uint64_t>(ns));
    return static_cast<std::uint64_t>(ns);
}

void ProcessReplay::replay_access(const Event& event, Window& window) {
    const bool fetches = settings_.atomics == "synchronize";
    bool is_started = true;
    switch (event.kind) {
        case EventKind::get:
            if (event.size == 0) break;
            is_started = window.replayed.get(event.target, runs_of(event), event.size);
            if (is_started) window.asked_bytes += event.size;
            break;
        case EventKind::put:
            if (event.size != 0)
                is_started = window.replayed.put(event.target, runs_of(event));
            else
                window.replayed.update(event.target, {}, false);
            break;
        case EventKind::read:
            window.replayed.read(event.target, fetches);
            break;
        default:
            window.replayed.update(event.target,
                                   event.size == 0 ? std::span<const ByteRun>() : runs_of(event),
                                   fetches && event.kind == EventKind::atomic);
    }
    is_started ? spend(event.took_ns) : save(event.took_ns);
}

void ProcessReplay::replay_epoch(const Event& event, Window& window) {
    ReplayedWindow& w = window.replayed;
    const FlushKind kind = event.flag ? FlushKind::local : FlushKind::full;
    const ReplayedWindow::LibraryCall call = [this, &window, took = event.took_ns] {
        return enter(window, took);
    };
    const auto epochs = [&](auto change) { w.cache().locks().change_epochs(change); };
    bool has_entered = true;
    switch (event.kind) {
        case EventKind::wait:
            has_entered = w.flush(event.target, FlushKind::local, call);
            break;
        case EventKind::flush:
            has_entered = w.flush(event.target, kind, call);
            break;
        case EventKind::flush_all:
            has_entered = w.flush_all(kind, call);
            break;
        case EventKind::lock:
            if (event.flag) {
                (void)w.lock_exclusive(event.target);
                call();
            } else {
                has_entered = w.lock_shared(event.target, call);
            }
            break;
        case EventKind::unlock:
            has_entered = w.unlock(event.target, call);
            break;
        case EventKind::lock_all:
            call();
            if (settings_.locks != "access") process_.acquires.acquire_by_lock("MPI_Win_lock_all");
            epochs([](EpochTracker& all) { all.set_all(Epoch::passive); });
            break;
        case EventKind::unlock_all:
            w.complete_all(FlushKind::full, call);
            epochs([](EpochTracker& all) { all.set_all(Epoch::none); });
            break;
        case EventKind::fence:
            w.complete_all(FlushKind::full, call);
            epochs([&](EpochTracker& all) { event.flag ? all.set_all(Epoch::none) : all.fence(); });
            break;
        case EventKind::start:
            epochs([&](EpochTracker& all) {
                all.start(std::vector<Rank>(event.values.begin(), event.values.end()));
            });
            break;
        case EventKind::complete:
            w.complete_all(FlushKind::full, call);
            epochs([](EpochTracker& all) { all.complete(); });
            break;
        case EventKind::sync:
            if (settings_.mode == Mode::transparent) w.cache().acquire();
            break;
        default:
            break;
    }
    if (!has_entered) save(event.took_ns);
}

}  // namespace nearfetch
