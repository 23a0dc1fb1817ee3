// SPDX-License-Identifier: Apache-2.0
#pragma once

// A lock epoch under a lease (leases.hpp). Its lock is kept back; if everything hits, neither it nor its
// unlock enters the library.
//
// With exclusive writers a lock epoch is a snapshot: all its gets see the same state. An elided epoch has the
// state of the moment of its lock call. One that hits and then misses takes its lock for the miss. If at the
// end the lease has run out, and another look does not find the same version, somebody may have written in
// between; then all gets of the epoch are made again, under the lock, into the program's buffers, which the
// program may not read before the epoch ends. The same holds if the process has acquired within the epoch.
// What lets the program look at its buffers earlier (a flush, a request) takes the lock and finds out at
// once: LeasedPath::take_lock().

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

/// What a window knows of the one that is open.
class LeasedEpoch {
  public:
    /// \param lease_end in ticks \param acquires of the process until now
    void begin(Rank target, int assertion, std::uint64_t lease_end, std::uint64_t acquires) noexcept {
        target_ = target;
        assertion_ = assertion;
        is_kept_back_ = true;
        has_hits_ = false;
        is_overtaken_ = false;
        lease_end_ = lease_end;
        acquires_ = acquires;
        count_ = 0;
    }
    void end() noexcept { target_ = none; }
    /// The library has been given its lock.
    void lock_taken() noexcept { is_kept_back_ = false; }
    /// A look has found that nobody has written. \param lease_end of the lease that it has brought
    void renew(std::uint64_t lease_end) noexcept { lease_end_ = lease_end; }
    /// Somebody may have written since its lock call.
    void overtake() noexcept { is_overtaken_ = true; }
    /// Some bytes came from the cache.
    void note_hit() noexcept { has_hits_ = true; }

    bool is_open() const noexcept { return target_ != none; }
    bool is_open(Rank target) const noexcept { return target_ == target; }
    Rank target() const noexcept { return target_; }
    int assertion() const noexcept { return assertion_; }
    bool is_kept_back() const noexcept { return is_open() && is_kept_back_; }
    bool has_hits() const noexcept { return has_hits_; }
    bool is_overtaken() const noexcept { return is_overtaken_; }
    std::uint64_t lease_end() const noexcept { return lease_end_; }
    std::uint64_t acquires() const noexcept { return acquires_; }

    bool has_room(std::size_t runs) const noexcept { return count_ + runs <= gets_.size(); }
    /// \pre has_room()
    void add(std::span<const ByteRun> runs) noexcept {
        std::ranges::copy(runs, gets_.begin() + static_cast<std::ptrdiff_t>(count_));
        count_ += runs.size();
    }
    std::span<const ByteRun> gets() const noexcept { return {gets_.data(), count_}; }

  private:
    static constexpr Rank none = -1;
    static constexpr std::size_t most_runs = 64;

    Rank target_ = none;
    int assertion_ = 0;
    bool is_kept_back_ = false;
    bool has_hits_ = false;
    bool is_overtaken_ = false;
    std::uint64_t lease_end_ = 0;
    std::uint64_t acquires_ = 0;
    std::size_t count_ = 0;
    std::array<ByteRun, most_runs> gets_;
};

}  // namespace nearfetch
