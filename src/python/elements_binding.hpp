// SPDX-License-Identifier: Apache-2.0
#pragma once

// Python's handle of a distributed array or sparse matrix, with their common functions.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <concepts>
#include <memory>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/base/error.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/any_elements.hpp"
#include "python/keys.hpp"
#include "python/memory.hpp"
#include "python/transfer.hpp"

namespace nearfetch::python {

using Ints = std::vector<std::int64_t>;
using Unlocked = nanobind::call_guard<nanobind::gil_scoped_release>;

/// consistent, static_domain, barrier, later
using How = std::tuple<bool, bool, bool, bool>;
inline Prefetch prefetch_of(const How& how) {
    const auto [consistent, static_domain, barrier, later] = how;
    return {consistent, static_domain, barrier, later};
}

/// A pattern's name for Python.
inline std::uint64_t number_of(PrefetchPattern pattern) { return static_cast<std::uint64_t>(pattern); }

/// \tparam Any an interface derived from AnyElements
template <std::derived_from<AnyElements> Any>
class Elements {
  public:
    /// \param make makes the elements, without the interpreter's lock
    template <std::invocable Make>
    Elements(Keys keys, const Make& make) : held_(made(make)), keys_(std::move(keys)) {}

    Any& any() const { return *held_; }
    std::int64_t resolve(std::int64_t i, std::size_t dimension) const { return keys_.resolve(i, dimension); }
    long views() const { return views_.count(); }

    /// Buffer for single elements; the Python side keeps it alive.
    void set_cell(std::uintptr_t cell) { cell_ = reinterpret_cast<void*>(cell); }
    /// Reads the element `key` into the cell. \return false: the key is not a single index
    bool read(nanobind::handle key) const {
        return with_index(key, [this](Indices i) { held_->read(i, cell_); });
    }
    bool write(nanobind::handle key) const {
        return with_index(key, [this](Indices i) { held_->write(i, cell_); });
    }
    /// \param indices all of them, as 8-byte integers
    void read_many(nanobind::handle indices, nanobind::handle to) const {
        const Buffer from(indices, false), buffer(to, true);
        const Any& elements = any();
        buffer.move([&] { elements.read_many(from.elements<const std::int64_t>(), buffer.bytes()); });
    }
    void gather(const std::string& what, nanobind::handle own, nanobind::handle to) const {
        const Buffer from(own, false), all(to, true);
        const nanobind::gil_scoped_release unlocked;
        any().gather(what.c_str(), from.bytes(), all.bytes().data());
    }
    Rank owner(const Ints& i) const { return any().owner(checked(i)); }

    std::uint64_t prefetch_custom(const std::vector<std::vector<std::pair<Ints, Ints>>>& table,
                                  const How& how) const {
        Any& elements = any();
        AnyTable boxes(table.size());
        for (std::size_t r = 0; r < table.size(); ++r)
            for (const auto& [lower, upper] : table[r])
                boxes[r].push_back(box(lower, upper));
        return number_of(elements.prefetch_custom(boxes, prefetch_of(how)));
    }
    std::uint64_t prefetch_all_to_all(const How& how) const {
        return number_of(any().prefetch_all_to_all(prefetch_of(how)));
    }
    void update_prefetch() const { any().update_prefetch(); }
    Transfer update_prefetch_async() const { return Transfer(any().update_prefetch_async()); }
    /// \param pattern what a pattern has returned; none: of all
    void evict_prefetch(std::optional<std::uint64_t> pattern) const {
        if (pattern)
            any().evict_prefetch(PrefetchPattern{*pattern});
        else
            any().evict_prefetch();
    }
    bool is_prefetched(const Ints& i) const { return any().is_prefetched(checked(i)); }

  protected:
    /// Checks an index, or a corner of a box.
    const Ints& checked(const Ints& i) const {
        if (i.size() != keys_.dimensions())
            throw Error("an index of " + std::to_string(i.size()) + " numbers",
                        "the array has " + std::to_string(keys_.dimensions()) + " dimensions", "use as many");
        return i;
    }
    AnyBox box(const Ints& lower, const Ints& upper) const { return {checked(lower), checked(upper)}; }
    std::size_t dimensions() const { return keys_.dimensions(); }
    void change(Keys keys) { keys_ = std::move(keys); }
    /// A view of this rank's memory. \param self this object's Python handle
    nanobind::object view(std::span<const std::byte> bytes, bool writable, nanobind::handle self) const {
        return views_.of(bytes, writable, held_.rank(), self);
    }

  private:
    template <class Make>
    static Held<Any> made(const Make& make) {
        std::unique_ptr<Any> elements;
        {
            const nanobind::gil_scoped_release unlocked;
            elements = make();
        }
        return Held<Any>(std::move(elements));
    }
    template <class Use>
    bool with_index(nanobind::handle key, const Use& use) const {
        std::array<std::int64_t, 4> room;
        const Indices index = keys_.index_of(key, room);
        if (index.empty()) return false;
        use(index);
        return true;
    }

    Held<Any> held_;
    Keys keys_;
    Views views_;
    void* cell_ = nullptr;
};

/// \tparam Self derived from Elements, with local(Python handle)
template <class Self>
void define_elements(nanobind::class_<Self>& elements) {
    using namespace nanobind::literals;
    elements.def("set_cell", &Self::set_cell, "address"_a);
    elements.def("read", &Self::read, "key"_a.none());
    elements.def("write", &Self::write, "key"_a.none());
    elements.def("read_many", &Self::read_many, "indices"_a, "to"_a);
    elements.def("resolve", &Self::resolve, "index"_a, "dimension"_a);
    elements.def("owner", &Self::owner, "index"_a);
    elements.def("local",
                 [](nanobind::handle self) { return nanobind::cast<const Self&>(self).local(self); });
    elements.def("views", &Self::views);
    elements.def("gather", &Self::gather, "what"_a, "own"_a, "to"_a);
    elements.def("prefetch_custom", &Self::prefetch_custom, "table"_a, "how"_a, Unlocked());
    elements.def("prefetch_all_to_all", &Self::prefetch_all_to_all, "how"_a, Unlocked());
    elements.def("update_prefetch", &Self::update_prefetch, Unlocked());
    elements.def("update_prefetch_async", &Self::update_prefetch_async, nanobind::keep_alive<0, 1>());
    elements.def("evict_prefetch", &Self::evict_prefetch, "pattern"_a.none() = nanobind::none());
    elements.def("is_prefetched", &Self::is_prefetched, "index"_a);
}

}  // namespace nearfetch::python
