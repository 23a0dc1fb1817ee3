// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether what a window has cached may still be served: acquires of the process, and polls.
//
// In mode acquire a window catches up with the process's acquires (acquires.hpp) when it is asked for
// something. What is polled goes to the network (polls.hpp). A poll that has brought other bytes, or of which
// that is not known, is an acquire of the process.

#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "rma/acquires.hpp"
#include "rma/delivery.hpp"
#include "rma/front_end.hpp"
#include "rma/lazy_range_cache.hpp"
#include "rma/polls.hpp"

namespace nearfetch {

class Freshness {
  public:
    /// \param patience_ticks as StandstillDetector has it
    Freshness(LazyRangeCache& cache, Acquires& acquires, std::uint64_t patience_ticks);

    /// In mode acquire: whether a get may be looked up at once. False where the process has acquired since,
    /// or where it is a poll: then prepare().
    bool is_current(const RangeGet& get) noexcept {
        return has_caught_up() && polls_.other(get.target, get.offset, get.size);
    }
    /// Before a lookup in mode acquire: forgets what the process may have acquired since, or what it polls.
    void prepare(Rank target, std::span<const ByteRun> runs, std::uint64_t size_bytes) noexcept {
        // What is polled had been read before what was acquired since.
        if (polls_.again(target, runs.front().offset, size_bytes)) [[unlikely]]
            refresh(target, runs, size_bytes);
        catch_up(true);
    }
    /// Whether the process has acquired nothing since the window has caught up.
    bool has_caught_up() const noexcept { return seen_acquires_ == acquires_.count(); }
    /// Forgets what the process may have acquired since: all in mode acquire, in others what was read ahead
    /// and may have been written by others.
    void catch_up(bool is_acquire_mode) noexcept {
        if (!has_caught_up()) [[unlikely]]
            acquire(is_acquire_mode);
    }
    /// In other modes: notes what is asked for.
    void note(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        polls_.again(target, offset, size);
    }
    /// Whether the last get is a poll.
    bool is_poll() const noexcept { return polls_.is_poll(); }

    /// A get goes to the network. Its bytes are looked at when it is complete.
    /// \param in_one so many bytes arrive at its origin, in one run \param issued number of the last
    /// operation
    /// \param probe of its origin, before it was started
    void get_started(const RangeGet& get, std::uint64_t in_one, Moment issued,
                     const DeliveryProbe& probe = {}) noexcept {
        probe_ = probe;
        last_get_.started(get, in_one, issued, polls_.is_poll());
    }
    void get_started(const Get& get, Moment issued, const DeliveryProbe& probe = {}) noexcept;
    /// One that was bypassed.
    void bypassed_get_started(const RangeGet& get, Moment issued) noexcept {
        if (polls_.again(get.target, get.offset, get.size)) [[unlikely]]
            ++poll_count_;
        get_started(get, get.size, issued);
    }
    /// It was served by what another process has fetched: a poll of the same bytes may find others.
    void get_served(const Get& get) noexcept {
        const ByteRun& first = get.runs.front();
        if (!last_get_.under_way())
            last_get_.keep({.target = get.target, .offset = first.offset, .size = get.size_bytes},
                           first.origin, first.size);
    }
    bool get_under_way() const noexcept { return last_get_.under_way(); }

    /// Whether the last get is among what was started at the target until then, and its bytes have come since
    /// it was started.
    bool has_come_late(Rank target, Moment since) noexcept {
        return last_get_.under_way(target, since) && take_probe();
    }
    bool has_come_late(RequestId request) noexcept { return last_get_.under_way_by(request) && take_probe(); }
    /// What was started at the target until then is complete, or has failed.
    void complete(Rank target, Moment since, int status) noexcept {
        if (last_get_.under_way(target, since)) get_over(status == 0);
    }
    /// The request is complete, or nobody sees when it is. \return whether the last get is over by that
    bool complete_request(RequestId request, bool is_seen = true) noexcept {
        if (!last_get_.under_way_by(request)) return false;
        get_over(is_seen);
        return true;
    }
    /// Nobody sees when the last get is complete.
    void lose_get() noexcept { get_over(false); }
    /// The target was bypassed: what is cached of the last get's bytes is older than what it has brought.
    void resume(Rank target) noexcept;
    /// Something has completed: the same get again is a poll.
    void completed() noexcept { polls_.completed(); }

    /// To be asked now and then while the program lives on hits, in mode acquire: whether it waits by them.
    /// Then all is forgotten. \param fetched_bytes all that came from the network
    void look_for_standstill(std::uint64_t fetched_bytes) noexcept;

    /// Polls that were found.
    std::uint64_t poll_count() const noexcept { return poll_count_; }

  private:
    [[gnu::noinline]] void acquire(bool is_acquire_mode) noexcept;
    void refresh(Rank target, std::span<const ByteRun> runs, std::uint64_t size_bytes) noexcept;
    void get_over(bool arrived) noexcept;
    bool take_probe() noexcept;

    std::uint64_t seen_acquires_;
    PollDetector polls_;
    LastGet last_get_;
    DeliveryProbe probe_;  ///< of the last get
    StandstillDetector standstill_;
    std::uint64_t poll_count_ = 0;
    LazyRangeCache& cache_;
    Acquires& acquires_;  ///< of the process
};

}  // namespace nearfetch
