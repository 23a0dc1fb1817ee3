// SPDX-License-Identifier: Apache-2.0
#pragma once

// x(index[k]) for the same indices again and again: what a product with a sparse matrix reads of a vector, or
// a loop over an unstructured mesh of its neighbours' values.
//
//     Gather near(x, a.local().columns);          // once: who has what of it, and where it will be here
//     for (int n = 0; n < iterations; ++n) {
//         barrier();
//         near.update();                          // one message from each owner
//         for (...) sum += values[k] * near[k];   // x(columns[k]), as it was then
//         barrier();
//     }
//
// An access x(i) finds out each time whose the element is and where. Here the indices are gone through once
// (what Saltz et al. 1990, "Run-time scheduling and execution of loops on message passing machines", call an
// inspector): each distinct element gets a place in one piece of memory, own ones too, and near[k] is two
// loads, with neither a branch nor a check. So the loop takes what it takes where the elements have been
// copied by hand.
//
// It is a copy: what is written after update(), by this rank or another one, comes with the next.

#include <cstdint>
#include <map>
#include <nearfetch/array.hpp>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// \throws Error for more elements than positions can tell apart
void check_gathered(std::uint64_t elements);
[[noreturn]] void gathered_is_resized();

}  // namespace detail

/// \tparam D the array's distribution
template <class T, Distribution D = Block>
class Gather {
  public:
    /// Not collective. The elements are zero before the first update(). The array outlives it.
    /// \param indices into the array, in any order, any of them any number of times
    /// \throws Error for an index out of bounds, and for more than 2^32 distinct ones
    Gather(const DistributedArray<T, 1, D>& array, std::span<const std::int64_t> indices)
        : array_(array), layout_(array.layout()) {
        for (const std::int64_t i : indices) {
            array.check({i});
            const Place<1> place = layout_.place({i});
            parts_[place.rank].set.insert(place.position);
        }
        std::uint64_t elements = 0;
        for (auto& [owner, part] : parts_) {
            part.set.complete();
            // Another run takes longer than a few bytes do.
            part.set.close_gaps(static_cast<std::int64_t>(detail::most_closed_bytes / sizeof(T)));
            part.first = elements;
            elements += static_cast<std::uint64_t>(part.set.size());
        }
        detail::check_gathered(elements);
        elements_ = detail::Buffer<T>(elements);
        positions_.reserve(indices.size());
        for (const std::int64_t i : indices) {
            const Place<1> place = layout_.place({i});
            const Part& part = parts_[place.rank];
            const auto in_part = static_cast<std::uint64_t>(part.set.position(place.position));
            positions_.push_back(static_cast<std::uint32_t>(part.first + in_part));
        }
        for (auto& [owner, part] : parts_)
            part.set.forget_places();
    }
    Gather(const Gather&) = delete;
    Gather& operator=(const Gather&) = delete;
    Gather(Gather&&) noexcept = default;

    /// Brings what the elements are now: what their owners have written before the last barrier, or later.
    /// Not collective; owners are left alone, as with Prefetch::static_domain.
    /// \throws Error when the array has other bounds than before
    void update() {
        if (array_.layout() != layout_) detail::gathered_is_resized();
        std::vector<detail::SliceMove> moves;
        for (const auto& [owner, part] : parts_)
            moves.push_back({array_.part_of(owner),
                             reinterpret_cast<std::byte*>(elements_.data() + part.first), &part.set});
        detail::get_slices(moves, detail::Packer::requester, true, &detail::pack_at_owner);
    }

    /// Indices.
    std::size_t size() const { return positions_.size(); }
    /// The array's element of the k-th index.
    const T& operator[](std::size_t k) const { return elements_[positions_[k]]; }

    /// Where elements()[positions()[k]] is the element of the k-th index; for libraries that take an index
    /// array of their own, as that of a matrix whose columns are numbered anew.
    std::span<const std::uint32_t> positions() const { return positions_; }
    /// Each that is needed once, owner by owner, and a few that lie between them.
    std::span<const T> elements() const { return elements_.span(); }

  private:
    /// What one owner has of it.
    struct Part {
        detail::IndexSet set;
        std::uint64_t first = 0;  ///< of elements_
    };

    const DistributedArray<T, 1, D>& array_;
    Layout<1, D> layout_;
    std::map<Rank, Part> parts_;
    detail::Buffer<T> elements_;
    std::vector<std::uint32_t> positions_;
};

}  // namespace nearfetch
