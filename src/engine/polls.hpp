// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs that wait by plain gets. Such a program races, strictly speaking, but it exists, and in a mode
// that forgets nothing at a flush it would wait for ever. Two rules let it end:
//  - The same get again, after a call that completed it and with no other get between, is a poll: it goes to
//    the network.
//  - A program that polls several places in turn is not told from one that reads them again by what it asks
//    for, but by what it does not do: for a tenth of a second or so everything hits and nothing is
//    learned. Then the window forgets once, and next waits twice as long, so that a program that needs no
//    fresh data pays for a few such refreshes in all.
// A poll that brings other bytes than were there is what the program has waited for. What it reads next may
// be what another process has written before, so it is an acquire. Where nobody races that never happens: a
// change between two gets without an acquire between is a race.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/types.hpp"

namespace nearfetch {

class PollDetector {
  public:
    /// Notes a get. \return true if it is a poll
    bool again(Rank target, std::uint64_t offset) noexcept {
        if (other(target, offset)) return false;
        completed_ = none;
        return true;
    }
    /// Notes a get that is none. \return false if it is one: then it is not noted, again() is to be asked
    bool other(Rank target, std::uint64_t offset) noexcept {
        const std::uint64_t key = key_of(target, offset);
        if (key == completed_) [[unlikely]]
            return false;
        completed_ = none;
        last_ = key;
        return true;
    }
    /// The last get is complete.
    void completed() noexcept { completed_ = last_; }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    static std::uint64_t key_of(Rank target, std::uint64_t offset) noexcept {
        return offset ^ (static_cast<std::uint64_t>(target) << 44);
    }
    std::uint64_t last_ = none;
    std::uint64_t completed_ = none;  ///< the last get, if nothing but a completion came after it
};

/// The bytes that a poll asks for again, as they were.
class PolledBytes {
  public:
    void keep(Rank target, std::uint64_t offset, const std::byte* bytes, std::uint64_t size) noexcept {
        target_ = target;
        size_ = std::min<std::uint64_t>(size, bytes_.size());
        offset_ = offset;
        std::memcpy(bytes_.data(), bytes, size_);
    }
    bool any() const noexcept { return size_ != 0; }
    /// \return whether these, which have been fetched from there, have others among them
    bool change_in(Rank target, ByteRange range, const std::byte* bytes) noexcept {
        if (target != target_ || !range.contains(offset_, size_)) return false;
        return std::memcmp(bytes + (offset_ - range.begin), bytes_.data(), std::exchange(size_, 0)) != 0;
    }

  private:
    Rank target_ = 0;
    std::uint64_t offset_ = 0;
    std::uint64_t size_ = 0;
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
