// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether bytes that a process reads again are still what they were: what a promise would have to be true of.
// A table of fixed size remembers a hash of what a share of all reads have brought. Stores of others are seen
// by their effect, however they were made; one that leaves the bytes as they were changes nothing.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "recording/event.hpp"

namespace nearfetch {

/// The acquires of a process up to now.
struct AcquireCount {
    std::uint64_t all = 0;
    std::uint64_t others = 0;  ///< not by locks
};

class RereadCheck {
  public:
    /// A get is complete.
    /// \param bytes that it has brought from `offset` on
    void check(std::uint32_t window, Rank target, std::uint64_t offset, std::span<const std::byte> bytes,
               AcquireCount acquires);
    /// This process has changed them itself.
    void forget(std::uint32_t window, Rank target, ByteRange range) noexcept;

    const std::map<std::uint32_t, Rereads>& of_windows() const noexcept { return of_windows_; }

  private:
    static constexpr std::uint64_t granule_bytes = 64;
    static constexpr std::size_t slots = 1u << 15;
    /// One of so many granules is remembered.
    static constexpr std::uint64_t share = 4;
    /// Of one access.
    static constexpr std::uint64_t most_granules = 1024;

    struct Slot {
        std::uint64_t place = 0;  ///< a hash of window, target and range
        std::uint64_t content = 0;
        AcquireCount acquires;
    };

    std::map<std::uint32_t, Rereads> of_windows_;
    std::vector<Slot> table_;
};

}  // namespace nearfetch
