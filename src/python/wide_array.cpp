// SPDX-License-Identifier: Apache-2.0
#include "python/wide_array.hpp"

#include <cstring>
#include <nearfetch/detail/base/error.hpp>
#include <nearfetch/pgas.hpp>
#include <string>
#include <utility>

namespace nearfetch::python {

namespace {

/// The largest size that arrays are compiled for and that divides this one.
std::size_t unit_of(std::size_t element_bytes) {
    for (const std::size_t unit : {16, 8, 4, 2})
        if (element_bytes % unit == 0) return unit;
    return 1;
}

}  // namespace

WideElements::WideElements(DistributionKind kind, const Plan& plan)
    : element_bytes_(plan.element_bytes),
      unit_bytes_(unit_of(plan.element_bytes)),
      units_of_one_(static_cast<std::int64_t>(element_bytes_ / unit_bytes_)),
      dimensions_(plan.bounds.lower.size()) {
    if (element_bytes_ == 0 || element_bytes_ > most_bytes)
        throw Error("elements of " + std::to_string(element_bytes_) + " bytes",
                    "an element has 1 to " + std::to_string(most_bytes) + " bytes",
                    "use a smaller dtype, or one more dimension");
    if (dimensions_ == 0 || dimensions_ > most_dimensions)
        throw Error("an array of " + std::to_string(dimensions_) + " dimensions with elements of " +
                        std::to_string(element_bytes_) + " bytes",
                    "there are 1 to " + std::to_string(most_dimensions) +
                        ", and 4 only for elements of 1, 2, 4, 8 and 16 bytes",
                    "use fewer dimensions or an array for each field");
    Plan of_units = planned(plan);
    if (of_units.grid.empty()) {
        of_units.grid.resize(dimensions_);
        detail::balanced_grid(ranks(), of_units.grid);
        of_units.grid.push_back(1);
    }
    units_ = make_any_array(kind, of_units);
}

Rank WideElements::owner(Indices i) const { return units_->owner(first_unit(i)); }

// Unit by unit, as single elements of other arrays: from own memory, prefetched data or the page cache.
void WideElements::read(Indices i, void* to) const {
    std::vector<std::int64_t> unit = first_unit(i);
    auto* at = static_cast<std::byte*>(to);
    for (; unit.back() < units_of_one_; ++unit.back(), at += unit_bytes_)
        units_->read(unit, at);
}

void WideElements::write(Indices i, const void* from) {
    std::vector<std::int64_t> unit = first_unit(i);
    const auto* at = static_cast<const std::byte*>(from);
    for (; unit.back() < units_of_one_; ++unit.back(), at += unit_bytes_)
        units_->write(unit, at);
}

void WideElements::read_many(Indices indices, std::span<std::byte> to) const {
    units_->read_many(all_units(indices), to);
}

void WideElements::gather(const char* what, std::span<const std::byte> own, std::byte* to) {
    units_->gather(what, own, to);
}

PrefetchPattern WideElements::prefetch_custom(const AnyTable& table, const Prefetch& how) {
    AnyTable of_units = table;
    for (std::vector<AnyBox>& boxes : of_units)
        for (AnyBox& box : boxes)
            box = boxed(std::move(box));
    return units_->prefetch_custom(of_units, how);
}

bool WideElements::is_prefetched(Indices i) const { return units_->is_prefetched(first_unit(i)); }

std::vector<Rank> WideArray::grid() const {
    std::vector<Rank> grid = units_->grid();
    grid.pop_back();
    return grid;
}

std::vector<std::int64_t> WideArray::local_shape(Rank of) const {
    std::vector<std::int64_t> shape = units_->local_shape(of);
    shape.pop_back();
    return shape;
}

void WideArray::fill(const void* value) {
    std::vector<std::uint64_t> words((element_bytes_ + 7) / 8);
    std::memcpy(words.data(), value, element_bytes_);
    const detail::Collective call("fill", {});
    agreement_.check(words);
    const std::span<std::byte> own = local();
    for (std::size_t at = 0; at < own.size(); at += element_bytes_)
        std::memcpy(own.data() + at, value, element_bytes_);
    barrier();
}

void WideArray::assign(const AnyArray& from, std::span<const std::size_t> axes) {
    const auto* const other = dynamic_cast<const WideArray*>(&from);
    if (other == nullptr || other->element_bytes_ != element_bytes_)
        throw Error("assign: an array of another kind", "elements are copied as they are",
                    "use arrays of the same dtype and as many dimensions");
    std::vector<std::size_t> of_units(axes.begin(), axes.end());
    of_units.push_back(dimensions_);
    units_->assign(*other->units_, of_units);
}

WideElements::UnitPlaces::UnitPlaces(const WideElements& array, const Places& of) {
    if (of.box.lower.empty()) {
        indices = array.all_units(of.indices);
        places.indices = indices;
        return;
    }
    places.box = array.boxed(of.box);
    places.steps = of.steps;
    if (!places.steps.empty()) places.steps.push_back(1);
}

std::vector<std::int64_t> WideElements::first_unit(Indices i) const {
    std::vector<std::int64_t> unit(i.begin(), i.end());
    unit.push_back(0);
    return unit;
}

std::vector<std::int64_t> WideElements::all_units(Indices indices) const {
    std::vector<std::int64_t> units;
    units.reserve(indices.size() / dimensions_ * (dimensions_ + 1) * static_cast<std::size_t>(units_of_one_));
    for (; !indices.empty(); indices = indices.subspan(dimensions_))
        for (std::int64_t unit = 0; unit < units_of_one_; ++unit) {
            units.insert(units.end(), indices.begin(),
                         indices.begin() + static_cast<std::ptrdiff_t>(dimensions_));
            units.push_back(unit);
        }
    return units;
}

AnyBox WideElements::boxed(AnyBox box) const {
    box.lower.push_back(0);
    box.upper.push_back(units_of_one_);
    return box;
}

Plan WideElements::planned(Plan plan) const {
    plan.element_bytes = unit_bytes_;
    plan.bounds = boxed(std::move(plan.bounds));
    if (!plan.grid.empty()) plan.grid.push_back(1);
    if (!plan.block.empty()) plan.block.push_back(units_of_one_);
    return plan;
}

/// Units of one element are of one rank.
Stencil WideElements::of_units(const Stencil& stencil) const {
    detail::check_stencil(stencil, dimensions_);
    std::vector<std::int64_t> depth(dimensions_ + 1);
    std::vector<bool> periodic(dimensions_ + 1);
    for (std::size_t d = 0; d < dimensions_; ++d) {
        depth[d] = stencil.depth[d];
        periodic[d] = stencil.periodic[d];
    }
    return {{depth.begin(), depth.end()}, stencil.corners, {periodic.begin(), periodic.end()}};
}

Observation WideElements::in_elements(Observation of_units) const {
    const auto units = static_cast<std::uint64_t>(units_of_one_);
    return {of_units.elements / units, of_units.left_out / units};
}

}  // namespace nearfetch::python
