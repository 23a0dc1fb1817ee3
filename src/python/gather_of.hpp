// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nearfetch/gather.hpp>
#include <span>
#include <type_traits>

#include "python/any_gather.hpp"
#include "python/opaque.hpp"

namespace nearfetch::python {

/// \tparam N 1, or 2: then of rows
template <std::size_t Bytes, std::size_t N, Distribution D>
class GatherOf final : public AnyGather {
  public:
    using T = Opaque<Bytes>;

    GatherOf(const DistributedArray<T, N, D>& array, std::span<const std::int64_t> indices)
        : gather_(array, indices) {}

    void update() override { gather_.update(); }
    std::span<const std::byte> elements() const override { return std::as_bytes(gather_.elements()); }
    std::span<const std::uint32_t> positions() const override { return gather_.positions(); }

  private:
    Gather<std::conditional_t<N == 1, T, Row<T>>, D> gather_;
};

}  // namespace nearfetch::python
