// SPDX-License-Identifier: Apache-2.0
#pragma once

// When a library delivers. On one node many libraries copy a get's bytes before MPI_Get returns, and programs
// look at them before they complete it, or even change them there. The standard leaves that open; what the
// library in use delivers at once nearfetch does, too, and it keeps nothing that the program may have changed
// meanwhile.
//
// Which it is shows in the bytes: in those of a get that change while it is started, or only while it is
// completed; and in memory of our own, whose ends are marked before a transfer into it is started.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transport/window_transfers.hpp"

namespace nearfetch {

/// When the bytes of a target's gets are there.
enum class Delivery : std::uint8_t {
    later,    ///< when they are completed
    unknown,  ///< nobody has seen yet
    at_once,  ///< when they are started
};

/// The first bytes at a get's origin, to see whether they change.
class DeliveryProbe {
  public:
    void begin(const ByteRun& run) noexcept {
        origin_ = run.origin;
        size_ = std::min<std::uint64_t>(run.size, bytes_.size());
        std::memcpy(bytes_.data(), origin_, size_);
    }
    void end() noexcept { size_ = 0; }
    /// Of an ended one: false.
    bool has_changed() const noexcept {
        return size_ != 0 && std::memcmp(bytes_.data(), origin_, size_) != 0;
    }

  private:
    const std::byte* origin_ = nullptr;
    std::uint64_t size_ = 0;
    std::array<std::byte, 64> bytes_{};
};

/// Marks both ends of memory that a transfer is going to be started into.
class DeliveryMark {
  public:
    DeliveryMark(std::byte* memory, std::uint64_t size) noexcept
        : begin_(memory), size_(std::min<std::uint64_t>(size, mark.size())), end_(memory + (size - size_)) {
        std::memcpy(end_, mark.data(), size_);
        std::memcpy(begin_, mark.data(), size_);
    }
    /// Whether both ends have been written since; bytes that look like a mark seem not to be there.
    bool is_gone() const noexcept {
        return std::memcmp(begin_, mark.data(), size_) != 0 && std::memcmp(end_, mark.data(), size_) != 0;
    }

  private:
    static constexpr std::array<std::uint8_t, 8> mark{0xa7, 0x3c, 0xe9, 0x51, 0x8b, 0xd6, 0x2f, 0x94};

    std::byte* begin_;
    std::uint64_t size_;
    std::byte* end_;
};

}  // namespace nearfetch
