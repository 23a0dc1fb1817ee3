// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs that wait by plain gets. Such a program races, strictly speaking, but it exists, and in a mode
// that forgets nothing at a flush it would wait for ever. Two rules let it end:
//  - The same get again, of the same bytes, after a call that completed it and with no other get between, is
//    a poll: it goes to the network.
//  - A program that polls several places is not told from one that reads them again by what it asks
//    for, but by what it does not do: for a tenth of a second or so everything hits and nothing is
//    acquired. Then the window forgets once, and next waits twice as long, so that a program that needs no
//    fresh data pays for a few such refreshes in all.
// A poll that brings other bytes than the look before it is what the program has waited for. What it reads
// next may be what another process has written before, so it is an acquire. So is a poll of which that is not
// known. Where nobody races that never happens: a change between two gets without an acquire between is a
// race. All of that holds for bypassed targets, too: what is cached may be of another one.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/types.hpp"
#include "rma/front_end.hpp"

namespace nearfetch {

/// Tells polls by what is asked for.
class PollDetector {
  public:
    /// Notes a get. \return true if it is a poll
    bool again(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        if (other(target, offset, size)) return false;
        is_poll_ = true;
        completed_ = none;
        return true;
    }
    /// Notes a get that is none. \return false if it is one: then it is not noted, again() is to be asked
    bool other(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        const std::uint64_t key = key_of(target, offset, size);
        if (key == completed_) [[unlikely]]
            return false;
        // One that is asked about twice before it is complete stays what it is.
        if (key != last_) is_poll_ = false;
        completed_ = none;
        last_ = key;
        return true;
    }
    /// Whether the last get is a poll.
    bool is_poll() const noexcept { return is_poll_; }
    /// The last get is complete.
    void completed() noexcept { completed_ = last_; }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    static std::uint64_t key_of(Rank target, std::uint64_t offset, std::uint64_t size) noexcept {
        return offset ^ (static_cast<std::uint64_t>(target) << 44) ^ (size << 32);
    }
    std::uint64_t last_ = none;
    std::uint64_t completed_ = none;  ///< the last get, if nothing but a completion came after it
    bool is_poll_ = false;
};

/// The first bytes that the last get had, by which a poll of the same bytes shows whether it brings others.
class LastGet {
  public:
    /// A get has been started. Its bytes are looked at when it is complete.
    /// \param issued the number of the last operation that was started
    /// \param in_one so many bytes arrive at its origin, in one run
    void started(const RangeGet& get, std::uint64_t in_one, std::uint64_t issued, bool is_poll) noexcept {
        // A poll that is still under way will not be looked at any more.
        lost_poll_ = lost_poll_ || (under_way_ && is_poll_);
        if (!is_poll || !is_of(get)) known_ = 0;
        get_ = get;
        in_one_ = get.origin == nullptr ? 0 : std::min<std::uint64_t>(in_one, bytes_.size());
        issued_ = issued;
        is_poll_ = is_poll;
        under_way_ = true;
    }
    /// What a get has been served, of which a poll is to be started: its first `in_one` bytes.
    void keep(const RangeGet& get, const std::byte* bytes, std::uint64_t in_one) noexcept {
        get_ = get;
        known_ = std::min<std::uint64_t>(in_one, bytes_.size());
        std::memcpy(bytes_.data(), bytes, known_);
    }
    /// Whether the same has been looked at, or is under way.
    bool is_of(const RangeGet& other) const noexcept {
        return other.target == get_.target && other.offset == get_.offset && other.size == get_.size;
    }
    const RangeGet& get() const noexcept { return get_; }
    bool under_way() const noexcept { return under_way_; }
    bool under_way(Rank target, std::uint64_t since) const noexcept {
        return under_way_ && target == get_.target && issued_ <= since;
    }
    bool under_way_by(RequestId request) const noexcept {
        return under_way_ && request != 0 && request == get_.request;
    }
    /// It is complete.
    /// \return whether it was a poll that has brought other bytes, or may have
    bool arrived() noexcept {
        under_way_ = false;
        const bool same =
            in_one_ != 0 && known_ == in_one_ && std::memcmp(bytes_.data(), get_.origin, in_one_) == 0;
        if (!same && in_one_ != 0) std::memcpy(bytes_.data(), get_.origin, in_one_);
        known_ = in_one_;
        return std::exchange(lost_poll_, false) || (is_poll_ && !same);
    }
    /// It has failed, or nobody knows when it is complete. \return as arrived()
    bool lost() noexcept {
        known_ = 0;
        const bool is_poll = std::exchange(under_way_, false) && is_poll_;
        return std::exchange(lost_poll_, false) || is_poll;
    }

  private:
    RangeGet get_{.target = -1};
    bool under_way_ = false;
    bool is_poll_ = false;
    bool lost_poll_ = false;
    std::uint64_t in_one_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t known_ = 0;  ///< of bytes_
    std::array<std::byte, 64> bytes_{};
};

class StandstillDetector {
  public:
    /// \param first_patience the time after which it forgets at first
    explicit StandstillDetector(std::uint64_t first_patience) noexcept
        : first_patience_(first_patience), patience_(first_patience) {}

    /// To be asked now and then while the program lives on hits.
    /// \param now in the unit of the patience
    /// \param fetched grows with every get that goes to the network
    /// \param acquires grows with every acquire
    /// \return true if the window should forget
    bool step(std::uint64_t now, std::uint64_t fetched, std::uint64_t acquires) noexcept {
        if (acquires != acquires_) patience_ = first_patience_;
        if (acquires != acquires_ || fetched != fetched_) since_ = now;
        acquires_ = acquires;
        fetched_ = fetched;
        if (now - since_ < patience_) return false;
        since_ = now;
        patience_ *= 2;
        return true;
    }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    std::uint64_t first_patience_;
    std::uint64_t patience_;
    std::uint64_t since_ = 0;
    std::uint64_t fetched_ = none;
    std::uint64_t acquires_ = none;
};

}  // namespace nearfetch
