// SPDX-License-Identifier: Apache-2.0
#pragma once

// An array whose elements have other sizes than those that arrays are compiled for. Its elements are rows of
// smaller units: it is an array of units with one dimension more, which is not distributed. So elements are
// contiguous, and nothing is padded.

#include <memory>
#include <nearfetch/detail/array/collective.hpp>

#include "python/any_array.hpp"
#include "python/opaque.hpp"

namespace nearfetch::python {

/// How its elements are read, written and prefetched.
class WideElements : public AnyArray {
  public:
    static constexpr std::size_t most_bytes = 64;
    /// Dimensions, without that of the units.
    static constexpr std::size_t most_dimensions = 3;

    Rank owner(Indices i) const override;
    void read(Indices i, void* to) const override;
    void write(Indices i, const void* from) override;
    void read_many(Indices indices, std::span<std::byte> to) const override;
    void gather(const char* what, std::span<const std::byte> own, std::byte* to) override;
    PrefetchPattern prefetch_custom(const AnyTable& table, const Prefetch& how) override;
    PrefetchPattern prefetch_all_to_all(const Prefetch& how) override {
        return units_->prefetch_all_to_all(how);
    }
    void update_prefetch() override { units_->update_prefetch(); }
    PrefetchTransfer update_prefetch_async() override { return units_->update_prefetch_async(); }
    void evict_prefetch() override { units_->evict_prefetch(); }
    void evict_prefetch(PrefetchPattern pattern) override { units_->evict_prefetch(pattern); }
    bool is_prefetched(Indices i) const override;

    void get(const Places& places, std::span<std::byte> to) const override {
        units_->get(UnitPlaces(*this, places).places, to);
    }
    void get_from_owners(const AnyBox& box, std::span<std::byte> to) const override {
        units_->get_from_owners(boxed(box), to);
    }
    void put(const Places& places, std::span<const std::byte> from) override {
        units_->put(UnitPlaces(*this, places).places, from);
    }
    // These operations are of one unit each.
    void combine(Indices indices, std::span<const std::byte> values,
                 const detail::Combining& combining) override {
        units_->combine(all_units(indices), values, combining);
    }
    void contribute(Indices indices, std::span<const std::byte> values,
                    const detail::Combining& sum) override {
        units_->contribute(all_units(indices), values, sum);
    }
    void accumulate_ghosts(const detail::Combining& sum) override { units_->accumulate_ghosts(sum); }
    void update(Indices i, detail::Code code, std::span<const std::byte> values,
                std::span<std::byte> before) override {
        units_->update(first_unit(i), code, values, before);
    }

  protected:
    /// Collective. \throws Error for unsupported sizes and dimensions, and as DistributedArray
    WideElements(DistributionKind kind, const Plan& plan);

    /// The units of these elements. \pre `places` outlives it
    struct UnitPlaces {
        UnitPlaces(const WideElements& array, const Places& of);
        std::vector<std::int64_t> indices;
        Places places;
    };

    std::vector<std::int64_t> first_unit(Indices i) const;
    /// The units of all of these elements.
    std::vector<std::int64_t> all_units(Indices indices) const;
    AnyBox boxed(AnyBox box) const;
    Plan planned(Plan plan) const;
    Stencil of_units(const Stencil& stencil) const;
    Observation in_elements(Observation of_units) const;

    std::size_t element_bytes_;
    std::size_t unit_bytes_;
    std::int64_t units_of_one_;
    std::size_t dimensions_;
    std::unique_ptr<AnyArray> units_;
};

class WideArray final : public WideElements {
  public:
    /// As WideElements.
    WideArray(DistributionKind kind, const Plan& plan) : WideElements(kind, plan) {}

    std::vector<Rank> grid() const override;
    std::vector<std::int64_t> local_shape(Rank of) const override;
    std::span<std::byte> local() const override { return units_->local(); }
    std::span<std::byte> with_halo(std::int64_t depth, bool periodic) override {
        return units_->with_halo(depth, periodic);
    }
    detail::IndexRanges local_indices(std::size_t dimension) const override {
        return units_->local_indices(dimension);
    }
    void fill(const void* value) override;
    void assign(const AnyArray& from, std::span<const std::size_t> axes) override;
    void resize(const Plan& plan) override { units_->resize(planned(plan)); }
    PrefetchPattern prefetch_stencil(const Stencil& stencil, const Prefetch& how) override {
        return units_->prefetch_stencil(of_units(stencil), how);
    }
    PrefetchPattern prefetch_lines(std::size_t dimension, const Prefetch& how) override {
        return units_->prefetch_lines(dimension, how);
    }
    PrefetchPattern prefetch_transposed(const Prefetch& how) override {
        return units_->prefetch_transposed(how);
    }
    void observe(std::uint64_t limit_bytes) override { units_->observe(limit_bytes); }
    Observation observed() const override { return in_elements(units_->observed()); }
    Observation prefetch_observed(const Prefetch& how) override {
        return in_elements(units_->prefetch_observed(how));
    }
    PrefetchTransfer prefetch_stencil_async(const Stencil& stencil, const Prefetch& how) override {
        return units_->prefetch_stencil_async(of_units(stencil), how);
    }
    /// Elements are rows of units.
    std::unique_ptr<AnyGather> make_gather(Indices indices, Items /*items*/) const override {
        return units_->make_gather(indices, Items::rows);
    }

  private:
    detail::Agreement agreement_;
};

}  // namespace nearfetch::python
