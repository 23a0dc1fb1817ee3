// SPDX-License-Identifier: Apache-2.0
#pragma once

// A window with its cache, and what a front end does with it, without MPI and without a program. What the
// library's calls would do, and take, is said by whoever replays.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

/// Counts what is started. All memory is 0, so that who looks at it sees no change.
class CountedTransfers final : public WindowTransfers {
  public:
    /// \param started called with each run of a get; if it is empty, deliver() brings their bytes
    explicit CountedTransfers(std::function<void(const ByteRun&)> started = {})
        : started_(std::move(started)) {}

    int start_get(Rank target, std::span<const ByteRun> runs) override;
    int start_put(Rank, std::span<const ByteRun>) override { return 0; }
    int flush_local(Rank) override { return 0; }
    void progress() override {}

    std::uint64_t bytes() const noexcept { return bytes_; }
    /// \pre the origins of what was started are still there
    void deliver() noexcept;

  private:
    std::function<void(const ByteRun&)> started_;
    std::uint64_t bytes_ = 0;  ///< of gets
    std::vector<ByteRun> under_way_;
};

class ReplayedWindow {
  public:
    /// What the library's call takes, ns; called where it would be.
    using LibraryCall = std::function<std::uint64_t()>;

    /// \param memory of each rank \param transfers outlive this
    /// \throws Error as RangeCache does, or if there is no memory
    ReplayedWindow(const Settings& settings, std::span<const TargetMemory> memory, Rank self,
                   ProcessState& process, WindowTransfers& transfers);

    WindowCache& cache() noexcept { return cache_; }

    /// \return whether the library was called
    bool get(Rank target, std::span<const ByteRun> runs, std::uint64_t size_bytes);
    bool put(Rank target, std::span<const ByteRun> runs);
    void update(Rank target, std::span<const ByteRun> runs, bool fetches);
    void read(Rank target, bool fetches);
    bool flush(Rank target, FlushKind kind, const LibraryCall& call);
    bool flush_all(FlushKind kind, const LibraryCall& call);
    /// A shared lock. \return whether the library was called; if not it may be called later, as may `call`
    bool lock_shared(Rank target, const LibraryCall& call);
    /// An exclusive one. \return the transport's status of its registration
    int lock_exclusive(Rank target);
    bool unlock(Rank target, const LibraryCall& call);
    /// Fences and what closes epochs of all.
    void complete_all(FlushKind kind, const LibraryCall& call);

    /// \throws Error if there was no memory for the cache
    void check() const;

  private:
    /// Keeps the reason for which there is no cache.
    struct Listener final : WindowListener {
        void no_cache(const char* why) noexcept override { problem = why; }
        std::string problem;
    };

    class Starter;

    /// As WindowLocks has them: before a get, and before anything else that enters the library.
    void open_locks();
    void take_locks();
    void call_kept_locks();
    bool elide_unlock(Rank target);

    ProcessState& process_;
    WindowTransfers& transfers_;
    Listener listener_;
    WindowCache cache_;
    std::map<Rank, LibraryCall> kept_locks_;  ///< that the library has not seen
};

}  // namespace nearfetch
