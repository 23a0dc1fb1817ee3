// SPDX-License-Identifier: Apache-2.0
#include "python/array_binding.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <nearfetch/pgas.hpp>
#include <string>
#include <utility>

#include "python/keys.hpp"
#include "python/memory.hpp"
#include "python/transfer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

using Ints = std::vector<std::int64_t>;

class Array {
  public:
    Array(int dealt, const Plan& plan)
        : array_(make(dealt, plan)), keys_(plan.lower, plan.upper), element_bytes_(plan.element_bytes) {}

    AnyArray& any() const { return *array_; }
    const Keys& keys() const { return keys_; }
    const Views& views() const { return views_; }
    void resize(const Plan& plan) {
        array_->resize(plan);
        keys_ = Keys(plan.lower, plan.upper);
    }

    /// Where single elements come and go; the Python side keeps it.
    void set_cell(std::uintptr_t cell) { cell_ = reinterpret_cast<void*>(cell); }

    /// Reads the element that `key` names into the cell. \return false: the key names something else
    bool read(nb::handle key) const {
        std::array<std::int64_t, 4> room;
        const Indices index = keys_.index_of(key, room);
        if (!index.empty()) array_->read(index, cell_);
        return !index.empty();
    }
    bool write(nb::handle key) const {
        std::array<std::int64_t, 4> room;
        const Indices index = keys_.index_of(key, room);
        if (!index.empty()) array_->write(index, cell_);
        return !index.empty();
    }

    /// Elements that stand one by one. \param indices of all of them, in whole numbers of 8 bytes
    void read_many(nb::handle indices, nb::handle to) const {
        const Buffer from(indices, false), buffer(to, true);
        const AnyArray& array = *array_;
        buffer.move([&] { array.read_many(from.elements<const std::int64_t>(), buffer.bytes()); });
    }
    void contribute(nb::handle indices, nb::handle values, char kind) const {
        const Buffer from(indices, false), buffer(values, false);
        array_->contribute(from.elements<const std::int64_t>(), buffer.bytes(), adding(kind, element_bytes_));
    }
    void get(const AnyBox& box, nb::handle to) const {
        check(box);
        const Buffer buffer(to, true);
        const AnyArray& array = *array_;
        buffer.move([&] { array.get(box, buffer.bytes()); });
    }
    void put(const AnyBox& box, nb::handle from) const {
        check(box);
        const Buffer buffer(from, false);
        AnyArray& array = *array_;
        buffer.move([&] { array.put(box, buffer.bytes()); });
    }
    /// One by one: the elements of a box that are so many apart.
    void put_steps(const AnyBox& box, const Ints& steps, nb::handle from) const {
        check(box);
        const Buffer buffer(from, false);
        const std::byte* element = buffer.bytes().data();
        Ints i = box.lower;
        AnyArray& array = *array_;
        for (std::size_t left = buffer.bytes().size() / element_bytes_; left > 0; --left) {
            array.write(i, element);
            element += element_bytes_;
            for (std::size_t d = keys_.dimensions(); d-- > 0;) {
                i[d] += steps[d];
                if (i[d] < box.upper[d] || d == 0) break;
                i[d] = box.lower[d];
            }
        }
    }

    /// \param self this one
    nb::object local(nb::handle self) const { return views_.of(array_->local(), true, array_.rank(), self); }

  private:
    static Held<AnyArray> make(int dealt, const Plan& plan) {
        std::unique_ptr<AnyArray> array;
        {
            const nb::gil_scoped_release unlocked;
            array = make_any_array(static_cast<Dealt>(dealt), plan);
        }
        return Held<AnyArray>(std::move(array));
    }
    void check(const AnyBox& box) const {
        if (box.lower.size() != keys_.dimensions() || box.upper.size() != keys_.dimensions())
            throw Error("a box of " + std::to_string(box.lower.size()) + " dimensions",
                        "the array has " + std::to_string(keys_.dimensions()), "use as many");
    }

    Held<AnyArray> array_;
    Keys keys_;
    Views views_;
    void* cell_ = nullptr;
    std::size_t element_bytes_;
};

std::pair<std::uint64_t, std::uint64_t> pair_of(const Observation& seen) {
    return {seen.elements, seen.left_out};
}

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

void define_patterns(nb::class_<Array>& array) {
    array.def(
        "prefetch",
        [](const Array& self, int pattern, std::int64_t depth, bool corners, bool consistent, bool fixed) {
            self.any().prefetch(static_cast<Pattern>(pattern), depth, corners, {consistent, fixed});
        },
        "pattern"_a, "depth"_a, "corners"_a, "consistent"_a, "static_domain"_a, Unlocked());
    array.def(
        "prefetch_custom",
        [](const Array& self, const std::vector<std::vector<std::pair<Ints, Ints>>>& table, bool consistent,
           bool fixed) {
            std::vector<std::vector<AnyBox>> boxes(table.size());
            for (std::size_t r = 0; r < table.size(); ++r)
                for (const auto& [lower, upper] : table[r])
                    boxes[r].push_back({lower, upper});
            self.any().prefetch_custom(boxes, {consistent, fixed});
        },
        "table"_a, "consistent"_a, "static_domain"_a, Unlocked());
    array.def(
        "observe", [](const Array& self, std::uint64_t most) { self.any().observe(most); }, "most_bytes"_a);
    array.def("observed", [](const Array& self) { return pair_of(self.any().observed()); });
    array.def(
        "prefetch_observed",
        [](const Array& self, bool consistent, bool fixed) {
            return pair_of(self.any().prefetch_observed({consistent, fixed}));
        },
        "consistent"_a, "static_domain"_a, Unlocked());
    array.def("update_prefetch", [](const Array& self) { self.any().update_prefetch(); }, Unlocked());
    array.def(
        "update_prefetch_async",
        [](const Array& self) { return Transfer(self.any().update_prefetch_async()); },
        nb::keep_alive<0, 1>());
    array.def(
        "prefetch_stencil_async",
        [](const Array& self, std::int64_t depth, bool corners, bool consistent, bool fixed) {
            return Transfer(self.any().prefetch_stencil_async(depth, corners, {consistent, fixed}));
        },
        "depth"_a, "corners"_a, "consistent"_a, "static_domain"_a, nb::keep_alive<0, 1>());
    array.def("contribute", &Array::contribute, "indices"_a, "values"_a, "kind"_a);
    array.def(
        "accumulate_ghosts",
        [](const Array& self, char kind) {
            self.any().accumulate_ghosts(adding(kind, self.any().element_bytes()));
        },
        "kind"_a, Unlocked());
    array.def("evict_prefetch", [](const Array& self) { self.any().evict_prefetch(); });
    array.def(
        "is_prefetched", [](const Array& self, const Ints& i) { return self.any().is_prefetched(i); },
        "index"_a);
}

void define_array(nb::class_<Array>& array) {
    array.def(
        "__init__",
        [](Array* self, int dealt, std::size_t element_bytes, const Ints& lower, const Ints& upper,
           const std::vector<Rank>& grid,
           const Ints& block) { new (self) Array(dealt, {element_bytes, lower, upper, grid, block}); },
        "dealt"_a, "element_bytes"_a, "lower"_a, "upper"_a, "grid"_a, "block"_a);
    array.def("set_cell", &Array::set_cell, "address"_a);
    array.def("read", &Array::read, "key"_a.none());
    array.def("write", &Array::write, "key"_a.none());
    array.def(
        "resolve", [](const Array& self, std::int64_t i, std::size_t d) { return self.keys().resolve(i, d); },
        "index"_a, "dimension"_a);
    array.def("read_many", &Array::read_many, "indices"_a, "to"_a);
    array.def(
        "get",
        [](const Array& self, const Ints& lower, const Ints& upper, nb::handle to) {
            self.get({lower, upper}, to);
        },
        "lower"_a, "upper"_a, "to"_a);
    array.def(
        "put",
        [](const Array& self, const Ints& lower, const Ints& upper, nb::handle from) {
            self.put({lower, upper}, from);
        },
        "lower"_a, "upper"_a, "from"_a);
    array.def(
        "put_steps",
        [](const Array& self, const Ints& lower, const Ints& upper, const Ints& steps, nb::handle from) {
            self.put_steps({lower, upper}, steps, from);
        },
        "lower"_a, "upper"_a, "steps"_a, "from"_a);
    array.def("local", [](nb::handle self) { return nb::cast<const Array&>(self).local(self); });
    array.def("views", [](const Array& self) { return self.views().count(); });
    array.def(
        "resize",
        [](Array& self, const Ints& lower, const Ints& upper, const std::vector<Rank>& grid) {
            self.resize({0, lower, upper, grid, {}});
        },
        "lower"_a, "upper"_a, "grid"_a, Unlocked());
    array.def("local_shape", [](const Array& self) { return self.any().local_shape(); });
    array.def(
        "local_indices", [](const Array& self, std::size_t d) { return self.any().local_indices(d); },
        "dimension"_a);
    array.def("grid", [](const Array& self) { return self.any().grid(); });
    array.def("owner", [](const Array& self, const Ints& i) { return self.any().owner(i); }, "index"_a);
    array.def(
        "fill",
        [](const Array& self, std::uintptr_t value) {
            self.any().fill(reinterpret_cast<const void*>(value));
        },
        "value"_a, Unlocked());
    array.def(
        "assign", [](const Array& self, const Array& from) { self.any().assign(from.any()); }, "source"_a,
        Unlocked());
    array.def(
        "gather",
        [](const Array& self, nb::handle own, nb::handle to) {
            const Buffer from(own, false);
            const Buffer all(to, true);
            const nb::gil_scoped_release unlocked;
            self.any().gather(from.bytes(), all.bytes().data());
        },
        "own"_a, "to"_a);
}

}  // namespace

void define_arrays(nb::module_& module) {
    define_memory(module);
    nb::class_<Transfer> transfer(module, "Transfer");
    transfer.def("test", &Transfer::test);
    transfer.def("wait", &Transfer::wait);
    nb::class_<Array> array(module, "Array");
    define_array(array);
    define_patterns(array);
}

}  // namespace nearfetch::python
