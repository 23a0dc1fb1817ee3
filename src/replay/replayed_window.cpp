// SPDX-License-Identifier: Apache-2.0
#include "replay/replayed_window.hpp"

#include <cstring>
#include <utility>

#include "base/copy.hpp"
#include "base/error.hpp"

namespace nearfetch {

namespace {

/// The library's part of a get or a put.
class Starter final : public GetStarter, public PutStarter {
  public:
    Starter(WindowTransfers& transfers, Rank target, std::span<const ByteRun> whole,
            const std::function<void()>& before) noexcept
        : transfers_(transfers), target_(target), whole_(whole), before_(before) {}
    int start_whole() override { return start_runs(whole_); }
    int start_runs(std::span<const ByteRun> runs) override {
        before_();
        has_started_ = true;
        return transfers_.start_get(target_, runs);
    }
    int start() override {
        has_started_ = true;
        return 0;
    }
    bool has_started() const noexcept { return has_started_; }

  private:
    WindowTransfers& transfers_;
    Rank target_;
    std::span<const ByteRun> whole_;
    const std::function<void()>& before_;
    bool has_started_ = false;
};

}  // namespace

int CountedTransfers::start_get(Rank, std::span<const ByteRun> runs) {
    for (const ByteRun& run : runs) {
        bytes_ += run.size;
        if (started_)
            started_(run.size);
        else
            under_way_.push_back(run);
    }
    return 0;
}

void CountedTransfers::deliver() noexcept {
    for (const ByteRun& run : under_way_)
        std::memset(run.origin, 0, run.size);
    under_way_.clear();
}

ReplayedWindow::ReplayedWindow(const Settings& settings, std::span<const TargetMemory> memory, Rank self,
                               ProcessState& process, std::function<void(std::uint64_t)> started)
    : process_(process),
      transfers_(std::move(started)),
      cache_(settings, static_cast<Rank>(memory.size()), self, false, process, transfers_, listener_) {
    check();
    cache_.describe_memory(memory);
}

void ReplayedWindow::check() const {
    if (!listener_.problem.empty()) throw Error(listener_.problem);
}

void ReplayedWindow::open_locks() {
    cache_.locks().open_leased();
    for (auto& [target, call] : std::exchange(kept_locks_, {}))
        call();
}

bool ReplayedWindow::get(Rank target, std::span<const ByteRun> runs, std::uint64_t size_bytes) {
    const RangeGet get{target, runs.front().offset, size_bytes, runs.front().origin};
    Served served = cache_.settings().mode == Mode::off ? Served::bypass : Served::miss;
    if (runs.size() == 1) {
        if (const std::byte* const data = cache_.gets().find(get)) {
            copy_bytes(get.origin, data, get.size);
            return false;
        }
        served = cache_.gets().try_get(get);
        if (served == Served::hit) return false;
    }
    const std::function<void()> open = [this] { open_locks(); };
    Starter starter(transfers_, target, runs, open);
    if (served == Served::bypass) {
        (void)starter.start_whole();
        cache_.gets().record_bypassed_get(get);
        return true;
    }
    Begun begun{};
    (void)cache_.gets().get({target, runs, size_bytes}, starter, begun);
    return starter.has_started();
}

bool ReplayedWindow::put(Rank target, std::span<const ByteRun> runs) {
    cache_.locks().take_leased_lock();
    open_locks();
    const std::function<void()> nothing = [] {};
    Starter starter(transfers_, target, runs, nothing);
    bool started = true;
    if (cache_.updates().bypass_put(target)) return true;
    (void)cache_.updates().put(target, runs, starter, true, &started);
    return started;
}

void ReplayedWindow::update(Rank target, std::span<const ByteRun> runs, bool fetches) {
    cache_.locks().take_leased_lock();
    open_locks();
    (void)cache_.updates().send_combined(target);
    cache_.updates().update_started(target, runs, fetches);
}

void ReplayedWindow::read(Rank target, bool fetches) {
    cache_.locks().take_leased_lock();
    open_locks();
    (void)cache_.updates().send_combined(target);
    cache_.updates().read_started(target, fetches);
}

bool ReplayedWindow::flush(Rank target, FlushKind kind, const LibraryCall& call) {
    CompletionPath completions = cache_.completions();
    switch (completions.try_flush(target, kind)) {
        case Served::hit:
            return false;
        case Served::bypass:
            completions.bypass_flush(target, kind, [&] {
                open_locks();
                (void)call();
                return 0;
            });
            return true;
        case Served::miss:
            break;
    }
    const Flush flush = completions.flush(target, kind);
    if (flush == Flush::elided || flush == Flush::elided_progress) return false;
    cache_.locks().take_leased_lock();
    open_locks();
    const Moment since = completions.now();
    if (kind == FlushKind::full) (void)cache_.updates().send_combined(target);
    const std::uint64_t waited_ns = call();  // in ticks, too: the simulated clock's are nanoseconds
    if (flush == Flush::needed_bypassed)
        completions.complete_bypassed_flush(target, since, kind);
    else
        completions.complete(target, since, kind, 0, waited_ns);
    return true;
}

bool ReplayedWindow::flush_all(FlushKind kind, const LibraryCall& call) {
    if (cache_.completions().flush_all(kind) != Flush::needed) return false;
    if (kind == FlushKind::full) return complete_all(call), true;
    const Moment since = cache_.completions().now();
    cache_.completions().complete_all(since, kind, 0, call());
    return true;
}

void ReplayedWindow::complete_all(const LibraryCall& call) {
    cache_.locks().take_leased_lock();
    open_locks();
    const Moment since = cache_.completions().now();
    (void)cache_.updates().send_combined(all_targets);
    cache_.completions().complete_all(since, FlushKind::full, 0, call());
}

bool ReplayedWindow::lock_shared(Rank target, const LibraryCall& call) {
    using Keeper = SharedLock::Keeper;
    const SharedLock lock = cache_.locks().judge_shared_lock(target, true);
    if (lock.kept_by == Keeper::nobody) {
        cache_.locks().take_leased_lock();
        open_locks();
        call();
    }
    if (lock.acquires) process_.acquires.acquire_by_lock("MPI_Win_lock");
    if (lock.kept_by == Keeper::nobody)
        cache_.locks().change_epochs([=](EpochTracker& epochs) { epochs.set(target, Epoch::passive); });
    else
        kept_locks_[target] = call;
    if (lock.kept_by == Keeper::lease) cache_.locks().begin_leased(target, 0);
    return lock.kept_by == Keeper::nobody;
}

int ReplayedWindow::lock_exclusive(Rank target) {
    if (const int status = cache_.locks().begin_exclusive(target); status != 0) return status;
    cache_.locks().take_leased_lock();
    open_locks();
    cache_.locks().change_epochs([=](EpochTracker& epochs) { epochs.set(target, Epoch::passive); });
    process_.acquires.acquire_by_lock("MPI_Win_lock");
    return 0;
}

bool ReplayedWindow::unlock(Rank target, const LibraryCall& call) {
    LockPath& locks = cache_.locks();
    const bool is_kept = kept_locks_.contains(target);
    bool serves = false, is_elided = false;
    if (is_kept && !locks.has_leased_epoch()) {
        locks.elide_lock(target);
        is_elided = true;
    } else if (locks.has_leased_epoch()) {
        is_elided = locks.elide_leased(target, serves);
    }
    if (is_elided) {
        kept_locks_.erase(target);
        return false;
    }
    (void)locks.before_unlock(target);
    open_locks();
    const Moment since = cache_.completions().now();
    (void)cache_.updates().send_combined(target);
    cache_.completions().complete(target, since, FlushKind::full, 0, call());
    (void)locks.after_unlock(target, true);
    locks.change_epochs([=](EpochTracker& epochs) { epochs.set(target, Epoch::none); });
    locks.end_writing();
    return true;
}

}  // namespace nearfetch
