// SPDX-License-Identifier: Apache-2.0
#pragma once

// Accesses to scattered elements: those that a list of indices names, or those at regular distances. Part of
// array.hpp.
//
// A request is sorted by owners: of each one, which of its elements are meant, as a set, and to which places
// of the request they belong. Own and prefetched elements are read in place. The others take at most two
// messages per owner: GETs or PUTs where they are in one run or two, else one request, with an answer. A
// large request is made in portions of most_scattered_bytes, with so many messages each.

#include <algorithm>
#include <functional>
#include <map>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/combining.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <span>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// The indices lower, lower + step, ... below upper, in each dimension.
template <std::size_t N>
struct Strided {
    Box<N> box;
    Index<N> step;  ///< at least 1

    constexpr Index<N> shape() const {
        Index<N> counts = box.shape();
        for (std::size_t d = 0; d < N; ++d)
            counts[d] = counts[d] == 0 ? 0 : (counts[d] - 1) / step[d] + 1;
        return counts;
    }
    constexpr std::int64_t size() const { return Box<N>({}, shape()).size(); }
};

/// Calls visit(index) for each, the last dimension fastest.
template <std::size_t N, class Visit>
constexpr void for_each_index(const Strided<N>& strided, Visit&& visit) {
    for_each_index(Box<N>({}, strided.shape()), [&](Index<N> i) {
        for (std::size_t d = 0; d < N; ++d)
            i[d] = strided.box.lower[d] + i[d] * strided.step[d];
        visit(std::as_const(i));
    });
}
template <std::size_t N, class Visit>
void for_each_index(std::span<const Index<N>> indices, Visit&& visit) {
    for (const Index<N>& i : indices)
        visit(i);
}

namespace detail {

/// Elements of a portion are at most so many bytes; smaller elements than 8 bytes count as 8.
inline constexpr std::uint64_t most_scattered_bytes = std::uint64_t{8} << 20;

/// Elements of other ranks that a request names, owner by owner.
class ScatteredElements {
  public:
    /// All that an owner has of the array.
    using PartOf = std::function<Slice(Rank)>;

    explicit ScatteredElements(std::uint64_t element_bytes) : element_bytes_(element_bytes) {}
    /// Adds an element. \param position in the owner's part \param at its place in the request, in elements
    void add(Rank owner, std::int64_t position, std::size_t at) {
        if (last_ == nullptr || last_owner_ != owner) {
            last_ = &parts_[owner];
            last_owner_ = owner;
        }
        last_->set.insert(position);
        last_->places.emplace_back(position, at);
        ++size_;
    }
    /// Whether the portion is complete.
    bool is_full() const {
        return size_ * std::max<std::uint64_t>(element_bytes_, 8) >= most_scattered_bytes;
    }
    /// Calls visit(owner, position, at) for each, in their order of each owner.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [owner, part] : parts_)
            for (const auto& [position, at] : part.places)
                visit(owner, position, at);
    }
    void clear() {
        parts_.clear();
        last_ = nullptr;
        size_ = 0;
    }

    // \param to, from the memory of the whole request

    void get(const PartOf& part_of, std::byte* to, Code pack);
    /// Of an element that is named twice the later value counts.
    void put(const PartOf& part_of, const std::byte* from, Code unpack);
    /// Values of an element that is named twice are combined before they are sent.
    void combine(const PartOf& part_of, const std::byte* from, const Combining& combining);

  private:
    struct Part {
        IndexSet set;
        std::vector<std::pair<std::int64_t, std::size_t>> places;
        std::vector<std::byte> packed;
    };
    std::vector<SliceMove> prepare(const PartOf& part_of);

    std::uint64_t element_bytes_;
    std::map<Rank, Part> parts_;
    Part* last_ = nullptr;
    Rank last_owner_ = -1;
    std::uint64_t size_ = 0;
};

/// \throws Error unless all steps are at least 1
void check_steps(const char* what, std::span<const std::int64_t> steps);

/// What arrays have for scattered elements. None of it is collective.
/// \tparam Array the DistributedArray<T, N, ...> that is derived from it
template <class Array, class T, std::size_t N>
class ScatteredAccess {
  public:
    // to[k] is the element of the k-th index, as a(i) reads and observe() records it. Indices may repeat.
    // What the owners have is read, it may be newer than in the page cache. `Gather` is for repeated reads.
    // \throws Error out of bounds, and when the size differs; then nothing is moved

    void get_scattered(std::span<const Index<N>> indices, std::span<T> to) const {
        read("get_scattered", indices, to);
    }
    void get_strided(const Strided<N>& strided, std::span<T> to) const { read("get_strided", strided, to); }
    /// The element of the k-th index becomes from[k]; the last one, if it is named several times.
    void put_scattered(std::span<const Index<N>> indices, std::span<const T> from) {
        write("put_scattered", indices, from);
    }
    void put_strided(const Strided<N>& strided, std::span<const T> from) {
        write("put_strided", strided, from);
    }

    // Updates by the owner, atomic with those of all ranks and threads by these functions. They see what this
    // thread has put before, and this thread's later reads see them. Prefetched data of manual consistency
    // has them after its next update. `op` has no state: for example std::plus<>, or a lambda without
    // captures.
    // \throws Error as above, and where owners do not answer (Open MPI without threads, see can_spawn())

    /// element = op(element, values[k]) for the k-th index, in any order. An element that is named several
    /// times is updated several times.
    template <class Op = std::plus<>>
    void accumulate(std::span<const Index<N>> indices, std::span<const T> values, const Op& /*op*/ = {}) {
        combine(indices, values, combining_of<T, Op>());
    }
    /// The same for a run-time operation.
    void combine(std::span<const Index<N>> indices, std::span<const T> values, const Combining& combining);
    /// Adds to an element; an acquire and a release. \return its value before
    T fetch_add(const Index<N>& i, const T& amount) {
        return update(i, combining_of<T, std::plus<>>().one, {amount, amount});
    }
    /// The element becomes `value` if its bytes are those of `expected`; an acquire and a release. \return
    /// its value before
    T compare_and_swap(const Index<N>& i, const T& expected, const T& value) {
        return update(i, &swap_at_owner, {value, expected});
    }
    /// Runs a code of combining.hpp at the element's owner; an acquire and a release.
    /// \param values the new one or the amount, and what a swap expects \return its value before
    T update(const Index<N>& i, Code code, const std::array<T, 2>& values) {
        T before{};
        update(i, code, std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(&before, 1)));
        return before;
    }
    /// The same for elements that are one together, as many as `before` has bytes for. \pre these follow
    /// each other in the owner's memory
    void update(const Index<N>& i, Code code, std::span<const std::byte> values, std::span<std::byte> before);

  private:
    const Array& array() const { return static_cast<const Array&>(*this); }
    Array& array() { return static_cast<Array&>(*this); }
    ScatteredElements::PartOf part_of() const {
        return [this](Rank owner) { return array().part_of(owner); };
    }
    void check(const char* what, std::span<const Index<N>> indices, std::size_t size) const {
        for (const Index<N>& i : indices)
            array().check(i);
        if (size != indices.size()) wrong_size(what, size, static_cast<std::int64_t>(indices.size()));
    }
    void check(const char* what, const Strided<N>& strided, std::size_t size) const {
        check_steps(what, strided.step);
        const std::int64_t indices = strided.box.empty() ? 0 : strided.size();
        if (indices != 0) {
            array().check(strided.box.lower);
            Index<N> last = strided.shape();
            for (std::size_t d = 0; d < N; ++d)
                last[d] = strided.box.lower[d] + (last[d] - 1) * strided.step[d];
            array().check(last);
        }
        if (static_cast<std::int64_t>(size) != indices) wrong_size(what, size, indices);
    }
    template <class Indices>
    void read(const char* what, const Indices& indices, std::span<T> to) const;
    template <class Indices>
    void write(const char* what, const Indices& indices, std::span<const T> from);
    /// Writes what was put through to prefetched slices.
    void write_through(const ScatteredElements& others, std::span<const T> from);
    /// Prefetched slices do not have what the owner has now.
    void invalidate(const ScatteredElements& others);
};

template <class Array, class T, std::size_t N>
template <class Indices>
void ScatteredAccess<Array, T, N>::read(const char* what, const Indices& indices, std::span<T> to) const {
    check(what, indices, to.size());
    ScatteredElements others(sizeof(T));
    const auto get_others = [&] {
        others.get(part_of(), reinterpret_cast<std::byte*>(to.data()), &pack_at_owner);
        others.clear();
    };
    std::size_t at = 0;
    for_each_index(indices, [&](const Index<N>& i) {
        if (const T* const mine = array().own(i)) {
            to[at] = *mine;
        } else {
            const Location<N> location = array().layout().locate(i);
            if (!array().read_prefetched(i, location, to[at])) {
                array().observe_read(location);
                others.add(location.rank, location.position, at);
            }
        }
        ++at;
        if (others.is_full()) get_others();
    });
    get_others();
}

template <class Array, class T, std::size_t N>
template <class Indices>
void ScatteredAccess<Array, T, N>::write(const char* what, const Indices& indices, std::span<const T> from) {
    check(what, indices, from.size());
    ScatteredElements others(sizeof(T));
    const auto put_others = [&] {
        others.put(part_of(), reinterpret_cast<const std::byte*>(from.data()), &unpack_at_owner);
        write_through(others, from);
        others.clear();
    };
    std::size_t at = 0;
    for_each_index(indices, [&](const Index<N>& i) {
        if (T* const mine = array().own(i)) {
            *mine = from[at];
        } else {
            const Location<N> location = array().layout().locate(i);
            others.add(location.rank, location.position, at);
        }
        ++at;
        if (others.is_full()) put_others();
    });
    put_others();
}

template <class Array, class T, std::size_t N>
void ScatteredAccess<Array, T, N>::combine(std::span<const Index<N>> indices, std::span<const T> values,
                                           const Combining& combining) {
    check("accumulate", indices, values.size());
    const auto* const from = reinterpret_cast<const std::byte*>(values.data());
    ScatteredElements others(sizeof(T));
    const auto combine_others = [&] {
        others.combine(part_of(), from, combining);
        invalidate(others);
        others.clear();
    };
    for (std::size_t at = 0; at < indices.size(); ++at) {
        if (array().own(indices[at]) == nullptr) {
            const Location<N> location = array().layout().locate(indices[at]);
            others.add(location.rank, location.position, at);
        }
        if (others.is_full()) combine_others();
    }
    combine_others();
    const T* const own = array().local().data();
    if (own == nullptr) return;
    const PartLock lock(reinterpret_cast<const std::byte*>(own));
    for (std::size_t at = 0; at < indices.size(); ++at)
        if (T* const mine = array().own(indices[at]))
            combining.combine(reinterpret_cast<std::byte*>(mine), from + at * sizeof(T), 1);
}

template <class Array, class T, std::size_t N>
void ScatteredAccess<Array, T, N>::write_through(const ScatteredElements& others, std::span<const T> from) {
    ArrayPrefetch& prefetched = array().array_prefetch_;
    others.for_each([&](Rank owner, std::int64_t position, std::size_t at) {
        if (prefetched.of(owner).empty()) return;
        const Index<N> local = index_at(array().layout().local_shape(owner), position);
        prefetched.write_through(owner, local, position, from[at],
                                 array().pointer({owner, local, position}).address());
    });
    prefetched.note_write();
}

template <class Array, class T, std::size_t N>
void ScatteredAccess<Array, T, N>::invalidate(const ScatteredElements& others) {
    ArrayPrefetch& prefetched = array().array_prefetch_;
    GlobalPtr<T> one;
    others.for_each([&](Rank owner, std::int64_t position, std::size_t) {
        if (!prefetched.of(owner).empty()) one = array().pointer({owner, {}, position});
    });
    // An acquire of any range makes consistent slices stale.
    if (one.rank() >= 0) nearfetch::acquire(one, 1);
    prefetched.note_write();
}

template <class Array, class T, std::size_t N>
void ScatteredAccess<Array, T, N>::update(const Index<N>& i, Code code, std::span<const std::byte> values,
                                          std::span<std::byte> before) {
    array().check(i);
    const GlobalPtr<T> element = array().pointer(array().layout().locate(i));
    update_element(element.rank(), code, {array().parts_.address(), element.address(), before.size()}, values,
                   before.data());
    array().array_prefetch_.note_write();
}

}  // namespace detail

}  // namespace nearfetch
