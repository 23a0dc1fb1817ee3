// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "report/units.hpp"

namespace nearfetch {

namespace {

constexpr double many_hits = 0.5;  ///< from this share on they are what there is to say
constexpr double few = 0.05;       ///< below this share it is not worth a word
constexpr double nearly_all = 0.95;
constexpr std::size_t most_calls = 3;  ///< that are named

/// The counters that a verdict is about, of all windows.
struct Numbers {
    explicit Numbers(const RunSummary& run) : summary(run), c(run.totals()) {
        remote = static_cast<double>(remote_gets(c));
        served = static_cast<double>(served_gets(c));
        seconds_gained = (static_cast<double>(c.saved_ns) - static_cast<double>(c.spent_ns)) * 1e-9 /
                         std::max(run.ranks, 1);
        evicted = c.evicted_before + c.not_kept;
        again = static_cast<double>(c.forgotten + evicted + c.bypassed_before + c.overwritten);
    }
    /// Of the gets of others' memory.
    std::string share(double gets) const { return readable_share(gets, remote); }
    bool is_most(std::uint64_t gets) const noexcept {
        return static_cast<double>(gets) >= many_hits * remote;
    }
    bool is_forgotten_by_locks() const noexcept {
        return static_cast<double>(c.forgotten_by_locks) >= nearly_all * static_cast<double>(c.forgotten);
    }

    const RunSummary& summary;
    RangeCacheCounters c;
    double remote = 0;
    double served = 0;
    double seconds_gained = 0;  ///< of a rank
    std::uint64_t evicted = 0;
    double again = 0;  ///< gets from the network of bytes that were fetched before (an estimate)
};

std::string gets_text(std::uint64_t gets) { return readable_count(gets) + (gets == 1 ? " get" : " gets"); }
std::string asked_text(std::uint64_t gets) { return gets_text(gets) + " asked for bytes that "; }

/// "`MPI_Win_lock` (9,598) and `MPI_Allreduce` (2)"
std::string calls_text(const RunSummary& summary) {
    std::map<std::string, std::uint64_t> all;
    for (const WindowGroup& group : summary.groups)
        for (const auto& [call, gets] : group.forgotten_by)
            all[call] += gets;
    std::vector<std::pair<std::string, std::uint64_t>> calls(all.begin(), all.end());
    std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.second > b.second; });
    std::uint64_t rest = 0;
    for (std::size_t i = most_calls; i < calls.size(); ++i)
        rest += calls[i].second;
    if (calls.size() > most_calls) calls.resize(most_calls);
    if (rest != 0) calls.emplace_back("others", rest);
    std::string text;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& [call, gets] = calls[i];
        const bool is_call = call.starts_with("MPI_") || call.starts_with("nearfetch_");
        text += (i == 0                  ? ""
                 : i + 1 == calls.size() ? " and "
                                         : ", ") +
                (is_call ? "`" + call + "`" : call) + " (" + readable_count(gets) + ")";
    }
    return text;
}

/// Puts to windows of which bytes were forgotten.
std::uint64_t puts_meanwhile(const RunSummary& summary) {
    std::uint64_t puts = 0;
    for (const WindowGroup& group : summary.groups)
        if (group.counters.forgotten != 0) puts += group.counters.puts;
    return puts;
}

Verdict about_use(const Numbers& n) {
    if (n.c.gets != 0)
        return {Situation::own_memory, "own memory only: all " + gets_text(n.c.gets) +
                                           " read what the process itself exposes, which is never cached"};
    if (n.c.puts == 0)
        return {Situation::unused, "no window was read or written by a get or put: nothing to do"};
    return {Situation::unused, "no window was read by a get: " + readable_count(n.c.puts) +
                                   " puts and accumulates, of which " + readable_count(n.c.puts_combined) +
                                   " were combined into " + readable_count(n.c.put_messages) + " messages"};
}

Verdict about_hits(const Numbers& n) {
    const std::string hit = n.share(n.served) + " of remote gets hit";
    if (n.c.saved_ns == 0) return {Situation::helps, hit + "; what that saved is too little to be measured"};
    const double elapsed = n.summary.elapsed_s;
    if (n.seconds_gained > 0)
        return {Situation::helps, "saved about " + readable_time(n.seconds_gained) + " of " +
                                      readable_time(elapsed + n.seconds_gained) + " a rank; " + hit};
    return {Situation::gains_nothing, hit + ", but that saves nothing: a get takes no longer than a hit (" +
                                          readable_time(-n.seconds_gained) + " of " + readable_time(elapsed) +
                                          " a rank were lost)"};
}

Verdict about_forgetting(const Numbers& n) {
    const std::string what = asked_text(n.c.forgotten) + "were forgotten at " + calls_text(n.summary);
    if (const std::uint64_t puts = puts_meanwhile(n.summary); puts != 0)
        return {Situation::written_to, "window written to: " + what + ", and " + readable_count(puts) +
                                           " puts and accumulates wrote to these windows, so they have to be "
                                           "fetched again"};
    const std::string hits = n.share(n.served + static_cast<double>(n.c.forgotten)) + " would have hit";
    return {Situation::forgotten,
            what + "; with " +
                (n.is_forgotten_by_locks()
                     ? "`locks=access` " + hits + ", if no lock alone tells that somebody has written"
                     : "`mode=always-cache` " + hits + ", if nobody writes meanwhile")};
}

Verdict about_eviction(const Numbers& n) {
    const std::uint64_t ranks = static_cast<std::uint64_t>(std::max(n.summary.ranks, 1));
    return {Situation::too_small, "buffer too small: " + asked_text(n.evicted) +
                                      "had been fetched, and had no room to stay (a rank reads " +
                                      readable_bytes(n.c.distinct_bytes / ranks) + ", and its caches took " +
                                      readable_bytes(n.summary.memory_taken_bytes) + " of " +
                                      readable_bytes(n.summary.memory_limit_bytes) +
                                      "); with more `memory_bytes` " +
                                      n.share(n.served + static_cast<double>(n.evicted)) + " would have hit"};
}

Verdict about_bypass(const Numbers& n) {
    const std::string gets = gets_text(n.c.bypassed - n.c.own_memory);
    if (n.is_most(n.c.same_node))
        return {Situation::same_node,
                "same node: the library delivers from shared memory, where a hit saves "
                "nothing, so " +
                    gets + " were bypassed"};
    return {Situation::does_not_pay, "caching did not pay: hits saved less than the cache took, so " + gets +
                                         " were bypassed; `bypass=off` shows the difference"};
}

Verdict about_little_reuse(const Numbers& n) {
    if (n.again == 0 && n.served == 0)
        return {Situation::no_reuse, "nothing to gain: no byte was read twice"};
    return {Situation::no_reuse, "little to gain: " + n.share(n.remote - n.served - n.again) +
                                     " of remote gets asked for bytes that were not read before"};
}

/// For programs that lock for each access.
std::string advice_about_locks(const Numbers& n, Situation situation) {
    if (!n.is_most(n.c.locks)) return "";
    const bool has_forgotten = situation == Situation::forgotten;
    if (n.summary.is_threaded && (has_forgotten || situation == Situation::helps))
        return "`MPI_THREAD_MULTIPLE`: there are no leases, and each lock enters MPI; if one thread at a "
               "time calls MPI, ask for less (mpi4py: `MPI4PY_RC_THREAD_LEVEL=serialized`)";
    // A flush has to take the lock, lease or not.
    if (has_forgotten && n.is_forgotten_by_locks() && n.c.lease_looks != 0 && !n.is_most(n.c.flushes))
        return "without a promise: longer leases, such as `lease_us=10000`, if exclusive locks are rare";
    return "";
}

Verdict verdict_without_advice(const Numbers& n) {
    const bool is_off = std::ranges::all_of(n.summary.groups, [](const auto& g) { return g.mode == "off"; });
    // Where the mode is off, not all gets are counted.
    if (is_off && n.remote == 0) return {Situation::off, "mode `off`: nothing was cached"};
    if (n.remote == 0) return about_use(n);
    if (is_off)
        return {Situation::off, "mode `off`: nothing was cached; " +
                                    n.share(static_cast<double>(n.c.bypassed_before)) +
                                    " of remote gets would have hit in mode `acquire`"};
    if (n.served >= many_hits * n.remote) return about_hits(n);
    // Half of what is not served is what is said about, if it is of one cause.
    if (n.again < few * n.remote) return n.served < few * n.remote ? about_little_reuse(n) : about_hits(n);
    const std::uint64_t most = std::max({n.c.forgotten, n.evicted, n.c.bypassed_before, n.c.overwritten});
    if (static_cast<double>(most) < few * n.remote || most < served_gets(n.c)) return about_hits(n);
    if (most == n.c.forgotten) return about_forgetting(n);
    if (most == n.evicted) return about_eviction(n);
    if (most == n.c.bypassed_before) return about_bypass(n);
    return {Situation::overwritten, "window written to: " + asked_text(n.c.overwritten) +
                                        "this process itself had changed by accumulates or atomics"};
}

}  // namespace

std::string situation_name(Situation situation) {
    constexpr std::array names{"no-window", "unused",       "own-memory", "helps",      "gains-nothing",
                               "off",       "no-reuse",     "forgotten",  "written-to", "too-small",
                               "same-node", "does-not-pay", "overwritten"};
    return names[static_cast<std::size_t>(situation)];
}

Verdict verdict_of(const RunSummary& summary) {
    if (summary.groups.empty())
        return {Situation::no_window, "this program made no MPI window: nothing to do"};
    const Numbers n(summary);
    Verdict verdict = verdict_without_advice(n);
    verdict.advice = advice_about_locks(n, verdict.situation);
    return verdict;
}

}  // namespace nearfetch
