// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <nearfetch/array.hpp>

#include "python/any_array.hpp"
#include "python/elements_of.hpp"

namespace nearfetch::python {

/// Implements AnyAccesses by a C++ array.
template <std::size_t Bytes, std::size_t N, Distribution D>
class AccessesOf : public ElementsOf<AnyArray, DistributedArray<Opaque<Bytes>, N, D>, Bytes, N> {
  public:
    using T = Opaque<Bytes>;
    using Base = ElementsOf<AnyArray, DistributedArray<T, N, D>, Bytes, N>;

    void read_many(Indices indices, std::span<std::byte> to) const override {
        elements_.get_scattered(indices_in_place<N>(indices), values(to));
    }
    void get(const Places& places, std::span<std::byte> to) const override {
        if (places.box.lower.empty())
            read_many(places.indices, to);
        else if (places.steps.empty())
            elements_.get(box_of<N>(places.box), values(to));
        else
            elements_.get_strided(strided_of(places), values(to));
    }
    void put(const Places& places, std::span<const std::byte> from) override {
        if (places.box.lower.empty())
            elements_.put_scattered(indices_in_place<N>(places.indices), values(from));
        else if (places.steps.empty())
            elements_.put(box_of<N>(places.box), values(from));
        else
            elements_.put_strided(strided_of(places), values(from));
    }
    void get_from_owners(const AnyBox& box, std::span<std::byte> to) const override {
        elements_.get_from_owners(box_of<N>(box), values(to));
    }
    void combine(Indices indices, std::span<const std::byte> from,
                 const detail::Combining& combining) override {
        elements_.combine(indices_in_place<N>(indices), values(from), combining);
    }
    void update(Indices i, detail::Code code, std::span<const std::byte> values,
                std::span<std::byte> before) override {
        elements_.update(index_of<N>(i), code, values, before);
    }
    void contribute(Indices indices, std::span<const std::byte> added,
                    const detail::Combining& sum) override {
        for_each<N>(indices, [&](const Index<N>& i) {
            if (elements_.own(i) == nullptr && !elements_.is_prefetched(i)) detail::not_a_ghost(i);
        });
        const std::byte* value = added.data();
        for_each<N>(indices, [&](const Index<N>& i) {
            elements_.contribute(i, value_at<Bytes>(value), Adding{sum.combine});
            value += Bytes;
        });
    }
    void accumulate_ghosts(const detail::Combining& sum) override {
        elements_.accumulate_ghosts(Adding{sum.combine});
    }

  protected:
    using Base::Base;
    using Base::elements_;

  private:
    struct Adding {
        detail::Combine add;
        void operator()(T& sum, const T& value) const { add(sum.bytes.data(), value.bytes.data(), 1); }
    };
    static Strided<N> strided_of(const Places& places) {
        return {box_of<N>(places.box), index_of<N>(places.steps)};
    }
    static std::span<T> values(std::span<std::byte> packed) {
        return {reinterpret_cast<T*>(packed.data()), packed.size() / Bytes};
    }
    static std::span<const T> values(std::span<const std::byte> packed) {
        return {reinterpret_cast<const T*>(packed.data()), packed.size() / Bytes};
    }
};

}  // namespace nearfetch::python
