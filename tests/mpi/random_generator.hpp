// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes random programs (random_steps.hpp).

#include "random_extra.hpp"

namespace random_programs {

/// A way of synchronising.
struct Way {
    Kind kind;
    int variant;
};

/// Makes programs. What is written by one rank is read by others, most often after they have synchronised.
class Generator {
  public:
    /// \param favourite null: chosen by chance
    Generator(std::uint64_t seed, int ranks, const MovesOut& out, const Way* favourite = nullptr)
        : random_(seed), ranks_(ranks), out_(out) {
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
        // A program makes a few of the moves, and these often.
        for (std::size_t move = 0; move < moves; ++move)
            makes_[move] = pick(3) == 0 && !out[move];
        if (makes(Move::poll)) way_ = {Kind::flag, any_poll()};
        if (favourite != nullptr) way_ = *favourite;
    }

    std::vector<Step> make() {
        while (steps_.size() < length_) {
            for (int i = pick(2 * bursts_); i > 0; --i)
                burst(pick(ranks_));
            special();
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
    bool makes(Move move) const { return makes_[index(move)]; }
    int pick(int bound) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(bound))); }
    int any_window() {
        if (makes(Move::made) && pick(3) == 0) return extra + pick(extra_windows);
        return loyal_ && pick(4) != 0 ? favourite_ : pick(windows);
    }
    int any_poll() { return poll_by_flush + pick(5) + (pick(3) != 0 ? 10 : 0); }
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
    Step& add_access(Kind kind, int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        Step& step = add(kind, rank, target, window);
        step.offset = offset;
        step.size_bytes = bytes;
        step.look = kind <= Kind::rget && makes(Move::look) && pick(2) != 0;
        if (bytes >= 4 && pick(6) == 0) {
            step.target = strides(bytes);
            if (pick(2) != 0 && (kind != Kind::rget || !out_[index(Move::typed)])) step.origin = step.target;
        }
        if (bytes >= 2 && makes(Move::typed) && pick(3) == 0) step.origin = strides(bytes);
        return step;
    }
    Strides strides(std::uint64_t bytes) {
        const std::uint64_t block = 1 + random_.below(bytes / 2);
        return {block, random_.below(20)};
    }

    void access(int rank, int window, int target, std::uint64_t offset, std::uint64_t bytes) {
        switch (pick(40)) {
            case 0:
            case 1:
            case 2:
            case 3:
                return write(rank, window, target, offset, bytes);
            case 4:
                add_access(Kind::sum, rank, window, target, offset, 8 + random_.below(17));
                return;
            case 5:
                add_access(Kind::fetch_sum, rank, window, target, offset, 8);
                return;
            case 6:  // the words that are added to
                add_access(Kind::get, rank, window, target, data_bytes(window, target) - 8 + offset % 64,
                           bytes % 24 + 1);
                return;
            case 7:
                add_access(Kind::load, rank, window, rank, offset, bytes);
                return;
            case 8:
                add_access(Kind::store, rank, window, rank, offset, bytes);
                return;
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
        const bool typed = makes(Move::typed) && pick(2) != 0;
        Step& step = add_access(typed ? Kind::rget : some[pick(7)], rank, window, target, offset, bytes);
        if (!typed || bytes < 2) return;
        step.origin = strides(bytes);
        step.origin.reversed = pick(3) == 0;
        // Open MPI 4.1 takes blocks in reversed order without gaps for one run of bytes.
        if (step.origin.reversed) ++step.origin.gap;
        if (pick(2) != 0) add(Kind::wait, rank, target, window);
    }

    // --- moves

    void special() {
        if (makes(Move::sizes) && pick(2) != 0) sizes();
        if (makes(Move::blocks) && pick(12) == 0) blocks();
        if (makes(Move::made) && pick(2) == 0) make_or_free();
        if (makes(Move::state) && pick(2) == 0)
            add(Kind::set_state, 0, 0, pick(3) == 0 ? flag_window : pick(locked + 1)).move = Move::state;
    }
    /// A header and then the record that it begins, some of them.
    void sizes() {
        const int rank = pick(ranks_), window = any_window(), target = target_of(rank);
        std::uint64_t offset = hot_place();
        const std::uint64_t header = 1 + random_.below(16), record = header + 1 + random_.below(200);
        for (int i = 1 + pick(4); i > 0; --i, offset += record) {
            for (const std::uint64_t bytes : {header, record, header}) {
                Step& step =
                    add_access(pick(4) == 0 ? Kind::rget : Kind::get, rank, window, target, offset, bytes);
                step.move = Move::sizes;
                step.target = {};
                complete(rank, window, target, pick(2) != 0);
                if (bytes == record && pick(2) != 0) break;
            }
        }
    }
    void blocks() {
        const int rank = pick(ranks_), window = pick(4) == 0 ? any_window() : created,
                  target = target_of(rank);
        const std::uint64_t offset = hot_place(), bytes = 200 + random_.below(pick(8) == 0 ? 5000 : 600);
        constexpr Kind some[] = {Kind::get, Kind::get, Kind::rget, Kind::put};
        for (int i = 1 + pick(2); i > 0; --i) {
            Step& step = add_access(some[pick(4)], rank, window, target, offset, bytes);
            step.move = Move::blocks;
            step.target = {1, 1 + random_.below(3)};
            complete(rank, window, target, true);
        }
        read(rank, window, target, offset + random_.below(bytes), random_size());
        complete(rank, window, target, true);
    }
    void make_or_free() {
        const int window = extra + pick(extra_windows);
        Step& step = add(pick(3) == 0 ? Kind::free_window : Kind::make_window, 0, 0, window);
        if (ExtraWindow(step, 0).overlaps() && out_[index(Move::overlap)])
            step.variant -= ExtraWindow::over_created;
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
        Way way = some_way();
        if (way.kind == Kind::flag && is_poll(way.variant) && out_[index(Move::poll)]) way.variant -= 5;
        return way;
    }
    Way some_way() {
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
            case Kind::make_window:  // if there is one, it goes
                add(Kind::make_window, from, to, extra).variant = way.variant;
                if (pick(2)) burst(to);
                add(Kind::free_window, from, to, extra);
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
    MovesOut out_, makes_;
    std::vector<Step> steps_;
};

}  // namespace random_programs
