// SPDX-License-Identifier: Apache-2.0
#pragma once

// Executes a random program: this rank's accesses, each value that it reads compared with what is allowed.

#include <list>
#include <optional>

#include "random_sync.hpp"
#include "random_transfer.hpp"

namespace random_programs {

/// What came of a program on this rank.
struct Outcome {
    std::string failure;  ///< the first wrong value
    std::uint64_t reads = 0, bytes = 0, writes = 0, synchronisations = 0;
    std::uint64_t determined = 0;  ///< reads of which the first byte may have one value only
    MoveCounts moves{};
};

class Player {
  public:
    Player(Windows& all, Twins& twins, const Meaning& meaning, std::uint64_t fill, const MovesOut& without,
           Outcome& outcome)
        : windows_(all),
          twins_(twins),
          meaning_(meaning),
          fill_(fill),
          without_(without),
          outcome_(outcome),
          strict_(mode() == "acquire" || mode() == "plain"),
          sync_(all, outcome.moves) {}

    void play() {
        prepare();
        state().at = place_;
        for (const Act& act : meaning_.acts()) {
            if (!act.legal) continue;
            std::snprintf(place_, sizeof place_, "#%u, %s", act.step.id,
                          kind_names[static_cast<int>(act.step.kind)]);
            if (is_access(act.step.kind)) {
                if (act.step.rank == rank()) access(act);
            } else if (is_completion(act.step.kind)) {
                if (act.step.rank == rank()) complete(act.step);
            } else if (act.step.kind >= Kind::make_window) {
                change(act);
            } else {
                synchronise(act);
            }
        }
        part("the end of a program");
        end();
    }

  private:
    /// An access that is not over.
    struct Operation {
        const Act* act;
        std::vector<unsigned char> buffer;  ///< from the origin's first address to its last
        MPI_Request request = MPI_REQUEST_NULL;
        bool over = false;
        bool spoilt = false;              ///< the program has written to the buffer, which may not be final
        bool changed = false;             ///< the program has changed what it has looked at
        std::vector<unsigned char> seen;  ///< when it returned, or since it was changed

        unsigned char& at(std::uint64_t i) { return buffer[act->step.origin.place(i, act->step.size_bytes)]; }
        std::vector<unsigned char> bytes() {
            std::vector<unsigned char> all(act->step.size_bytes);
            for (std::uint64_t i = 0; i < all.size(); ++i)
                all[i] = at(i);
            return all;
        }
    };

    void prepare() {
        for (int id = 0; id < windows; ++id) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, windows_[id]));
            unsigned char* const bytes = windows_.bytes(id);
            for (std::uint64_t at = 0; at < part_bytes(id, rank()); ++at)
                bytes[at] = byte_at_first(fill_, id, rank(), at);
            if (id == allocated) std::memset(bytes + part_bytes(id, rank()), 0, Windows::flag_bytes);
            CHECK_MPI(MPI_Win_unlock(rank(), windows_[id]));
        }
        for (const Window* flags : {windows_.flags.get(), windows_.lock_flags.get()}) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, *flags));
            std::memset(flags->bytes(), 0, Windows::flag_bytes);
            CHECK_MPI(MPI_Win_unlock(rank(), *flags));
        }
        for (int id = 0; id <= all_windows; ++id)
            if (windows_.has_changed[id]) windows_.states->reset(windows_[id]);
        windows_.has_changed.reset();
        barrier();
        windows_.forget_all();
        for (const MPI_Win win : {windows_[allocated], windows_[created], MPI_Win{*windows_.flags}})
            CHECK_MPI(MPI_Win_lock_all(0, win));
        CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, windows_[fenced]));
    }

    void end() {
        CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, windows_[fenced]));
        for (const MPI_Win win : {windows_[allocated], windows_[created], MPI_Win{*windows_.flags}})
            CHECK_MPI(MPI_Win_unlock_all(win));
        barrier();
        for (int id = 0; id < windows; ++id) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, windows_[id]));
            note(meaning_.check_part(id, rank(), windows_.bytes(id), part_bytes(id, rank())));
            CHECK_MPI(MPI_Win_unlock(rank(), windows_[id]));
        }
        barrier();
    }

    void note(const std::string& wrong) {
        if (!wrong.empty() && outcome_.failure.empty()) outcome_.failure = wrong;
    }

    void count(Move move) { ++outcome_.moves[index(move)]; }

    /// All ranks do it together; the first counts.
    void change(const Act& act) {
        const Step& step = act.step;
        if (rank() == 0) count(step.move);
        if (step.kind == Kind::set_state) {
            windows_.has_changed.set(static_cast<std::size_t>(step.window));
            // Each rank may say something else.
            return windows_.states->change(windows_[step.window],
                                           step.variant + (step.variant / 64 % 2 == 0 ? 0 : rank()));
        }
        auto& made = windows_.made[step.window - extra];
        if (step.kind == Kind::make_window) {
            if (rank() == 0) count(act.extra.overlaps() ? Move::overlap : Move::made);
            made.emplace(act.extra, step.window, fill_, windows_.bytes(created), *windows_.states);
        } else {
            wait(step.variant);
            CHECK_MPI(MPI_Win_unlock_all(windows_[step.window]));
            for (int target = 0; target < size(); ++target)
                over(step.window, target);
            note(made->free(meaning_));
            made.reset();
        }
        ++outcome_.synchronisations;
        windows_.forget_all();
    }

    void synchronise(const Act& act) {
        if (act.step.kind == Kind::fence) {
            CHECK_MPI(MPI_Win_fence(0, windows_[fenced]));
            for (int target = 0; target < size(); ++target)
                over(fenced, target);
        } else if (!sync_.perform(act)) {
            return;
        }
        if (act.step.kind == Kind::complete_wait && act.step.rank == rank()) over(started, act.step.peer);
        ++outcome_.synchronisations;
        windows_.forget_all();
    }

    // --- accesses

    static bool reads(const Act& act) { return act.read >= 0; }

    void access(const Act& act) {
        const Step& step = act.step;
        if (step.kind == Kind::load || step.kind == Kind::store) return own(act);
        if (step.window == locked && !is_locked_[step.peer]) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, step.peer, 0, windows_[locked]));
            windows_.forget_all();
            is_locked_[step.peer] = true;
        }
        count(step.move);
        if (step.kind == Kind::rget && step.origin.block != 0) count(Move::typed);
        Operation& operation = begin(act);
        if (!reads(act)) ++outcome_.writes;
        if (!reads(act) && act.bit == 0)
            for (std::uint64_t i = 0; i < step.size_bytes; ++i)
                operation.at(i) = value_of(step.id, i);
        if (act.bit != 0) addends_.assign(step.size_bytes / 8, act.bit);
        if (step.kind > Kind::rput) return by_words(act, operation);
        transfer(step, operation.buffer.data(), windows_.displacement(step.window, step.peer, step.offset),
                 windows_[step.window], &operation.request);
        if (step.look && reads(act) && twins_.are_prompt(step)) look(operation);
    }

    /// Some have the buffer of one that is over.
    Operation& begin(const Act& act) {
        operations_.emplace_back();
        Operation& operation = operations_.back();
        operation.act = &act;
        if (!used_.empty() && act.step.variant % 3 != 0 && !without_[index(Move::reuse)]) {
            operation.buffer = std::move(used_.back());
            used_.pop_back();
            count(Move::reuse);
        }
        operation.buffer.assign(act.step.origin.span(act.step.size_bytes), 0xA5);
        return operation;
    }

    /// At what a get has brought that has returned and is not complete.
    void look(Operation& operation) {
        const Act& act = *operation.act;
        operation.seen = operation.bytes();
        if (!twins_.delivers(act.step)) return operation.seen.clear();
        count(Move::look);
        const std::string wrong = meaning_.check(act, operation.seen.data(), strict_);
        if (!wrong.empty()) note(wrong + ", when the get returned. The library delivers at once");
        if (act.step.variant % 2 != 0 || without_[index(Move::change)]) return;
        count(Move::change);
        operation.changed = true;
        for (std::uint64_t i = 0; i < act.step.size_bytes; ++i)
            operation.at(i) = operation.seen[i] = static_cast<unsigned char>(0x3C + i);
    }

    /// The program's own part, by the processor.
    void own(const Act& act) {
        const Step& step = act.step;
        const MPI_Win win = windows_[step.window];
        volatile unsigned char* const bytes = windows_.bytes(step.window);
        CHECK_MPI(MPI_Win_sync(win));
        if (reads(act)) {
            std::vector<unsigned char> seen(step.size_bytes);
            for (std::uint64_t i = 0; i < step.size_bytes; ++i)
                seen[i] = bytes[step.place(i)];
            count(act);
            note(meaning_.check(act, seen.data(), strict_));
            return;
        }
        for (std::uint64_t i = 0; i < step.size_bytes; ++i)
            bytes[step.place(i)] = value_of(step.id, i);
        CHECK_MPI(MPI_Win_sync(win));
    }

    void by_words(const Act& act, Operation& operation) {
        const Step& step = act.step;
        const MPI_Win win = windows_[step.window];
        const auto words = static_cast<int>(step.size_bytes / 8);
        const auto at = static_cast<MPI_Aint>(step.offset);
        const MPI_Datatype word = MPI_UINT64_T;
        unsigned char* const buffer = operation.buffer.data();
        operands_.push_back(addends_);
        const std::uint64_t* const addends = operands_.back().data();
        if (step.kind == Kind::replace) {
            CHECK_MPI(MPI_Accumulate(buffer, words, word, step.peer, at, words, word, MPI_REPLACE, win));
        } else if (step.kind == Kind::sum) {
            CHECK_MPI(MPI_Accumulate(addends, words, word, step.peer, at, words, word, MPI_SUM, win));
        } else if (step.kind == Kind::fetch_sum) {
            if (step.variant % 2)
                CHECK_MPI(MPI_Fetch_and_op(addends, buffer, word, step.peer, at, MPI_SUM, win));
            else
                CHECK_MPI(MPI_Get_accumulate(addends, 1, word, buffer, 1, word, step.peer, at, 1, word,
                                             MPI_SUM, win));
        } else if (words == 1 && step.variant % 2) {
            CHECK_MPI(MPI_Fetch_and_op(nullptr, buffer, word, step.peer, at, MPI_NO_OP, win));
        } else {
            CHECK_MPI(MPI_Get_accumulate(nullptr, 0, word, buffer, words, word, step.peer, at, words, word,
                                         MPI_NO_OP, win));
        }
    }

    // --- completions

    void complete(const Step& step) {
        if (step.kind == Kind::wait) return wait(step.variant);
        const MPI_Win win = windows_[step.window];
        switch (step.kind) {
            case Kind::flush:
                CHECK_MPI(MPI_Win_flush(step.peer, win));
                return over(step.window, step.peer);
            case Kind::flush_local:
                CHECK_MPI(flush_local(step.peer, win));
                return over(step.window, step.peer);
            case Kind::flush_all:
                CHECK_MPI(MPI_Win_flush_all(win));
                break;
            case Kind::flush_local_all:
                CHECK_MPI(flush_local_all(win));
                break;
            default:
                reopen(step);
        }
        for (int target = 0; target < size(); ++target)
            if (step.window != locked || target == step.peer) over(step.window, target);
    }

    /// Ends an epoch; requests are to be complete by then.
    void reopen(const Step& step) {
        const MPI_Win win = windows_[step.window];
        wait(step.variant);
        if (step.window == locked) {
            CHECK_MPI(MPI_Win_unlock(step.peer, win));
            is_locked_[step.peer] = false;
            return;
        }
        CHECK_MPI(MPI_Win_unlock_all(win));
        CHECK_MPI(MPI_Win_lock_all(0, win));
        windows_.forget_all();
    }

    void wait(int variant) {
        std::vector<MPI_Request> requests;
        for (Operation& operation : operations_)
            if (operation.request != MPI_REQUEST_NULL) requests.push_back(operation.request);
        if (requests.empty()) return;
        wait_for(requests, variant);
        for (Operation& operation : operations_) {
            if (operation.request == MPI_REQUEST_NULL) continue;
            operation.request = MPI_REQUEST_NULL;
            if (operation.over || operation.act->step.kind == Kind::rput ||
                operation.act->step.origin.block == 0) {
                finish(operation);
            } else if (operation.act->step.variant % 5 < 2) {
                // Its bytes may come until a flush. Nobody looks at them then.
                operation.spoilt = true;
                spoil(operation);
            }
        }
        remove_finished();
    }

    static void wait_for(std::vector<MPI_Request>& requests, int variant) {
        const auto number = static_cast<int>(requests.size());
        std::vector<int> indices(requests.size());
        int index = 0, done = 0;
        switch (variant % 5) {
            case 0:
                return CHECK_MPI(MPI_Waitall(number, requests.data(), MPI_STATUSES_IGNORE));
            case 1:
                return until([&](int* flag) {
                    return MPI_Testall(number, requests.data(), flag, MPI_STATUSES_IGNORE);
                });
            case 2:
                for (int i = 0; i < number; ++i)
                    CHECK_MPI(MPI_Waitany(number, requests.data(), &index, MPI_STATUS_IGNORE));
                return;
            case 3:
                for (int left = number; left > 0; left -= done)
                    CHECK_MPI(
                        MPI_Waitsome(number, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE));
                return;
            default:
                for (MPI_Request& request : requests)
                    Synchroniser::finish(request, variant / 5);
        }
    }

    /// A rank's accesses of a target are over: their values are there, their buffers its own again.
    void over(int window, int target) {
        for (Operation& operation : operations_)
            if (operation.act->step.window == window && operation.act->step.peer == target) finish(operation);
        remove_finished();
    }

    void finish(Operation& operation) {
        if (operation.over) return;
        operation.over = true;
        const Act& act = *operation.act;
        if (reads(act) && !operation.spoilt) {
            const std::vector<unsigned char> bytes = operation.bytes();
            count(act);
            if (!operation.changed) note(meaning_.check(act, bytes.data(), strict_));
            if (!operation.seen.empty() && bytes != operation.seen)
                note(to_text(act.step) + ": other bytes than when the get returned, and none are to come");
        }
        spoil(operation);
    }

    /// The program uses its buffer for something else.
    static void spoil(Operation& operation) {
        std::fill(operation.buffer.begin(), operation.buffer.end(), static_cast<unsigned char>(0xBD));
    }

    void remove_finished() {
        operations_.remove_if([this](Operation& operation) {
            if (!operation.over || operation.request != MPI_REQUEST_NULL) return false;
            if (used_.size() < 3) used_.push_back(std::move(operation.buffer));
            return true;
        });
        if (operations_.empty()) operands_.clear();
    }

    void count(const Act& act) {
        ++outcome_.reads;
        outcome_.bytes += act.step.size_bytes;
        if (outcome_.reads % 32 == 0 && meaning_.choices(act, strict_) == 1) outcome_.determined += 32;
    }

    Windows& windows_;
    Twins& twins_;
    const Meaning& meaning_;
    std::uint64_t fill_;
    const MovesOut& without_;
    Outcome& outcome_;
    bool strict_;
    Synchroniser sync_;
    std::list<Operation> operations_;
    std::vector<std::vector<unsigned char>> used_;  ///< buffers of accesses that are over
    std::list<std::vector<std::uint64_t>> operands_;
    std::vector<std::uint64_t> addends_;
    bool is_locked_[most_ranks] = {};
    char place_[64] = {};  ///< for the message of a rank that is stuck
};

}  // namespace random_programs
