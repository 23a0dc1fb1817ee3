// SPDX-License-Identifier: Apache-2.0
#pragma once

// x(index[k]) for the same indices again and again: what a product with a sparse matrix reads of a vector, or
// a loop over an unstructured mesh of its neighbours' values.
//
//     Gather near(x, a.local().columns);          // once: who has what of it, and where it will be here
//     for (int n = 0; n < iterations; ++n) {
//         barrier();
//         near.update();                          // a few messages from each owner
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

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nearfetch/array.hpp>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// What one owner has of a Gather.
class GatherPart {
  public:
    /// \param position in the owner's part
    void add(std::int64_t position) {
        set_.insert(position);
        first_ = std::min(first_, position);
        last_ = std::max(last_, position);
    }
    /// Nothing is added from now on. \param first where its elements are among those of all owners
    /// \return how many it has there
    std::uint64_t complete(std::uint64_t first, std::uint64_t element_bytes);
    /// Where an element is among those of all owners. \pre it was added
    std::uint64_t place(std::int64_t position) const {
        return begin_ + static_cast<std::uint64_t>(spread_ ? position - first_ : set_.position(position));
    }
    /// place() is not asked any more.
    void forget_places() { set_.forget_places(); }
    /// Whether elements stand as they do at their owner: at least one of four that lie there is wanted.
    bool spread() const { return spread_; }
    const IndexSet& set() const { return set_; }
    /// Where its elements are. \param elements of all owners
    std::byte* among(std::byte* elements, std::uint64_t element_bytes) const {
        return elements + begin_ * element_bytes;
    }
    /// From the first to the last that is wanted. \param part all that the owner has
    Slice around(Slice part) const;
    /// To where they stand. \pre spread()
    void unpack(const std::byte* packed, std::byte* elements, std::uint64_t element_bytes) const;

  private:
    IndexSet set_;
    std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ = -1;
    std::uint64_t begin_ = 0;
    bool spread_ = false;
};

/// \throws Error for more elements than positions can tell apart
void check_gathered(std::uint64_t elements);
[[noreturn]] void gathered_is_resized();

std::shared_ptr<StrategySelector> make_strategy_selector();
/// Brings the elements. \param part_of(owner) all that it has \param choice how what is spread is fetched
void gather(const std::map<Rank, GatherPart>& parts, const std::function<Slice(Rank)>& part_of,
            std::byte* elements, StrategySelector& choice, Code pack);

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
            parts_[place.rank].add(place.position);
        }
        std::uint64_t elements = 0;
        for (auto& [owner, part] : parts_)
            elements += part.complete(elements, sizeof(T));
        detail::check_gathered(elements);
        elements_ = detail::Buffer<T>(elements);
        positions_.reserve(indices.size());
        for (const std::int64_t i : indices) {
            const Place<1> place = layout_.place({i});
            positions_.push_back(static_cast<std::uint32_t>(parts_[place.rank].place(place.position)));
        }
        for (auto& [owner, part] : parts_)
            part.forget_places();
    }
    Gather(const Gather&) = delete;
    Gather& operator=(const Gather&) = delete;
    Gather(Gather&&) noexcept = default;

    /// Brings what the elements are now: what their owners have written before the last barrier, or later.
    /// Not collective. Whether owners are asked to pack what others want, or what lies between comes along
    /// and they are left alone, is tried.
    /// \throws Error when the array has other bounds than before
    void update() {
        if (array_.layout() != layout_) detail::gathered_is_resized();
        detail::gather(
            parts_, [this](Rank owner) { return array_.part_of(owner); },
            reinterpret_cast<std::byte*>(elements_.data()), *choice_, &detail::pack_at_owner);
    }

    /// Indices.
    std::size_t size() const { return positions_.size(); }
    /// The array's element of the k-th index.
    const T& operator[](std::size_t k) const { return elements_[positions_[k]]; }

    /// Where elements()[positions()[k]] is the element of the k-th index; for libraries that take an index
    /// array of their own, as that of a matrix whose columns are numbered anew.
    std::span<const std::uint32_t> positions() const { return positions_; }
    /// Each that is needed once, owner by owner, and a few that lie between them, which may be older: all,
    /// where at least one of four of these is needed.
    std::span<const T> elements() const { return elements_.span(); }

  private:
    const DistributedArray<T, 1, D>& array_;
    Layout<1, D> layout_;
    std::map<Rank, detail::GatherPart> parts_;
    detail::Buffer<T> elements_;
    std::vector<std::uint32_t> positions_;
    std::shared_ptr<StrategySelector> choice_ = detail::make_strategy_selector();  ///< nobody else's
};

}  // namespace nearfetch
