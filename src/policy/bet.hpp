// SPDX-License-Identifier: Apache-2.0
#pragma once

// Never slower: caching a target's gets is a bet, and this is its account.
//
// A hit saves what the network would have taken, less what the hit takes. A miss costs the bookkeeping and
// the copy into the cache on top of the network's time. Both are measured while they happen. After each round
// the account is settled: if the misses cost more than the hits saved, and enough to be felt (the loss
// share), nearfetch stands back for so long that the next round costs half a percent of what the gets take.
//
// How far it stands back depends on the network. Where a get takes as long as hundreds of lookups, the
// target is `watching`: of a quarter of the addresses, what is asked for again is looked up, and admitted, so
// that a phase of reuse after a stream is found by its first reuse; all else goes to the library as it is.
// What is admitted in vain costs, too, a block of a few KiB half a get and more: so it has to be paid for by
// the gets that pass, as looking again is, or by hits.
// Where a get is a load or two, even that is felt: the target is `asleep`, and all its gets and flushes go to
// the library, untracked. A same-node neighbour thereby drops out within a few dozen gets, unless its
// hits really pay.
//
// Some misses fetch more than they were asked for. What that takes longer than a plain get counts as lost; so
// now and then, and ever more rarely, one fetches just what it was asked for, and shows how long that takes.
//
// A get of bytes that are on their way for another saves less than one that is alone there: among many that
// one flush completes, each takes its start and its share of the completion. What a start takes in a loop is
// not known from misses that come one by one between other work. Where most gets are of that kind and starts
// are what counts, a few in a row go to the network now and then, and ever more rarely, to show it.
//
// A cold cache over a slow network must not be judged by its first gets, which miss of necessity. So a loss
// has to be felt: a tenth of what the gets take anyway, and only after many lost rounds in a row is a small
// one enough: so few that a short program without reuse does not spend most of its gets on finding that out.
// Where nothing outlives its epoch, or the process learns something between any two gets, as with a lock for
// each, the next one begins with a cold cache: there the first lost round is enough, unless one was won
// before, and watching would find nothing. Nor would looking again in the second case, until the program
// does something else: then it is done ever more rarely.
// What is measured of our own work is capped, because on a machine with more ranks than cores it
// may contain somebody else's time slice.
//
// Large gets are where the copy itself is felt: at 64 KiB it can be a tenth of the network's time. Such a
// range is admitted when it is asked for the second time; copy_is_felt() tells which ones these are.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace nearfetch {

/// A moving mean that no single measurement moves far; 0: there was none yet.
template <class Number>
constexpr Number steady_mean(Number mean, Number seen) noexcept {
    return mean == 0 ? seen : std::min(mean * Number(1.5), mean + (seen - mean) / 8);
}

/// What a hit costs, for the account.
struct HitCost {
    double hit_ticks;              ///< beside its copy
    double copy_ticks_per_byte;    ///< measured
    std::uint64_t most_own_ticks;  ///< more than that, and the processor was taken away
};

/// Measured once per process, in some 10 us; in a simulation the same in each run.
const HitCost& hit_cost() noexcept;

class Bet {
  public:
    /// No get of the target has been seen yet.
    bool unread() const noexcept { return state_ == State::unread; }
    bool caching() const noexcept { return state_ <= State::caching; }
    bool watching() const noexcept { return state_ == State::watching; }
    bool asleep() const noexcept { return state_ == State::asleep; }
    /// While nearfetch stands back: counts a get that passes; false when it is time to wake().
    bool passes() noexcept {
        if (pause_left_ == 0) [[unlikely]]
            return false;
        --pause_left_;
        return true;
    }
    /// Whether it is asleep, and will be looked at again.
    bool pauses() const noexcept { return asleep() && pause_left_ < for_good / 2; }
    /// What the gets take that are to pass before that.
    double pause_ticks() const noexcept { return static_cast<double>(pause_left_) * network_per_get_; }
    /// So many gets have passed without asking, of any target, and for so long.
    void shorten_pause(double ticks, std::uint64_t gets) noexcept {
        const auto all = static_cast<double>(gets);
        const double passed = network_per_get_ == 0 ? all : std::min(ticks / network_per_get_, all);
        pause_left_ = static_cast<std::uint64_t>(std::max(static_cast<double>(pause_left_) - passed, 0.0));
    }
    void wake() noexcept { state_ = State::caching; }
    /// The first so many gets pass, and caching begins with the next one. \pre unread()
    void postpone(std::uint64_t gets) noexcept { pause_left_ = gets; }
    /// While watching: whether what was asked for before may be admitted; if so, that counts. It may cost as
    /// much as looking again does, and up to two rounds' worth at once.
    /// \param passed_gets, hits of the target so far; a hit pays for as many as its get would have taken
    bool may_admit(std::uint64_t passed_gets, std::uint64_t hits) noexcept {
        const std::uint64_t paid = passed_gets + hits * gets_per_hit;
        if (admissions_ >= paid + 2 * round_gets * gets_per_look_) return false;
        admissions_ = std::max(admissions_, paid) + gets_per_look_;
        return true;
    }
    /// Leaves the target alone for good.
    void give_up() noexcept {
        state_ = State::asleep;
        pause_left_ = for_good;
    }

    /// Watches the target for good.
    void hold_sampling() noexcept {
        state_ = State::watching;
        pause_left_ = for_good;
    }
    bool is_held() const noexcept { return pause_left_ >= for_good / 2; }

    /// One get that went to the network.
    /// \param network_ticks inside the MPI library, \param own_ticks our work around it
    /// \param size_bytes 0 where more was fetched than it asked for
    void missed(std::uint64_t network_ticks, std::uint64_t own_ticks, std::uint64_t size_bytes = 0) noexcept {
        started_ticks_ += network_ticks;
        worked(own_ticks);
        if (vain_misses_ < vain_row) vain_misses_ = vain_ticks_ = 0;
        ++misses_;
        ++under_way_;
        if (size_bytes != 0) started(size_bytes, network_ticks);
    }
    /// One of which nothing can be kept, however quick that is.
    void missed_in_vain(std::uint64_t network_ticks) noexcept {
        ++went_by_;
        ++vain_misses_;
        vain_ticks_ += network_ticks;
    }
    /// After many of these in a row the target falls asleep for as many gets, and for twice as many each time
    /// that it wakes up to find more of them. \return whether it does now
    bool rests_from_vain() noexcept {
        if (vain_misses_ < vain_row) return false;
        network_per_get_ =
            static_cast<double>(vain_ticks_) / static_cast<double>(vain_misses_) + completion_per_get_;
        state_ = State::asleep;
        pause_left_ = vain_misses_;
        lengthen_pause();
        vain_misses_ = vain_ticks_ = 0;
        return true;
    }
    /// Whether a get of bytes that are on their way goes to the network all the same: several in a row show
    /// what a start takes in a loop, of which those that miss now and then know nothing.
    bool tries_start() noexcept {
        if (tries_left_ == 0) [[likely]]
            return false;
        --tries_left_;
        return true;
    }
    /// The library has started a get of `size_bytes`, in so many ticks.
    void started(std::uint64_t size_bytes, std::uint64_t ticks) noexcept {
        float& quickest = start_by_size_[size_class(size_bytes)];
        const auto seen = static_cast<float>(ticks);
        quickest = quickest == 0 ? seen : std::min(seen, quickest * start_ages);
    }
    /// Whether the next miss may fetch more than it was asked for. One that may not shows how long a plain
    /// get takes; the more are known, the rarer it is.
    bool may_read_ahead() noexcept {
        if (++aheads_asked_ < aheads_to_plain_) return true;
        aheads_asked_ = 0;
        aheads_to_plain_ = std::min(2 * aheads_to_plain_, most_aheads_to_plain);
        return false;
    }
    /// One get of `size_bytes` that went to the network for `fetched_bytes`.
    void missed_read_ahead(std::uint64_t size_bytes, std::uint64_t fetched_bytes, std::uint64_t network_ticks,
                           std::uint64_t own_ticks) noexcept {
        missed(network_ticks, own_ticks);
        const double plain = network_by_size_[size_class(size_bytes)];
        const double ahead = network_by_size_[size_class(fetched_bytes)];
        if (plain != 0 && ahead > plain) ahead_excess_ += 1 - plain / ahead;
    }
    /// A get in runs that were all there.
    void hit_in_runs(std::uint64_t size_bytes, std::uint64_t own_ticks) noexcept {
        worked(own_ticks);
        ++run_hits_;
        run_hit_bytes_ += size_bytes;
    }
    /// Whether many gets are under way that each take as little as some hits: then the next ones go by until
    /// these are complete. What completing takes is what it took the last time, and nothing before the first.
    bool lets_go_by() const noexcept {
        const double misses = static_cast<double>(misses_);
        return under_way_ >= many_under_way &&
               static_cast<double>(started_ticks_) + misses * completion_per_get_ <
                   misses * quick_hits * hit_cost().hit_ticks;
    }
    /// A get that passed while caching.
    void went_by() noexcept { ++went_by_; }
    /// A get of bytes that were on their way for another.
    void hit_pending(std::uint64_t size_bytes, std::uint64_t own_ticks) noexcept {
        worked(own_ticks);
        ++under_way_;
        ++pending_hits_;
        pending_hit_bytes_ += size_bytes;
    }
    /// So many bytes were copied into the cache; all that was done for them took so long.
    void copied(std::uint64_t size_bytes, std::uint64_t own_ticks) noexcept {
        if (size_bytes < 4 * long_copy || own_ticks > hit_cost().most_own_ticks) return;
        long_copy_rate_ =
            steady_mean(long_copy_rate_, static_cast<double>(own_ticks) / static_cast<double>(size_bytes));
    }
    /// A completion of all gets, after which so many ranges entered the cache or went to who waited for them.
    void completed(std::uint64_t network_ticks, std::uint64_t own_ticks, std::uint64_t ranges = 0,
                   std::uint64_t bytes = 0) noexcept {
        const std::uint64_t gets = under_way_ + went_by_;
        if (gets != 0) completion_per_get_ = static_cast<double>(network_ticks) / static_cast<double>(gets);
        // What went by is none of this account's.
        network_ticks_ += went_by_ == 0 ? network_ticks : network_ticks * under_way_ / gets;
        worked(own_ticks, ranges, bytes);
        under_way_ = went_by_ = 0;
    }
    /// That of a get with a request.
    void request_completed(std::uint64_t network_ticks, std::uint64_t own_ticks) noexcept {
        network_ticks_ += network_ticks;
        worked(own_ticks);
        under_way_ -= std::min<std::uint64_t>(under_way_, 1);
    }
    /// Whether the next hit that is not at hand, and has to be looked for, is to be timed.
    bool looks_further() const noexcept { return further_hits_ % timed_further == 0; }
    /// It took so long; 0: nobody knows.
    void hit_further(std::uint64_t own_ticks) noexcept {
        ++further_hits_;
        if (own_ticks == 0) return;
        const auto seen = static_cast<double>(std::min(own_ticks, hit_cost().most_own_ticks));
        further_ticks_ = further_ticks_ == 0 ? seen : further_ticks_ + (seen - further_ticks_) / 8;
    }
    /// A get of `size_bytes` that was alone on its way took `network_ticks` in all.
    void observed(std::uint64_t size_bytes, std::uint64_t network_ticks) noexcept {
        float& mean = network_by_size_[size_class(size_bytes)];
        mean = steady_mean(mean, static_cast<float>(network_ticks));
    }

    /// True where copying `size_bytes` would take a noticeable share of what the network takes for them.
    bool copy_is_felt(std::uint64_t size_bytes) const noexcept {
        const float network = network_by_size_[size_class(size_bytes)];
        return network != 0 && copy_ticks(size_bytes) > copy_share * static_cast<double>(network);
    }

    /// Whether hits of that size take less than the network.
    bool hits_pay(std::uint64_t hits, std::uint64_t hit_bytes) const noexcept {
        return hit_ticks(hit_bytes / hits) < network_per_hit(hits, hit_bytes);
    }

    bool round_over() const noexcept { return misses_ + run_hits_ + pending_hits_ >= round_gets; }

    /// For settle(): nothing outlives its epoch.
    static constexpr std::uint64_t each_epoch = ~std::uint64_t{0};
    /// Settles the account of a round in which `hits` gets of `hit_bytes` in all were served from the cache.
    /// \param forgotten how often all that was cached has been forgotten before a get, since wake() or the
    /// last round; or `each_epoch`
    void settle(std::uint64_t hits, std::uint64_t hit_bytes, std::uint64_t forgotten) noexcept {
        const HitCost& cost = hit_cost();
        const auto misses = static_cast<double>(misses_), pending = static_cast<double>(pending_hits_);
        const auto network = static_cast<double>(started_ticks_ + network_ticks_);
        const double excess = misses_ == 0 ? 0 : network * ahead_excess_ / misses;
        if (misses_ != 0) network_per_get_ = (network - excess) / misses;
        const double avoided = static_cast<double>(hits) * network_per_hit(hits, hit_bytes) +
                               static_cast<double>(run_hits_) * network_per_hit(run_hits_, run_hit_bytes_) +
                               pending * network_per_hit(pending_hits_, pending_hit_bytes_);
        const double further = std::max(further_ticks_ - cost.hit_ticks, 0.0);
        const double hitting = (hits == 0 ? 0 : static_cast<double>(hits) * hit_ticks(hit_bytes / hits)) +
                               static_cast<double>(further_hits_) * further;
        const double looking = static_cast<double>(own_ticks_) + excess;
        const double lost = looking + hitting;
        lost_rounds_ = lost > avoided ? lost_rounds_ + 1 : 0;
        if (lost_rounds_ == 0) {
            vain_pause_ = vain_row;
            has_won_ = true;
        }
        const double gets = static_cast<double>(hits + run_hits_) + pending + misses;
        const bool keeps_data = static_cast<double>(forgotten) < gets;
        const bool in_vain = !keeps_data && forgotten != each_epoch;
        const std::uint32_t patience = keeps_data || has_won_ ? many_rounds : 0;
        const double felt = lost_rounds_ > patience ? small_share : felt_share;
        // Without a cache all would have been the network's.
        const double plain = avoided + network - excess;
        plain_per_get_ = plain / gets;
        ours_per_get_ = (lost + network - excess) / gets;
        if (lost_rounds_ != 0 && lost - avoided > felt * plain) {
            const double pause = looking / (look_share * std::max(network_per_get_, 1.0));
            pause_left_ = static_cast<std::uint64_t>(std::clamp(pause, least_pause, most_pause));
            if (in_vain) lengthen_pause();
            gets_per_look_ = pause_left_ / std::max(misses_, std::uint64_t{round_gets});
            const bool slow = network_per_get_ > lookups_per_get * cost.hit_ticks;
            const bool pays = hits == 0 || hits_pay(hits, hit_bytes);
            state_ = slow && keeps_data && pays ? State::watching : State::asleep;
        }
        if (starts_matter() && --rounds_to_tries_ == 0) {
            tries_left_ = tries;
            rounds_to_tries_ = next_tries_ = std::min(2 * next_tries_, most_rounds_to_tries);
        }
        started_ticks_ = network_ticks_ = own_ticks_ = misses_ = 0;
        further_hits_ = run_hits_ = run_hit_bytes_ = pending_hits_ = pending_hit_bytes_ = 0;
        ahead_excess_ = 0;
    }

    /// What the network takes for a get of `size_bytes`: as measured, or as for the next size that was
    /// measured, smaller ones first; 0: nothing was.
    double network_ticks(std::uint64_t size_bytes) const noexcept {
        const std::size_t own = size_class(size_bytes);
        for (std::size_t below = own + 1; below-- > 0;)
            if (network_by_size_[below] != 0) return network_by_size_[below];
        for (std::size_t above = own + 1; above < size_classes; ++above)
            if (network_by_size_[above] != 0) return network_by_size_[above];
        return 0;
    }
    /// What a hit of `size_bytes` takes.
    double hit_ticks(std::uint64_t size_bytes) const noexcept {
        return hit_cost().hit_ticks + copy_ticks(size_bytes);
    }
    /// What a get took of the network in the last round; 0 before the first.
    double network_per_get_ticks() const noexcept { return network_per_get_; }
    /// What a get took in the last round, and what it would have taken without a cache; 0 before the first.
    double ours_per_get_ticks() const noexcept { return ours_per_get_; }
    double plain_per_get_ticks() const noexcept { return plain_per_get_; }

  private:
    enum class State : std::uint8_t { unread, caching, watching, asleep };

    static std::size_t size_class(std::uint64_t size_bytes) noexcept {
        return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(size_bytes)), size_classes - 1);
    }

    /// Nothing could have been found: twice as long as the last time.
    void lengthen_pause() noexcept {
        pause_left_ = std::max(vain_pause_, pause_left_);
        vain_pause_ = std::min(2 * pause_left_, most_vain_pause);
    }

    /// Adds our own work, up to what it can have taken.
    void worked(std::uint64_t own_ticks, std::uint64_t ranges = 0, std::uint64_t bytes = 0) noexcept {
        std::uint64_t most = hit_cost().most_own_ticks;
        if (ranges != 0)
            most += static_cast<std::uint64_t>(static_cast<double>(ranges) * most_hits_per_range *
                                                   hit_cost().hit_ticks +
                                               2 * copy_ticks(bytes));
        own_ticks_ += std::min(own_ticks, most);
    }

    /// What the network would have taken for a hit: as much as for a get that was alone there, or for one of
    /// this round; but misses may have fetched more than they were asked for, and of many gets that one flush
    /// completes each takes its start, and what a message adds to the completion of all.
    double network_per_hit(std::uint64_t hits, std::uint64_t hit_bytes) const noexcept {
        if (hits == 0) return network_per_get_;
        const std::size_t size = size_class(hit_bytes / hits);
        const double seen = network_by_size_[size], start = start_by_size_[size];
        const double alone = seen == 0 || network_per_get_ == 0 ? std::max(seen, network_per_get_)
                                                                : std::min(seen, network_per_get_);
        return start == 0 || misses_ == 0 ? alone : std::min(alone, start + completion_per_message());
    }
    /// Where completions take little beside what we do for the many gets that they complete, they take as
    /// long for many as for few.
    double completion_per_message() const noexcept {
        const bool at_once = many_pending() && quick_completions * network_ticks_ < own_ticks_;
        return at_once ? 0 : static_cast<double>(network_ticks_) / static_cast<double>(misses_);
    }
    bool many_pending() const noexcept {
        return misses_ != 0 && pending_hits_ >= many_pending_per_miss * misses_;
    }

    /// Most gets of the round were of bytes that were on their way, and what these would have taken is what
    /// starts take.
    bool starts_matter() const noexcept {
        return many_pending() &&
               start_by_size_[size_class(pending_hit_bytes_ / pending_hits_)] > completion_per_message();
    }

    /// A long copy meets memory that the processor has not at hand: measured where it is made anyway.
    double copy_ticks(std::uint64_t size_bytes) const noexcept {
        const double rate = hit_cost().copy_ticks_per_byte;
        return static_cast<double>(size_bytes) *
               (size_bytes < long_copy ? rate : std::max(rate, long_copy_rate_));
    }

    static constexpr std::uint32_t round_gets = 32;
    static constexpr std::uint32_t tries = 32;
    static constexpr std::uint32_t most_rounds_to_tries = 256;
    static constexpr std::uint64_t many_under_way = 64;
    static constexpr double quick_hits = 4;
    static constexpr std::uint64_t many_pending_per_miss = 8;
    static constexpr std::uint64_t quick_completions = 10;
    static constexpr float start_ages = 1.001f;  ///< the quickest one was long ago
    static constexpr std::uint32_t most_aheads_to_plain = 256;
    static constexpr std::uint64_t vain_row = 128;
    static constexpr std::uint64_t most_vain_pause = 1 << 16;
    static constexpr std::uint64_t long_copy = 4096;
    static constexpr double look_share = 0.005;  ///< what looking again costs, of what the gets take
    static constexpr auto gets_per_hit = static_cast<std::uint64_t>(1 / look_share);
    static constexpr double least_pause = 64;
    static constexpr double most_pause = 1e9;
    static constexpr std::uint64_t for_good = ~std::uint64_t{0};
    static constexpr std::uint32_t many_rounds = 6;
    static constexpr std::uint64_t timed_further = 32;
    static constexpr double most_hits_per_range = 50;  ///< what a range takes at most at its completion
    static constexpr double lookups_per_get = 200;     ///< so many, and watching is hardly felt
    static constexpr double felt_share = 0.1;
    static constexpr double small_share = 0.01;
    static constexpr double copy_share = 0.01;
    static constexpr std::size_t size_classes = 28;

    State state_ = State::unread;
    bool has_won_ = false;             ///< a round
    std::uint32_t lost_rounds_ = 0;    ///< in a row
    std::uint64_t pause_left_ = 0;     ///< gets, unless caching
    std::uint64_t gets_per_look_ = 0;  ///< that have to pass for a miss of the last lost round
    std::uint64_t admissions_ = 0;     ///< while watching, in gets that pay for them
    std::uint64_t misses_ = 0;
    std::uint64_t under_way_ = 0;      ///< misses and pending hits, until all are completed
    std::uint64_t went_by_ = 0;        ///< the same of gets that passed
    double completion_per_get_ = 0;    ///< the last time
    std::uint64_t started_ticks_ = 0;  ///< of the library, for what missed
    std::uint64_t network_ticks_ = 0;  ///< of the library, for completions
    std::uint64_t own_ticks_ = 0;
    std::uint64_t further_hits_ = 0;
    std::uint64_t run_hits_ = 0;
    std::uint64_t run_hit_bytes_ = 0;
    std::uint64_t pending_hits_ = 0;
    std::uint64_t pending_hit_bytes_ = 0;
    std::uint32_t tries_left_ = 0;
    std::uint32_t rounds_to_tries_ = 1;
    std::uint32_t next_tries_ = 1;
    std::uint32_t aheads_asked_ = 0;  ///< since the last plain one
    std::uint32_t aheads_to_plain_ = 16;
    std::uint64_t vain_misses_ = 0;  ///< in a row
    std::uint64_t vain_ticks_ = 0;   ///< of the library, for their starts
    std::uint64_t vain_pause_ = vain_row;
    double ahead_excess_ = 0;  ///< shares of what misses took, added up
    double network_per_get_ = 0;
    double long_copy_rate_ = 0;  ///< ticks per byte; 0: not known
    double further_ticks_ = 0;   ///< a moving mean
    double plain_per_get_ = 0;
    double ours_per_get_ = 0;
    std::array<float, size_classes> network_by_size_{};
    std::array<float, size_classes> start_by_size_{};
};

}  // namespace nearfetch
