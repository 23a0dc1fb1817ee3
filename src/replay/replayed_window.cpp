// SPDX-License-Identifier: Apache-2.0
#include "replay/replayed_window.hpp"

#include <cstring>
#include <utility>

#include "base/copy.hpp"
#include "base/error.hpp"

namespace nearfetch {

/// The library's part of a get or a put.
class ReplayedWindow::Starter final : public GetStarter, public PutStarter {
  public:
    Starter(ReplayedWindow& window, Rank target, std::span<const ByteRun> whole) noexcept
        : window_(window), target_(target), whole_(whole) {}
    int start_whole() override { return start_runs(whole_); }
    int start_runs(std::span<const ByteRun> runs) override {
        window_.open_locks();
        has_started_ = true;
        return window_.transfers_.start_get(target_, runs);
    }
    int start() override {
        has_started_ = true;
        return window_.transfers_.start_put(target_, whole_);
    }
    bool has_started() const noexcept { return has_started_; }

  private:
    ReplayedWindow& window_;
    Rank target_;
    std::span<const ByteRun> whole_;
    bool has_started_ = false;
};

int CountedTransfers::start_get(Rank, std::span<const ByteRun> runs) {
    for (const ByteRun& run : runs) {
        bytes_ += run.size;
        if (started_)
            started_(run);
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
                               ProcessState& process, WindowTransfers& transfers)
    : process_(process),
      transfers_(transfers),
      cache_(settings, static_cast<Rank>(memory.size()), self, false, process, transfers_, listener_) {
    check();
    cache_.describe_memory(memory);
}

void ReplayedWindow::check() const {
    if (!listener_.problem.empty()) throw Error(listener_.problem);
}

void ReplayedWindow::open_locks() {
    cache_.locks().open_leased();
    call_kept_locks();
}

void ReplayedWindow::take_locks() {
    cache_.locks().take_leased_lock();
    call_kept_locks();
}

void ReplayedWindow::call_kept_locks() {
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
    Starter starter(*this, target, runs);
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
    take_locks();
    Starter starter(*this, target, runs);
    if (cache_.updates().bypass_put(target))
        (void)starter.start();
    else
        (void)cache_.updates().put(target, runs, starter, true, nullptr);
    return starter.has_started();
}

void ReplayedWindow::update(Rank target, std::span<const ByteRun> runs, bool fetches) {
    take_locks();
    (void)cache_.updates().send_combined(target);
    cache_.updates().update_started(target, runs, fetches);
}

void ReplayedWindow::read(Rank target, bool fetches) {
    take_locks();
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
    take_locks();
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
    complete_all(kind, call);
    return true;
}

void ReplayedWindow::complete_all(FlushKind kind, const LibraryCall& call) {
    take_locks();
    const Moment since = cache_.completions().now();
    if (kind == FlushKind::full) (void)cache_.updates().send_combined(all_targets);
    cache_.completions().complete_all(since, kind, 0, call());
}

bool ReplayedWindow::lock_shared(Rank target, const LibraryCall& call) {
    using Keeper = SharedLock::Keeper;
    const SharedLock lock = cache_.locks().judge_shared_lock(target, true);
    if (lock.kept_by == Keeper::nobody) {
        take_locks();
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
    take_locks();
    cache_.locks().change_epochs([=](EpochTracker& epochs) { epochs.set(target, Epoch::passive); });
    process_.acquires.acquire_by_lock("MPI_Win_lock");
    return 0;
}

bool ReplayedWindow::elide_unlock(Rank target) {
    LockPath& locks = cache_.locks();
    bool serves = false;
    if (locks.has_leased_epoch()) {
        if (!locks.elide_leased(target, serves)) return false;
    } else {
        if (!kept_locks_.contains(target)) return false;
        locks.elide_lock(target);
    }
    kept_locks_.erase(target);
    return true;
}

bool ReplayedWindow::unlock(Rank target, const LibraryCall& call) {
    if (elide_unlock(target)) return false;
    LockPath& locks = cache_.locks();
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
