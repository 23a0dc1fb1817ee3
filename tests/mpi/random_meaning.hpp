// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a random program means: which of its steps are legal MPI where they stand, and which values each read
// may return. No MPI is called here; every rank works out the same from the list of steps.
//
// The reference model of the simulation (tests/simulation/memory_model.hpp) watches a run whose events are in
// one order. Here ranks run by themselves, so only what the program orders is known. Each rank counts its
// events; a vector clock says how many events of each rank are over when an event takes place, as far as the
// program makes sure (Lamport 1978; Mattern 1989). Of a read R and a write W of a byte,
//  - W is *before* R if W was complete at its target before R was issued; then it is not seen any more if
//  another
//    write, before R, was issued after W was complete;
//  - W is *after* R if R was complete before W was issued: not seen;
//  - else they are concurrent: R may see W or not, byte by byte.
// Accumulates and atomics of one rank at one place are in the order in which they were issued, complete or
// not. What is there at the beginning is a write before all.
//
// Each addition to a word sets a bit of its own, so that every sum says which additions it has.

#include <unordered_map>

#include "random_steps.hpp"

namespace random_programs {

using Clock = std::array<std::uint32_t, most_ranks>;
constexpr std::uint32_t never = ~std::uint32_t{0};

inline void join(Clock& clock, const Clock& other) {
    for (std::size_t rank = 0; rank < most_ranks; ++rank)
        clock[rank] = std::max(clock[rank], other[rank]);
}

/// A step as it is executed: clipped to the window, as a kind that its epoch allows.
struct Act {
    Step step;
    std::uint32_t number = 0;  ///< of the act
    bool legal = false;
    bool begun = false;     ///< a message whose receive was posted before
    int expected = 0;       ///< the flag's value from which on it is raised
    std::uint64_t bit = 0;  ///< what an addition adds to each of its words
    int read = -1;          ///< index of what it reads
    int write = -1;
};

struct Write {
    std::uint32_t act;
    int rank;
    bool ordered;
    Clock issued;
    int complete_rank;  ///< whose clock `complete` is of
    std::uint32_t complete = never;
};

struct Read {
    std::uint32_t act;
    int rank;
    bool ordered;
    Clock issued;
    /// When the oldest of the rank's gets at this target was issued that was not complete then. Modes other
    /// than acquire share its transfer (ARCHITECTURE.md, Consistency).
    Clock oldest;
    std::uint32_t complete = never;
};

/// The bytes of a rank's part at the beginning of a program.
inline unsigned char byte_at_first(std::uint64_t fill, int window, int rank, std::uint64_t offset) {
    if (offset >= data_bytes(window, rank)) return 0;
    return check::pattern_byte(rank + 16 * window, offset, static_cast<int>(fill % 1000));
}

class Meaning {
  public:
    Meaning(const std::vector<Step>& program, int ranks, std::uint64_t fill) : ranks_(ranks), fill_(fill) {
        for (int rank = 0; rank < ranks; ++rank)
            access_[rank] = exposed_[rank] = nobody;
        for (const Step& step : program)
            add(step);
        end();
    }

    const std::vector<Act>& acts() const { return acts_; }

    /// \param strict whether a get may not share the transfer of one before it that is not complete
    /// \return what is wrong with the bytes that an act has read, or nothing
    std::string check(const Act& act, const unsigned char* bytes, bool strict) const {
        const Read& read = reads_[static_cast<std::size_t>(act.read)];
        for (std::uint64_t i = 0; i < act.step.size_bytes; ++i) {
            std::string wrong = check_byte(act, read, act.step.place(i), bytes[i], strict);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

    /// How many values the first byte of a read may have.
    int choices(const Act& act, bool strict) const {
        const Read& read = reads_[static_cast<std::size_t>(act.read)];
        int number = 0;
        for (int value = 0; value < 256; ++value)
            if (check_byte(act, read, act.step.place(0), static_cast<unsigned char>(value), strict).empty())
                ++number;
        return number;
    }

    /// \return what is wrong with a rank's part after all is over
    std::string check_part(int window, int rank, const unsigned char* bytes) const {
        Act act;
        act.step.window = window;
        act.step.peer = act.step.rank = rank;
        act.number = never - 1;
        Read read{act.number, nobody, false, {}, {}, never};
        read.issued.fill(never - 1);
        for (std::uint64_t at = 0; at < part_bytes(window, rank); ++at) {
            std::string wrong = check_byte(act, read, at, bytes[at], true);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

  private:
    static constexpr int nobody = -1;
    enum class Relation { before, concurrent, after };
    /// Of a write, its byte number `i`.
    struct Entry {
        std::uint32_t write;
        std::uint32_t i;
    };

    // --- what is legal

    static bool passive(int window) { return window <= locked; }

    bool clip(Step& step) const {
        const Kind kind = step.kind;
        const std::uint64_t data = data_bytes(step.window, step.peer);
        if (kind == Kind::sum || kind == Kind::fetch_sum) {
            const std::uint64_t word = step.offset / 8 % (sum_bytes / 8);
            const std::uint64_t words =
                kind == Kind::sum ? std::max<std::uint64_t>(1, step.size_bytes / 8) : 1;
            step.offset = data + 8 * word;
            step.size_bytes = 8 * std::min(words, sum_bytes / 8 - word);
            step.block = 0;
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
        if (by_words || step.end() > limit) step.block = 0;
        step.size_bytes = std::min(step.size_bytes, limit - step.offset);
        return true;
    }

    bool legal_access(Step& step) {
        const bool own = step.kind == Kind::load || step.kind == Kind::store;
        if (own && (step.rank != step.peer || step.window > created)) return false;
        if (step.window == started && access_[step.rank] != step.peer) return false;
        if (!passive(step.window)) {
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
            if (step.kind == Kind::rget) requests_[step.rank].push_back(act.read);
            if (step.window == started) has_read_[step.rank] = true;
        }
        if (writes) {
            act.write = static_cast<int>(writes_.size());
            writes_.push_back({act.number, step.rank, ordered, issued, step.rank, own ? now : never});
            if (!own) under.writes.push_back(act.write);
            for (std::uint64_t i = 0; i < step.size_bytes; ++i)
                entries_[key(step.window, step.peer, step.place(i))].push_back(
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

    bool add_completion(Step& step) {
        if (step.kind == Kind::wait) {
            const std::uint32_t now = tick(step.rank);
            for (const int read : requests_[step.rank])
                reads_[static_cast<std::size_t>(read)].complete =
                    std::min(reads_[static_cast<std::size_t>(read)].complete, now);
            requests_[step.rank].clear();
            return true;
        }
        if (!passive(step.window)) return false;
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
                act.expected = ++raised_[key(step.kind == Kind::flag ? step.variant % 6 == 5 : 2, step.window,
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
        step(Kind::fence, 0, 0);
        step(Kind::collective, 0, 0);
    }

    // --- what is allowed

    static std::uint64_t key(int a, int b, std::uint64_t c) {
        return (static_cast<std::uint64_t>(a) * 64 + static_cast<std::uint64_t>(b)) << 32 | c;
    }

    static Relation relation(const Write& write, const Read& read, bool strict) {
        if (write.act == read.act) return Relation::after;
        if (write.rank == read.rank && write.ordered && read.ordered)
            return write.act < read.act ? Relation::before : Relation::after;
        if (read.rank != nobody && read.complete != never &&
            read.complete <= write.issued[static_cast<std::size_t>(read.rank)])
            return Relation::after;
        const Clock& known = strict ? read.issued : read.oldest;
        return write.complete <= known[static_cast<std::size_t>(write.complete_rank)] ? Relation::before
                                                                                      : Relation::concurrent;
    }

    static bool superseded(const Write& write, const Write& by) {
        if (write.rank == by.rank && write.ordered && by.ordered) return write.act < by.act;
        return write.complete <= by.issued[static_cast<std::size_t>(write.complete_rank)];
    }

    bool allowed(const std::vector<Entry>& entries, const Write& write, const Read& read, bool strict) const {
        const Relation here = relation(write, read, strict);
        if (here != Relation::before) return here == Relation::concurrent;
        for (const Entry& other : entries) {
            const Write& by = writes_[other.write];
            if (&by != &write && superseded(write, by) && relation(by, read, strict) == Relation::before)
                return false;
        }
        return true;
    }

    std::string check_byte(const Act& act, const Read& read, std::uint64_t at, unsigned char value,
                           bool strict) const {
        const Step& step = act.step;
        const unsigned char first = byte_at_first(fill_, step.window, step.peer, at);
        const auto found = entries_.find(key(step.window, step.peer, at));
        static const std::vector<Entry> none;
        const std::vector<Entry>& entries = found == entries_.end() ? none : found->second;
        if (at >= data_bytes(step.window, step.peer)) return check_sum(entries, act, read, at, value, strict);
        bool first_allowed = true;
        for (const Entry& entry : entries) {
            const Write& write = writes_[entry.write];
            if (relation(write, read, strict) == Relation::before) first_allowed = false;
            if (value == value_of(acts_[write.act].step.id, entry.i) && allowed(entries, write, read, strict))
                return {};
        }
        if (value == first && first_allowed) return {};
        std::ostringstream text;
        text << to_text(step) << ": byte " << at << " is " << int{value};
        for (const Entry& entry : entries)
            if (value == value_of(acts_[writes_[entry.write].act].step.id, entry.i))
                text << " (written by #" << acts_[writes_[entry.write].act].step.id << ')';
        text << (value == first ? " (there at the beginning)" : "") << ". Allowed:";
        if (first_allowed) text << ' ' << int{first} << " (there at the beginning)";
        for (const Entry& entry : entries) {
            const Write& write = writes_[entry.write];
            if (!allowed(entries, write, read, strict)) continue;
            const Step& by = acts_[write.act].step;
            text << ' ' << int{value_of(by.id, entry.i)} << " (written by #" << by.id << " of rank "
                 << by.rank
                 << (relation(write, read, strict) == Relation::concurrent ? ", concurrent)" : ")");
        }
        return text.str();
    }

    /// Additions that are before the read are there, concurrent ones may be.
    std::string check_sum(const std::vector<Entry>& entries, const Act& act, const Read& read,
                          std::uint64_t at, unsigned char value, bool strict) const {
        unsigned must = 0, may = 0;
        for (const Entry& entry : entries) {
            const Write& write = writes_[entry.write];
            const auto bits = static_cast<unsigned char>(acts_[write.act].bit >> (8 * (entry.i % 8)));
            const Relation here = relation(write, read, strict);
            if (here == Relation::before) must |= bits;
            if (here != Relation::after) may |= bits;
        }
        if ((value & must) == must && (value & ~may) == 0) return {};
        std::ostringstream text;
        text << to_text(act.step) << ": byte " << at << ", of a sum, is " << int{value}
             << ". It has to have the bits " << must << " and none but " << may;
        return text.str();
    }

    /// What a rank has under way at a target.
    struct Under {
        std::vector<int> reads, writes;
        int gets = 0;
        Clock oldest{};
    };

    int ranks_;
    std::uint64_t fill_;
    std::vector<Act> acts_;
    std::vector<Read> reads_;
    std::vector<Write> writes_;
    std::unordered_map<std::uint64_t, std::vector<Entry>> entries_;  ///< by window, rank and offset
    std::unordered_map<std::uint64_t, std::uint64_t> added_;         ///< additions, by word
    std::unordered_map<std::uint64_t, int> raised_;                  ///< flags

    std::array<Clock, most_ranks> clocks_{}, barrier_clocks_{};
    Under under_[most_ranks][windows][most_ranks];
    std::vector<int> requests_[most_ranks];
    bool is_locked_[most_ranks][most_ranks] = {};
    bool begun_[most_ranks][most_ranks] = {};  ///< a receive is posted
    int access_[most_ranks], exposed_[most_ranks];
    bool has_read_[most_ranks] = {};
    Clock post_clock_[most_ranks] = {};
    bool barrier_open_ = false;
};

}  // namespace random_programs
