// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random SPMD programs as lists of steps, the same list on all ranks. A step is an access of one rank, or a
// synchronisation of two or all. Each rank executes those that concern it in the order of the list, so that
// no list deadlocks. Any part of a list is a program, too (random_meaning.hpp skips what has no sense any
// more), so that one that fails can be shrunk.

#include <array>

#include "check.hpp"

namespace random_programs {

using check::Random;

constexpr int most_ranks = 8;

/// The windows, by how their epochs are opened.
enum WindowId : int { allocated, created, locked, fenced, started, windows };
constexpr const char* window_names[] = {"allocated", "created", "locked", "fenced", "started"};

/// The last bytes of each rank's part are words that are only added to.
constexpr std::uint64_t sum_bytes = 64;

/// Ranks' parts differ in size, so that blocks that are read ahead meet different ends.
constexpr std::uint64_t part_bytes(int window, int rank) {
    constexpr std::uint64_t most[] = {1536, 65536, 4096, 2048, 2048};
    return most[window] - 64 * static_cast<std::uint64_t>(rank) - (window == created ? 1000 : 0);
}
constexpr std::uint64_t data_bytes(int window, int rank) { return part_bytes(window, rank) - sum_bytes; }

enum class Kind : std::uint8_t {
    get,
    rget,
    put,
    rput,
    replace,      ///< accumulate with MPI_REPLACE
    read_atomic,  ///< MPI_NO_OP
    sum,
    fetch_sum,
    load,  ///< of the rank's own part
    store,
    flush,
    flush_all,
    flush_local,
    flush_local_all,
    wait,    ///< for all requests of the rank
    reopen,  ///< ends the epoch and begins another
    message,
    post_receive,  ///< of a message to come
    ssend,
    exchange,
    collective,
    begin_barrier,
    end_barrier,
    flag,       ///< raised and looked at by atomics, or put and polled
    lock_flag,  ///< raised and looked at under a lock
    fence,
    post_start,     ///< peer exposes its part of `started` to rank
    complete_wait,  ///< and that ends
    kinds
};
constexpr const char* kind_names[] = {"get",
                                      "Rget",
                                      "put",
                                      "Rput",
                                      "accumulate REPLACE",
                                      "atomic read",
                                      "add",
                                      "fetch and add",
                                      "load",
                                      "store",
                                      "flush",
                                      "flush_all",
                                      "flush_local",
                                      "flush_local_all",
                                      "wait",
                                      "reopen",
                                      "message",
                                      "post receive",
                                      "ssend",
                                      "exchange",
                                      "collective",
                                      "begin ibarrier",
                                      "end ibarrier",
                                      "flag",
                                      "lock flag",
                                      "fence",
                                      "post/start",
                                      "complete/wait"};
static_assert(std::size(kind_names) == static_cast<std::size_t>(Kind::kinds));

constexpr bool is_access(Kind kind) { return kind <= Kind::store; }
constexpr bool is_completion(Kind kind) { return kind >= Kind::flush && kind <= Kind::reopen; }

struct Step {
    std::uint32_t id = 0;
    Kind kind = Kind::get;
    int rank = 0;    ///< who does it; the sender, the root, who raises the flag
    int peer = 0;    ///< whose memory; the receiver, who looks at the flag
    int window = 0;  ///< for flags: where they are
    int variant = 0;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t block = 0;  ///< if not 0, blocks of so many bytes with `gap` between
    std::uint64_t gap = 0;

    /// Where its byte number `i` is.
    std::uint64_t place(std::uint64_t i) const {
        return offset + (block == 0 ? i : i / block * (block + gap) + i % block);
    }
    std::uint64_t end() const { return place(size_bytes - 1) + 1; }
};

/// What step `id` writes to its byte number `i`: few write the same.
inline unsigned char value_of(std::uint32_t id, std::uint64_t i) {
    return check::pattern_byte(static_cast<int>(id), i, 21);
}

inline std::string to_text(const Step& step) {
    std::ostringstream text;
    text << '#' << step.id << " rank " << step.rank << ": " << kind_names[static_cast<int>(step.kind)];
    if (is_access(step.kind)) {
        text << ' ' << step.size_bytes << " B at " << step.offset << " of " << step.peer << ", window "
             << window_names[step.window];
        if (step.block != 0) text << ", blocks of " << step.block << " B, gaps of " << step.gap << " B";
    } else if (is_completion(step.kind)) {
        text << ", window " << window_names[step.window] << ", target " << step.peer;
    } else {
        text << ", peer " << step.peer << ", at " << step.window;
    }
    text << ", variant " << step.variant;
    return text.str();
}

/// A way of synchronising.
struct Way {
    Kind kind;
    int variant;
};

/// Makes programs. What is written by one rank is read by others, most often after they have synchronised.
class Generator {
  public:
    /// \param favourite null: chosen by chance
    Generator(std::uint64_t seed, int ranks, const Way* favourite = nullptr) : random_(seed), ranks_(ranks) {
        length_ = 80 + random_.below(160);
        bursts_ = 1 + pick(6);
        for (auto& place : hot_)
            place = random_.below(1200);
        // Most programs use little, so that it is used again.
        constexpr int often[] = {allocated, allocated, created, created, locked, locked, fenced, started};
        favourite_ = often[pick(8)];
        favourite_target_ = pick(ranks_);
        loyal_ = pick(3) != 0;
        way_ = any_way();
        if (favourite != nullptr) way_ = *favourite;
    }

    std::vector<Step> make() {
        while (steps_.size() < length_) {
            for (int i = pick(2 * bursts_); i > 0; --i)
                burst(pick(ranks_));
            if (pick(2) != 0)
                hand_over();
            else if (pick(4) == 0) {
                const int rank = pick(ranks_);
                complete(rank, any_window(), target_of(rank), pick(8) != 0);
            } else
                synchronise(pick(ranks_), pick(ranks_));
        }
        finish();
        return std::move(steps_);
    }

  private:
    int pick(int bound) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(bound))); }
    int any_window() { return loyal_ && pick(4) != 0 ? favourite_ : pick(windows); }
    /// Seldom a rank's own part, which is never cached.
    int target_of(int rank) {
        const int target = loyal_ && pick(4) != 0 ? favourite_target_ : pick(ranks_);
        return target == rank && pick(4) != 0 ? (rank + 1) % ranks_ : target;
    }
    std::uint64_t hot_place() {
        if (pick(8) == 0) return random_.below(70000);
        return hot_[random_.below(hot_.size())] + random_.below(48);
    }
    std::uint64_t random_size() {
        constexpr std::uint64_t most[] = {4, 8, 8, 16, 64, 300};
        return 1 + (pick(120) == 0 ? random_.below(3000) : random_.below(most[pick(6)]));
    }

    Step& add(Kind kind, int rank, int peer, int window = 0) {
        steps_.push_back({});
        Step& step = steps_.back();
        step.id = static_cast<std::uint32_t>(steps_.size());
        step.kind = kind;
        step.rank = rank;
        step.peer = peer;
        step.window = window;
        step.variant = pick(1 << 16);
        return step;
    }
    void add_access(Kind kind, int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        Step& step = add(kind, rank, target, window);
        step.offset = offset;
        step.size_bytes = bytes;
        if (pick(6) != 0 || bytes < 4) return;
        step.block = 1 + random_.below(bytes / 2);
        step.gap = random_.below(20);
    }

    void access(int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        switch (pick(40)) {
            case 0:
            case 1:
            case 2:
            case 3:
                return write(rank, window, target, offset, bytes);
            case 4:
                return add_access(Kind::sum, rank, window, target, offset, 8 + random_.below(17));
            case 5:
                return add_access(Kind::fetch_sum, rank, window, target, offset, 8);
            case 6:  // the words that are added to
                return add_access(Kind::get, rank, window, target,
                                  data_bytes(window, target) - 8 + offset % 64, bytes % 24 + 1);
            case 7:
                return add_access(Kind::load, rank, window, rank, offset, bytes);
            case 8:
                return add_access(Kind::store, rank, window, rank, offset, bytes);
            default:
                return read(rank, window, target, offset, bytes);
        }
    }
    /// Accesses of one target, then completed, then perhaps the same again.
    void burst(int rank) {
        const int window = any_window(), target = target_of(rank);
        const std::uint64_t offset = hot_place();
        for (int i = 1 + pick(3); i > 0; --i) {
            for (int j = 1 + pick(3); j > 0; --j)
                access(rank, window, target, offset + random_.below(80), random_size());
            if (pick(6) != 0 && window != fenced && window != started)
                complete(rank, window, target, pick(3) != 0);
        }
    }
    void read(int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        constexpr Kind some[] = {Kind::get, Kind::get,  Kind::get,        Kind::get,
                                 Kind::get, Kind::rget, Kind::read_atomic};
        add_access(some[pick(7)], rank, window, target, offset, bytes);
    }
    /// One, or many small ones that are neighbours.
    void write(int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        const int number = pick(4) == 0 ? 3 + pick(10) : 1;
        if (number > 1) bytes = 1 + bytes % 16;
        for (int i = 0; i < number; ++i) {
            constexpr Kind some[] = {Kind::put, Kind::put, Kind::put, Kind::rput, Kind::replace};
            add_access(some[pick(5)], rank, window, target, offset, bytes);
            offset += bytes + (pick(8) == 0 ? random_.below(64) : 0);
        }
    }

    /// Synchronisation without a purpose.
    void stray() {
        const int from = pick(ranks_), to = pick(ranks_);
        constexpr Kind some[] = {Kind::fence,        Kind::post_start,    Kind::complete_wait,
                                 Kind::post_receive, Kind::begin_barrier, Kind::end_barrier,
                                 Kind::message};
        if (pick(2))
            synchronise(from, to);
        else
            add(some[pick(7)], from, to);
    }

    void complete(int rank, int window, int target, bool at_target) {
        if (window == fenced) {
            add(Kind::fence, 0, 0);
            return;
        }
        if (window == started) {
            add(Kind::complete_wait, rank, target);
            return;
        }
        constexpr Kind full[] = {Kind::flush, Kind::flush, Kind::flush_all};
        if (pick(12) == 0) {
            add(Kind::reopen, rank, target, window);
            return;
        }
        constexpr Kind local[] = {Kind::flush_local, Kind::flush_local_all, Kind::wait};
        add(at_target ? full[pick(3)] : local[pick(3)], rank, target, window);
    }

    Way any_way() {
        constexpr Kind kinds[] = {Kind::message,      Kind::message,      Kind::message,    Kind::message,
                                  Kind::message,      Kind::collective,   Kind::collective, Kind::flag,
                                  Kind::flag,         Kind::ssend,        Kind::exchange,   Kind::lock_flag,
                                  Kind::post_receive, Kind::begin_barrier};
        return {kinds[pick(14)], pick(1 << 16)};
    }

    /// Most programs synchronise in one way most often, so that nothing else makes up for a mistake in it.
    void synchronise(int from, int to) {
        const Way way = pick(4) == 0 ? any_way() : way_;
        switch (way.kind) {
            case Kind::post_receive:
                add(Kind::post_receive, to, from);
                if (pick(2)) burst(to);
                add(Kind::message, from, to).variant = way.variant;
                break;
            case Kind::begin_barrier:
                add(Kind::begin_barrier, 0, 0);
                if (pick(2)) burst(to);
                add(Kind::end_barrier, 0, 0).variant = way.variant;
                break;
            default:
                add(way.kind, from, to, pick(ranks_)).variant = way.variant;
        }
    }

    /// One rank has read something, another changes it and tells it so, the first reads again.
    void hand_over() {
        const int writer = pick(ranks_), reader = (writer + 1 + pick(ranks_ - 1)) % ranks_;
        const int window = any_window(), target = target_of(reader);
        const std::uint64_t offset = hot_place(), bytes = random_size();
        read_some(reader, window, target, offset, bytes);
        if (window == started) add(Kind::post_start, writer, target);
        write(writer, window, target, offset + random_.below(bytes), random_size());
        complete(writer, window, target, true);
        if (window != fenced || pick(2) == 0) synchronise(writer, reader);
        read_some(reader, window, target, offset, bytes);
    }
    void read_some(int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        if (window == started) add(Kind::post_start, rank, target);
        for (int i = 1 + pick(2); i > 0; --i) {
            read(rank, window, target, offset, bytes);
            if (pick(3) == 0) read(rank, window, target, offset + random_.below(200), random_size());
            if (i == 1 || (window != fenced && window != started))
                complete(rank, window, target, pick(3) != 0);
        }
    }

    /// All is complete; everybody looks at what all have left.
    void finish() {
        for (int rank = 0; rank < ranks_; ++rank) {
            add(Kind::flush_all, rank, 0, allocated);
            add(Kind::flush_all, rank, 0, created);
            for (int target = 0; target < ranks_; ++target)
                add(Kind::flush, rank, target, locked);
            for (int target = 0; target < ranks_; ++target)
                add(Kind::complete_wait, rank, target);
        }
        add(Kind::fence, 0, 0);
        for (int rank = 0; rank < ranks_; ++rank)
            for (int i = 0; i < 6; ++i)
                read(rank, i % 4, pick(ranks_), hot_[random_.below(hot_.size())], 1 + random_.below(100));
    }

    Random random_;
    int ranks_;
    std::size_t length_;
    int bursts_;  ///< between two synchronisations, at most about
    std::array<std::uint64_t, 4> hot_{};
    int favourite_, favourite_target_;
    Way way_{};
    bool loyal_;
    std::vector<Step> steps_;
};

}  // namespace random_programs
