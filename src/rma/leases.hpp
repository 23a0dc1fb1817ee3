// SPDX-License-Identifier: Apache-2.0
#pragma once

// Leases of targets (after Gray and Cheriton 1989), so that a shared lock need not be an acquire. A shared
// lock orders a reader after a writer only if somebody had an exclusive lock of that target in between. So
// each rank has, for each window, a word {writers, version, looks} that all reach by atomics.
//
// - Reader. It looks at the target's word. If there is no writer, it holds a lease of the target until
//   `lease` after the look was started. Shared locks of the target acquire nothing under a lease, nor at a
//   look that finds the version of the last one.
// - Writer. Before an exclusive lock it adds itself to the writers of the target. If somebody has looked
//   meanwhile, it waits until `lease` has passed since then. When it takes itself off, it raises the version.
//
// Why that is right: a look that granted a lease saw no writer, so it was at the target before the writer's
// registration was, and the lease ends before the writer goes on. docs/leases.md has the whole argument, and
// its one assumption: clocks of two ranks run equally fast, but for a 64th.
//
// Who writes to one target after the other registers with a thousand at once, beyond its budget: it waits
// once.
//
// Updates under a shared lock order nothing. They are announced without waiting: their rank becomes a writer,
// so that readers who race with it see it soon.
//
// Looks, and registrations with their waits, each spend a budget: a share of the time that has passed, and of
// what elided locks have saved. Looks that are refused once are refused until there is budget for a burst:
// only a target that is leased without a gap, until its bytes are read again, saves anything.
//
// For one thread: with MPI_THREAD_MULTIPLE there are no leases.

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "rma/target_table.hpp"

namespace nearfetch {

/// The words of a window, one at each rank. A status is the transport's: 0 is success.
class LeaseWords {
  public:
    /// Adds to the word of `target`, and waits for what it was before.
    virtual int fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) = 0;
    /// Starts the same, with one_writer or writer_off. `before` is there when the next fetch_add() of that
    /// target has returned.
    virtual int start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) = 0;
    /// Waits for all that was started.
    virtual int complete() = 0;
    /// Lets time pass until ticks() is that, and serves other ranks meanwhile.
    virtual void wait_until(std::uint64_t end_ticks) = 0;

  protected:
    ~LeaseWords() = default;
};

/// What a word says. Fields overflow into the next one, which does no harm (docs/leases.md).
struct LeaseWord {
    static constexpr std::uint64_t one_writer = 1;
    static constexpr std::uint64_t one_version = 1ull << 20;
    static constexpr std::uint64_t one_look = 1ull << 42;
    /// A writer takes itself off, and raises the version.
    static constexpr std::uint64_t writer_off = one_version - one_writer;

    std::uint64_t bits = 0;

    std::uint64_t writers() const noexcept { return bits % one_version; }
    std::uint64_t version() const noexcept { return bits % one_look / one_version; }
    std::uint64_t looks() const noexcept { return bits / one_look; }
};

class Leases {
  public:
    explicit Leases(TargetTable& targets) : targets_(targets) { targets.keep_room_in(written_); }

    /// Locks of the window are acquires until this was called.
    /// \param words outlive this \param lease_ns the same on all ranks
    /// \param writers of the process: it counts the targets that it is a writer of
    /// \param has_budget false: nothing is refused to save time
    void open(LeaseWords& words, std::uint64_t lease_ns, bool has_budget, std::uint32_t& writers) noexcept;
    bool are_open() const noexcept { return words_ != nullptr; }

    /// A shared lock of `target`: looks at its word where there is no lease and the budget allows it.
    /// \return whether the lock acquires nothing
    bool look(Rank target) noexcept;
    /// Until when there is a lease of the target, in ticks; 0: there is none.
    std::uint64_t end_of(Rank target) const noexcept { return at(target).lease_end; }
    /// A lock was elided.
    void record_elided() noexcept { ++saved_looks_; }

    /// Before an exclusive lock of `target`. Waits for leases to end. \return the transport's status
    int begin_writing(Rank target) noexcept;
    /// After an update of `target` under a shared lock.
    void announce_update(Rank target) noexcept {
        if (words_ != nullptr && at(target).role == Role::reader) [[unlikely]]
            announce(target);
    }
    /// Whether this is a writer of anybody.
    bool writes() const noexcept { return !written_.empty(); }
    /// Takes itself off the writers of `target`, which it has no lock of, if the budget allows it.
    void end_writing(Rank target) noexcept;
    /// The same for all targets that `may_end(target)` is true of.
    template <class Predicate>
    void end_writing_if(const Predicate& may_end) noexcept {
        for (std::size_t i = written_.size(); i-- > 0;)
            if (may_end(written_[i])) end_writing(written_[i]);
    }
    /// Before the window goes: takes itself off everywhere.
    void close() noexcept;

    std::uint64_t looks() const noexcept { return looks_; }
    std::uint64_t waits() const noexcept { return waits_; }

  private:
    using Role = TargetLease::Role;

    TargetLease& at(Rank target) noexcept { return targets_.make(target).lease; }
    const TargetLease& at(Rank target) const noexcept { return targets_.at(target).lease; }
    bool may_look(std::uint64_t now) noexcept;
    /// On registrations and waits.
    bool has_overspent() const noexcept;
    int write_to_many(Rank first) noexcept;
    std::uint64_t look_ticks() const noexcept { return looks_ != 0 ? looking_ticks_ / looks_ : 0; }
    bool has_been_leased(const TargetLease& target, LeaseWord before, std::uint64_t now) const noexcept;
    void announce(Rank target) noexcept;
    void add_writer(Rank target, Role role) noexcept;

    LeaseWords* words_ = nullptr;
    std::uint32_t* writers_ = nullptr;
    TargetTable& targets_;
    std::vector<Rank> written_;  ///< whose writer this is
    bool has_budget_ = true;
    std::uint64_t lease_ticks_ = 0;
    std::uint64_t remembered_ticks_ = 0;
    std::uint64_t burst_ticks_ = 0;
    bool is_saving_up_ = false;  ///< for a burst of looks
    std::uint64_t opened_ticks_ = 0;
    std::uint64_t looks_ = 0;
    std::uint64_t looking_ticks_ = 0;
    std::uint64_t saved_looks_ = 0;  ///< locks that were elided
    std::uint64_t waits_ = 0;
    std::uint64_t writing_ticks_ = 0;  ///< spent on registrations and waits
    bool has_ended_ = false;
};

}  // namespace nearfetch
