// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/reserved_memory.hpp"

namespace nearfetch {

/// An array that grows and shrinks in place: elements never move, and no call takes long.
template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    /// \throws Error when address space is exhausted
    explicit GrowingArray(std::uint64_t most) : memory_(most * sizeof(T)) {}

    /// New elements have bytes of zero, or those of elements that were here before.
    /// \return false, with nothing changed, when memory is exhausted. \pre at most as many as reserved
    bool resize(std::uint64_t count) noexcept {
        const std::uint64_t bytes = count * sizeof(T);
        if (bytes > memory_.size_bytes() || bytes + 2 * step_bytes < memory_.size_bytes()) {
            const std::uint64_t steps = (bytes + step_bytes - 1) / step_bytes;
            if (!memory_.resize(std::min(steps * step_bytes, memory_.reserved_bytes()))) return false;
            if (bytes <= 4 * step_bytes) memory_.populate(memory_.size_bytes());
        }
        return true;
    }

    T& operator[](std::uint64_t i) noexcept { return data()[i]; }
    const T& operator[](std::uint64_t i) const noexcept { return data()[i]; }
    T* data() noexcept { return reinterpret_cast<T*>(memory_.data()); }
    const T* data() const noexcept { return reinterpret_cast<const T*>(memory_.data()); }

  private:
    static constexpr std::uint64_t step_bytes = 64 << 10;

    ReservedMemory memory_;
};

}  // namespace nearfetch
