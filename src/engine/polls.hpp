// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs that wait by plain gets. Such a program races, strictly speaking, but it exists, and in a mode
// that forgets nothing at a flush it would wait for ever. Two rules let it end:
//  - The same get again, after a call that completed it and with no other get between, is a poll: it goes to
//    the network.
//  - A program that polls several places in turn is not told from one that reads them again by what it asks
//    for, but by what it does not do: for thousands of progress intervals everything hits and nothing is
//    learned. Then the window forgets once, and next waits twice as long, so that a program that needs no
//    fresh data pays for a few such refreshes in all.

#include <cstdint>

#include "base/types.hpp"

namespace nearfetch {

class PollDetector {
  public:
    /// Notes a get. \return true if it is a poll
    bool again(Rank target, std::uint64_t offset) noexcept {
        const std::uint64_t key = offset ^ (static_cast<std::uint64_t>(target) << 44);
        const bool poll = key == completed_;
        completed_ = none;
        last_ = key;
        return poll;
    }
    /// The last get is complete.
    void completed() noexcept { completed_ = last_; }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    std::uint64_t last_ = none;
    std::uint64_t completed_ = none;  ///< the last get, if nothing but a completion came after it
};

class StandstillDetector {
  public:
    /// To be asked once per progress interval in which the program lived on hits.
    /// \param fetched grows with every get that goes to the network
    /// \param acquires grows with every acquire
    /// \return true if the window should forget
    bool step(std::uint64_t fetched, std::uint64_t acquires) noexcept {
        if (acquires != acquires_) patience_ = first_patience;
        if (acquires != acquires_ || fetched != fetched_) waited_ = 0;
        acquires_ = acquires;
        fetched_ = fetched;
        if (++waited_ < patience_) return false;
        waited_ = 0;
        patience_ *= 2;
        return true;
    }

    static constexpr std::uint64_t first_patience = 4096;

  private:
    std::uint64_t patience_ = first_patience;
    std::uint64_t waited_ = 0;
    std::uint64_t fetched_ = 0;
    std::uint64_t acquires_ = 0;
};

}  // namespace nearfetch
