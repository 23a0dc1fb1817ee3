// SPDX-License-Identifier: Apache-2.0
#pragma once

// A Gather with run-time element size and distribution.

#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfetch::python {

/// Its memory belongs to it, not to the rank: it may end in any thread, and after the rank.
class AnyGather {
  public:
    AnyGather() = default;
    AnyGather(const AnyGather&) = delete;
    AnyGather& operator=(const AnyGather&) = delete;
    virtual ~AnyGather() = default;

    /// For the thread of its rank. \throws Error when the array was resized
    virtual void update() = 0;
    virtual std::span<const std::byte> elements() const = 0;
    virtual std::span<const std::uint32_t> positions() const = 0;
};

}  // namespace nearfetch::python
