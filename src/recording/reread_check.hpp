// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether bytes that a process reads again are still what they were: what a promise would have to be true of.
// A table of fixed size remembers what a share of all words of 8 bytes were when they were read last. Stores
// of others are seen by their effect, however they were made; one that leaves the bytes as they were changes
// nothing.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "recording/event.hpp"

namespace nearfetch {

class RereadCheck {
  public:
    /// A get is complete.
    /// \param bytes that it has brought from `offset` on \throws std::bad_alloc
    void check(std::uint32_t window, Rank target, std::uint64_t offset, std::span<const std::byte> bytes,
               AcquireCount acquires);
    /// This process has changed them itself.
    void forget(std::uint32_t window, Rank target, ByteRange range) noexcept;

    const Rereads& seen() const noexcept { return seen_; }

  private:
    static constexpr std::uint64_t word_bytes = 8;
    static constexpr std::uint64_t block_bytes = 64;
    static constexpr std::size_t slots = 1u << 17;
    /// One of so many blocks is looked at, and of long gets, which pay for it, fewer of these.
    static constexpr std::uint64_t share = 4;
    static constexpr std::uint64_t share_of_long = 32;
    static constexpr std::uint64_t long_bytes = 4096;
    /// Of one update; a larger one makes everything unknown.
    static constexpr std::uint64_t most_forgotten_bytes = 1u << 20;

    struct Slot {
        std::uint64_t place = 0;  ///< hash of window, target and word, and which of its bytes; 0: empty
        std::uint64_t word = 0;
        AcquireCount acquires;
    };

    /// The bits of a place that say which bytes of the word it has.
    static constexpr std::uint64_t extents = 0xff;
    Slot& slot(std::uint64_t hash) noexcept { return table_[hash / (extents + 1) % slots]; }

    void compare(Slot& before, const Slot& now) noexcept;

    Rereads seen_;
    std::vector<Slot> table_;
};

}  // namespace nearfetch
