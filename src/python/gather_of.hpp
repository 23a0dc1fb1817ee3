// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nearfetch/gather.hpp>
#include <span>

#include "python/any_gather.hpp"
#include "python/opaque.hpp"

namespace nearfetch::python {

template <std::size_t Bytes, Distribution D>
class GatherOf final : public AnyGather {
  public:
    using T = Opaque<Bytes>;

    GatherOf(const DistributedArray<T, 1, D>& array, std::span<const std::int64_t> indices)
        : gather_(array, indices) {}

    void update() override { gather_.update(); }
    std::span<const std::byte> elements() const override { return std::as_bytes(gather_.elements()); }
    std::span<const std::uint32_t> positions() const override { return gather_.positions(); }

  private:
    Gather<T, D> gather_;
};

}  // namespace nearfetch::python
