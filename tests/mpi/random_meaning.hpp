// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a random program means: which of its steps are legal MPI where they stand, what each of them
// completes, and who learns by it what. Which values the reads may then return says random_history.hpp. No
// MPI is called here; every rank works out the same from the list of steps.

#include <optional>

#include "random_history.hpp"

namespace random_programs {

class Meaning : public History {
  public:
    Meaning(const std::vector<Step>& program, int ranks, std::uint64_t fill) : History(fill), ranks_(ranks) {
        for (int rank = 0; rank < ranks; ++rank)
            access_[rank] = exposed_[rank] = nobody;
        for (const Step& step : program)
            add(step);
        end();
    }

  private:
    // --- what is legal

    bool clip(Step& step) const {
        const Kind kind = step.kind;
        const std::uint64_t data = data_bytes(step.window, step.peer);
        if (is_extra(step.window)) return clip_extra(step);
        if (kind == Kind::sum || kind == Kind::fetch_sum) {
            const std::uint64_t word = step.offset / 8 % (sum_bytes / 8);
            const std::uint64_t words =
                kind == Kind::sum ? std::max<std::uint64_t>(1, step.size_bytes / 8) : 1;
            step.offset = data + 8 * word;
            step.size_bytes = 8 * std::min(words, sum_bytes / 8 - word);
            step.target = step.origin = {};
            return true;
        }
        const bool by_words = kind == Kind::replace || kind == Kind::read_atomic;
        const bool changes =
            kind == Kind::put || kind == Kind::rput || kind == Kind::replace || kind == Kind::store;
        const std::uint64_t limit = changes ? data : part_bytes(step.window, step.peer);
        step.offset %= limit;
        if (by_words) {
            step.offset -= step.offset % 8;
            step.size_bytes = std::max<std::uint64_t>(8, step.size_bytes - step.size_bytes % 8);
        }
        if (step.size_bytes == 0) return false;
        if (by_words || step.end() > limit) step.target = {};
        if (by_words) step.origin = {};
        step.size_bytes = std::min(step.size_bytes, limit - step.offset);
        return true;
    }

    /// Gets and puts of whole units; a window over the memory of another has nothing else.
    bool clip_extra(Step& step) const {
        const std::uint64_t limit = part_bytes(step.window, step.peer);
        const std::uint64_t unit = open_[step.window - extra]->unit(step.peer);
        step.offset %= limit;
        step.offset -= step.offset % unit;
        if (step.size_bytes == 0) return false;
        if (step.end() > limit) step.target = {};
        step.size_bytes = std::min(step.size_bytes, limit - step.offset);
        if (step.kind == Kind::read_atomic) step.kind = Kind::get;
        if (step.kind > Kind::rput) step.kind = Kind::put;
        return true;
    }

    bool legal_access(Step& step) {
        if (is_extra(step.window) && !open_[step.window - extra]) return false;
        const bool own = step.kind == Kind::load || step.kind == Kind::store;
        if (own && (step.rank != step.peer || step.window > created)) return false;
        if (step.window == started && access_[step.rank] != step.peer) return false;
        if (!is_passive(step.window)) {
            if (step.kind == Kind::rget) step.kind = Kind::get;
            if (step.kind == Kind::rput) step.kind = Kind::put;
        }
        return clip(step);
    }

    /// A bit that nobody has added to these words yet; 0 if there is none.
    std::uint64_t new_bit(const Step& step) {
        std::uint64_t most = 0;
        for (std::uint64_t i = 0; i < step.size_bytes; i += 8)
            most = std::max(most, added_[key(step.window, step.peer, step.offset + i)]);
        if (most >= 63) return 0;
        for (std::uint64_t i = 0; i < step.size_bytes; i += 8)
            added_[key(step.window, step.peer, step.offset + i)] = most + 1;
        return std::uint64_t{1} << most;
    }

    // --- what it means

    void add(const Step& step) {
        Act act;
        act.step = step;
        act.number = static_cast<std::uint32_t>(acts_.size());
        if (is_access(step.kind))
            add_access(act);
        else if (is_completion(step.kind))
            act.legal = add_completion(act.step);
        else if (step.kind >= Kind::make_window)
            act.legal = add_change(act);
        else
            act.legal = add_synchronisation(act);
        acts_.push_back(act);
    }

    std::uint32_t tick(int rank) { return ++clock(rank)[static_cast<std::size_t>(rank)]; }
    Clock& clock(int rank) { return clocks_[static_cast<std::size_t>(rank)]; }

    void add_access(Act& act) {
        Step& step = act.step;
        if (!legal_access(step)) return;
        if (step.kind == Kind::sum || step.kind == Kind::fetch_sum) {
            act.bit = new_bit(step);
            if (act.bit == 0) return;
        }
        act.legal = true;
        act.memory = step.window;
        if (is_extra(step.window)) {
            act.extra = *open_[step.window - extra];
            act.memory = act.extra.memory;
            act.base = act.extra.base;
        }
        if (step.window == locked) is_locked_[step.rank][step.peer] = true;
        const std::uint32_t now = tick(step.rank);
        Clock issued = clock(step.rank);
        if (step.window == started) join(issued, post_clock_[step.rank]);
        const bool own = step.kind == Kind::load || step.kind == Kind::store;
        const bool ordered = step.kind == Kind::replace || step.kind == Kind::read_atomic ||
                             step.kind == Kind::sum || step.kind == Kind::fetch_sum;
        const bool reads = step.kind <= Kind::rget || step.kind == Kind::read_atomic ||
                           step.kind == Kind::fetch_sum || step.kind == Kind::load;
        const bool writes = !reads || step.kind == Kind::fetch_sum;
        Under& under = under_[step.rank][step.window][step.peer];
        if (reads) {
            act.read = static_cast<int>(reads_.size());
            Read read{act.number, step.rank, ordered, issued, issued, own ? now : never};
            if (!ordered && !own) {
                if (under.gets == 0) under.oldest = issued;
                ++under.gets;
                read.oldest = under.oldest;
            }
            reads_.push_back(read);
            if (!own) under.reads.push_back(act.read);
            // Some libraries complete the request before the bytes are in a buffer with gaps.
            if (step.kind == Kind::rget && step.origin.block == 0) requests_[step.rank].push_back(act.read);
            if (step.window == started) has_read_[step.rank] = true;
        }
        if (writes) {
            act.write = static_cast<int>(writes_.size());
            writes_.push_back({act.number, step.rank, ordered, issued, step.rank, own ? now : never});
            if (!own) under.writes.push_back(act.write);
            for (std::uint64_t i = 0; i < step.size_bytes; ++i)
                entries_[key(act.memory, step.peer, act.base + step.place(i))].push_back(
                    {static_cast<std::uint32_t>(act.write), static_cast<std::uint32_t>(i)});
        }
    }

    /// What a rank has under way at a target is complete at the origin, and maybe at the target.
    void complete(int rank, int window, int target, bool at_target) {
        const std::uint32_t now = tick(rank);
        Under& under = under_[rank][window][target];
        for (const int read : under.reads)
            reads_[static_cast<std::size_t>(read)].complete =
                std::min(reads_[static_cast<std::size_t>(read)].complete, now);
        under.reads.clear();
        under.gets = 0;
        if (!at_target) return;
        for (const int write : under.writes)
            writes_[static_cast<std::size_t>(write)].complete = now;
        under.writes.clear();
    }

    /// For a rank's requests.
    void wait(int rank) {
        const std::uint32_t now = tick(rank);
        for (const int read : requests_[rank])
            reads_[static_cast<std::size_t>(read)].complete =
                std::min(reads_[static_cast<std::size_t>(read)].complete, now);
        requests_[rank].clear();
    }

    bool add_completion(Step& step) {
        if (step.kind == Kind::wait) {
            wait(step.rank);
            return true;
        }
        if (!is_passive(step.window)) return false;
        if (is_extra(step.window) && !open_[step.window - extra]) return false;
        if (step.window == locked) {
            if (!is_locked_[step.rank][step.peer]) return false;
            if (step.kind == Kind::flush_all) step.kind = Kind::flush;
            if (step.kind == Kind::flush_local_all) step.kind = Kind::flush_local;
            if (step.kind == Kind::reopen) is_locked_[step.rank][step.peer] = false;
            complete(step.rank, step.window, step.peer, step.kind != Kind::flush_local);
            return true;
        }
        const bool one = step.kind == Kind::flush || step.kind == Kind::flush_local;
        const bool local = step.kind == Kind::flush_local || step.kind == Kind::flush_local_all;
        for (int target = 0; target < ranks_; ++target)
            if (!one || target == step.peer) complete(step.rank, step.window, target, !local);
        return true;
    }

    /// `to` knows from now on what `from` knew then.
    void learn(int to, const Clock& from) {
        tick(to);
        join(clock(to), from);
    }
    Clock tell(int from) {
        tick(from);
        return clock(from);
    }

    bool add_synchronisation(Act& act) {
        const Step& step = act.step;
        const int from = step.rank, to = step.peer;
        const bool alone = from == to;
        switch (step.kind) {
            case Kind::message:
                if (alone) return false;
                act.begun = std::exchange(begun_[to][from], false);
                learn(to, tell(from));
                return true;
            case Kind::post_receive:  // here `rank` receives from `peer`
                return !alone && !std::exchange(begun_[from][to], true);
            case Kind::ssend:
            case Kind::exchange: {
                if (alone || (step.kind == Kind::ssend && begun_[to][from])) return false;
                const Clock one = tell(from), other = tell(to);
                learn(to, one);
                learn(from, other);
                return true;
            }
            case Kind::flag:
            case Kind::lock_flag:
                if (alone) return false;
                if (step.kind == Kind::flag && has_handshake(step.variant)) learn(from, tell(to));
                act.expected = ++raised_[key(place_of_flag(step), step.window,
                                             static_cast<std::uint64_t>(from * most_ranks + to))];
                learn(to, tell(from));
                return true;
            case Kind::post_start:
                return start(from, to);
            case Kind::complete_wait:
                return stop(from, to);
            default:
                return add_collective(step);
        }
    }

    static int place_of_flag(const Step& step) {
        if (step.kind == Kind::lock_flag) return 0;
        return is_poll(step.variant) ? step.variant % 10 == poll_in_allocated ? 3 : 2 : 1;
    }

    /// Windows come and go, which all ranks do together, and change. Nobody learns by a change.
    bool add_change(Act& act) {
        const Step& step = act.step;
        if (step.kind == Kind::set_state) return true;
        auto& open = open_[step.window - extra];
        if (open.has_value() == (step.kind == Kind::make_window)) return false;
        if (step.kind == Kind::make_window) open.emplace(step, made_++);
        act.extra = *open;
        if (step.kind == Kind::free_window) {
            open.reset();
            for (int rank = 0; rank < ranks_; ++rank) {
                wait(rank);
                for (int target = 0; target < ranks_; ++target)
                    complete(rank, step.window, target, true);
            }
        }
        std::array<Clock, most_ranks> known{};
        for (int rank = 0; rank < ranks_; ++rank)
            known[static_cast<std::size_t>(rank)] = tell(rank);
        for (int rank = 0; rank < ranks_; ++rank)
            for (int other = 0; other < ranks_; ++other)
                learn(rank, known[static_cast<std::size_t>(other)]);
        return true;
    }

    bool start(int origin, int target) {
        if (origin == target || access_[origin] != nobody || exposed_[target] != nobody) return false;
        access_[origin] = target;
        exposed_[target] = origin;
        has_read_[origin] = false;
        learn(target, tell(origin));  // by a message, see Synchroniser
        post_clock_[origin] = tell(target);
        return true;
    }

    /// Puts are complete at the target when it has waited, not before. Only a get cannot be over before the
    /// target has posted.
    bool stop(int origin, int target) {
        if (access_[origin] != target) return false;
        access_[origin] = exposed_[target] = nobody;
        Under& under = under_[origin][started][target];
        const std::vector<int> puts = std::exchange(under.writes, {});
        complete(origin, started, target, false);
        if (has_read_[origin]) learn(origin, post_clock_[origin]);
        learn(target, tell(origin));
        const std::uint32_t now = tick(target);
        for (const int put : puts) {
            writes_[static_cast<std::size_t>(put)].complete_rank = target;
            writes_[static_cast<std::size_t>(put)].complete = now;
        }
        return true;
    }

    bool add_collective(const Step& step) {
        if (step.kind == Kind::fence)
            for (int rank = 0; rank < ranks_; ++rank)
                for (int target = 0; target < ranks_; ++target)
                    complete(rank, fenced, target, true);
        std::array<Clock, most_ranks> known{};
        if (step.kind == Kind::begin_barrier || step.kind == Kind::end_barrier) {
            if (barrier_open_ == (step.kind == Kind::begin_barrier)) return false;
            barrier_open_ = !barrier_open_;
            if (!barrier_open_)
                for (int rank = 0; rank < ranks_; ++rank)
                    for (int other = 0; other < ranks_; ++other)
                        learn(rank, barrier_clocks_[static_cast<std::size_t>(other)]);
            if (!barrier_open_) return true;
        }
        for (int rank = 0; rank < ranks_; ++rank)
            known[static_cast<std::size_t>(rank)] = tell(rank);
        if (step.kind == Kind::begin_barrier) {
            barrier_clocks_ = known;
            return true;
        }
        for (int rank = 0; rank < ranks_; ++rank)
            for (int other = 0; other < ranks_; ++other)
                if (step.kind == Kind::fence || hears(step, rank, other))
                    learn(rank, known[static_cast<std::size_t>(other)]);
        return true;
    }

  public:
    enum Collective {
        barrier,
        allreduce,
        allgather,
        alltoall,
        iallreduce,
        bcast,
        scatter,
        gather,
        reduce,
        scan,
        exscan
    };

    /// Whether by that operation a rank learns what another knew.
    static bool hears(const Step& step, int rank, int other) {
        switch (step.variant % 11) {
            case bcast:
            case scatter:
                return other == step.rank;
            case gather:
            case reduce:
                return rank == step.rank;
            case scan:
            case exscan:
                return other < rank;
            default:
                return true;
        }
    }

  private:
    /// All is closed and complete.
    void end() {
        const auto step = [this](Kind kind, int rank, int peer, int window = 0) {
            Step one;
            one.kind = kind;
            one.rank = rank;
            one.peer = peer;
            one.window = window;
            add(one);
        };
        for (int rank = 0; rank < ranks_; ++rank) {
            if (access_[rank] != nobody) step(Kind::complete_wait, rank, access_[rank]);
            for (int other = 0; other < ranks_; ++other)
                if (begun_[rank][other]) step(Kind::message, other, rank);
        }
        if (barrier_open_) step(Kind::end_barrier, 0, 0);
        for (int rank = 0; rank < ranks_; ++rank) {
            step(Kind::wait, rank, 0);
            step(Kind::flush_all, rank, 0, allocated);
            step(Kind::flush_all, rank, 0, created);
            for (int target = 0; target < ranks_; ++target)
                step(Kind::reopen, rank, target, locked);
        }
        for (int window = extra; window < all_windows; ++window)
            if (open_[window - extra]) step(Kind::free_window, 0, 0, window);
        step(Kind::fence, 0, 0);
        step(Kind::collective, 0, 0);
    }

    /// What a rank has under way at a target.
    struct Under {
        std::vector<int> reads, writes;
        int gets = 0;
        Clock oldest{};
    };

    int ranks_;
    std::unordered_map<std::uint64_t, std::uint64_t> added_;  ///< additions, by word
    std::unordered_map<std::uint64_t, int> raised_;           ///< flags

    std::array<Clock, most_ranks> clocks_{}, barrier_clocks_{};
    Under under_[most_ranks][all_windows][most_ranks];
    std::vector<int> requests_[most_ranks];
    bool is_locked_[most_ranks][most_ranks] = {};
    bool begun_[most_ranks][most_ranks] = {};  ///< a receive is posted
    int access_[most_ranks], exposed_[most_ranks];
    bool has_read_[most_ranks] = {};
    Clock post_clock_[most_ranks] = {};
    bool barrier_open_ = false;
    std::optional<ExtraWindow> open_[extra_windows];
    int made_ = 0;
};

}  // namespace random_programs
