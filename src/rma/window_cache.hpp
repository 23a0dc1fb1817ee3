// SPDX-License-Identifier: Apache-2.0
#pragma once

// A window seen from one rank, with its cache. It moves the bytes that the cache asks for.
//
//   front end --> gets --------+------> fills
//             --> updates -----+--+       |
//             --> completions -+--+--> bypass: which targets go through the cache
//             --> locks -------+              |
//                              v              v
//               parts (window_state.hpp): range cache, epochs, freshness, outstanding operations, fetch
//               table, overlapping origins, write combiner, hit validator, progress timer
//
// Each path is what the front end calls for one kind of MPI calls; the parts own the state. Each file begins
// with what its part promises. What forgets data is the window's mode: in transparent mode each completion is
// an acquire. In mode acquire the process acquires (acquires.hpp), and the window catches up with it at the
// next get.
//
// Threads. If `threaded`, every path takes the window's mutex, and no network call is made under it.

#include <span>
#include <vector>

#include "rma/bypass_control.hpp"
#include "rma/completion_path.hpp"
#include "rma/decisions.hpp"
#include "rma/fill_path.hpp"
#include "rma/get_path.hpp"
#include "rma/lock_path.hpp"
#include "rma/progress.hpp"
#include "rma/read_ahead.hpp"
#include "rma/update_path.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

class WindowCache {
  public:
    /// \param ranks size of the window's group
    /// \param self this process in it; its own gets are never cached, it sees no stores of its own program
    /// \param transfers of the same window; outlives this, as do the listener and the process's state
    WindowCache(const Settings& settings, Rank ranks, Rank self, bool threaded, ProcessState& process,
                WindowTransfers& transfers, WindowListener& listener);

    // These two are made for each call, so that their fast paths find the state without a pointer to it.
    GetPath gets() noexcept { return {state_, bypass_, updates_, fills_}; }
    CompletionPath completions() noexcept { return {state_, bypass_, progress_}; }
    UpdatePath& updates() noexcept { return updates_; }
    LockPath& locks() noexcept { return locks_; }
    const LockPath& locks() const noexcept { return locks_; }
    BypassControl& bypass() noexcept { return bypass_; }
    Progress& progress() noexcept { return progress_; }

    Rank ranks() const noexcept { return state_.targets.ranks(); }
    const Settings& settings() const noexcept { return state_.settings; }
    /// Takes over settings that change while the window lives; what is cached is forgotten, unless only the
    /// bypass has changed.
    void change_settings(const Settings& settings);
    /// Who stays in the cache is decided by this score.
    void set_score(ScoreFunction score);
    /// Says what memory each rank exposes. Without this nothing is read ahead.
    void describe_memory(PerRank<TargetMemory> of_each);

    /// What other processes of this node have fetched serves gets, too. \pre describe_memory()
    /// \param buffer its memory outlives this \throws std::bad_alloc
    void open_node_level(const NodeBuffer& buffer);

    /// Later gets may not use what was cached earlier.
    void acquire() noexcept;
    /// Asks for a range ahead of its use; the transfer goes straight into the cache.
    /// \return the transport's status
    int prefetch(Rank target, ByteRange range) { return fills_.prefetch(target, range); }

    /// All counters up to now.
    RangeCacheCounters counters() const;
    /// From now on it is noted why gets are not served, and when.
    void keep_profile();
    /// That, up to now; null without keep_profile().
    const GetProfile* profile() noexcept;
    /// What was decided for the targets that were used.
    std::vector<Decision> decisions() const;

  private:
    WindowState state_;
    BypassControl bypass_{state_};
    Progress progress_{state_};
    ReadAhead read_ahead_{state_};
    UpdatePath updates_{state_, bypass_};
    FillPath fills_{state_, bypass_, read_ahead_};
    LockPath locks_{state_, bypass_, progress_};
};

}  // namespace nearfetch
