// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nearfetch/gather.hpp>
#include <span>

#include "python/any_gather.hpp"

namespace nearfetch::python {

/// \tparam Gather a nearfetch::Gather
template <class Gather>
class GatherOf final : public AnyGather {
  public:
    /// \param indices one after the other
    template <class Array>
    GatherOf(const Array& array, std::span<const std::int64_t> indices)
        : gather_(array, in_dimensions(indices)) {}

    void update() override { gather_.update(); }
    std::span<const std::byte> elements() const override { return std::as_bytes(gather_.elements()); }
    std::span<const std::uint32_t> positions() const override { return gather_.positions(); }

  private:
    static auto in_dimensions(std::span<const std::int64_t> indices) {
        constexpr std::size_t count = Gather::dimensions;
        if constexpr (count == 1)
            return indices;
        else
            return std::span(reinterpret_cast<const Index<count>*>(indices.data()), indices.size() / count);
    }

    Gather gather_;
};

}  // namespace nearfetch::python
