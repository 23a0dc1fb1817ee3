// SPDX-License-Identifier: Apache-2.0
#include "python/array_binding.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/access_task.hpp"
#include "python/any_array.hpp"
#include "python/combining.hpp"
#include "python/elements_binding.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

class Array : public Elements<AnyArray> {
  public:
    Array(int kind, const Plan& plan)
        : Elements(Keys(plan.bounds.lower, plan.bounds.upper),
                   [&] { return make_any_array(static_cast<DistributionKind>(kind), plan); }),
          element_bytes_(plan.element_bytes) {}

    // The keys change under the interpreter's lock, because any thread may read them.
    void resize(const Ints& lower, const Ints& upper, const std::vector<Rank>& grid) {
        const Plan plan{element_bytes_, box(lower, upper), grid, {}, {}};
        {
            const nb::gil_scoped_release unlocked;
            any().resize(plan);
        }
        change(Keys(lower, upper));
    }
    void contribute(nb::handle indices, nb::handle values, char kind) const {
        const Buffer from(indices, false), buffer(values, false);
        any().contribute(from.elements<const std::int64_t>(), buffer.bytes(),
                         combining("sum", kind, element_bytes_));
    }
    void accumulate_ghosts(char kind) const {
        any().accumulate_ghosts(combining("sum", kind, element_bytes_));
    }
    void get(const Ints& lower, const Ints& upper, const Ints& steps, nb::handle indices,
             nb::handle to) const {
        const Named named(*this, lower, upper, steps, indices);
        const Buffer buffer(to, true);
        const AnyArray& array = any();
        buffer.move([&] { array.get(named.places(), buffer.bytes()); });
    }
    void put(const Ints& lower, const Ints& upper, const Ints& steps, nb::handle indices,
             nb::handle values) const {
        const Named named(*this, lower, upper, steps, indices);
        const Buffer buffer(values, false);
        AnyArray& array = any();
        buffer.move([&] { array.put(named.places(), buffer.bytes()); });
    }
    void get_from_owners(const Ints& lower, const Ints& upper, nb::handle to) const {
        const AnyBox wanted = box(lower, upper);
        const Buffer buffer(to, true);
        const AnyArray& array = any();
        buffer.move([&] { array.get_from_owners(wanted, buffer.bytes()); });
    }
    void accumulate(nb::handle indices, nb::handle values, const std::string& op, char kind) const {
        const Buffer from(indices, false), buffer(values, false);
        const detail::Combining by = combining(op, kind, element_bytes_);
        AnyArray& array = any();
        buffer.move([&] { array.combine(from.elements<const std::int64_t>(), buffer.bytes(), by); });
    }
    /// \param cell in it the amount, and then the value before
    void fetch_add(const Ints& i, nb::handle cell, char kind) const {
        const Buffer buffer(cell, true);
        any().update(checked(i), combining("sum", kind, element_bytes_).one, buffer.bytes(), buffer.bytes());
    }
    /// \param cells in them the new value and the expected one, and then in the first one the value before
    void compare_and_swap(const Ints& i, nb::handle cells) const {
        const Buffer buffer(cells, true);
        any().update(checked(i), &detail::swap_at_owner, buffer.bytes(),
                     buffer.bytes().first(element_bytes_));
    }

    /// \param elements how much memory they take
    AccessTask start_get(const Ints& lower, const Ints& upper, const Ints& steps, nb::handle indices,
                         std::size_t elements) const {
        const Named named(*this, lower, upper, steps, indices);
        AnyArray& array = any();
        const nb::gil_scoped_release unlocked;
        return {array, AccessTask::Kind::get, named.places(), std::vector<std::byte>(elements)};
    }
    AccessTask start_put(const Ints& lower, const Ints& upper, const Ints& steps, nb::handle indices,
                         nb::handle values) const {
        const Named named(*this, lower, upper, steps, indices);
        const Buffer buffer(values, false);
        AnyArray& array = any();
        const nb::gil_scoped_release unlocked;
        return {array, AccessTask::Kind::put, named.places(),
                std::vector<std::byte>(buffer.bytes().begin(), buffer.bytes().end())};
    }

    /// \param self this object's Python handle
    nb::object local(nb::handle self) const { return view(any().local(), true, self); }
    /// \param self as above \param halo_bytes how much of the view is not the rank's own
    nb::object with_halo(nb::handle self, std::int64_t depth, bool periodic, std::size_t halo_bytes) const {
        AnyArray& array = any();
        std::span<std::byte> around;
        move_bytes(halo_bytes, [&] { around = array.with_halo(depth, periodic); });
        return view(around, true, self);
    }

  private:
    /// The elements that Python names: a box, else (with no bounds) single indices.
    class Named {
      public:
        Named(const Array& array, const Ints& lower, const Ints& upper, const Ints& steps, nb::handle indices)
            : buffer_(indices, false) {
            if (lower.empty())
                places_.indices = buffer_.elements<const std::int64_t>();
            else
                places_ = {array.box(lower, upper), steps.empty() ? steps : array.checked(steps), {}};
        }
        const Places& places() const { return places_; }

      private:
        Buffer buffer_;
        Places places_;
    };

    std::size_t element_bytes_;
};

/// \pre Python keeps the array alive
class Gather {
  public:
    Gather(const Array& array, nb::handle indices) : array_(array) {
        const Buffer from(indices, false);
        from.move([&] { gather_ = array.any().make_gather(from.elements<const std::int64_t>()); });
    }

    void update() const {
        array_.any();  // checks the thread
        gather_->update();
    }
    const AnyGather& any() const { return *gather_; }

  private:
    const Array& array_;
    std::unique_ptr<AnyGather> gather_;
};

/// depth, corners, periodic
using Around = std::tuple<Ints, bool, Ints>;
Stencil stencil_of(const Around& around) {
    const auto& [depth, corners, periodic] = around;
    return {{depth.begin(), depth.end()}, corners, {periodic.begin(), periodic.end()}};
}

std::pair<std::uint64_t, std::uint64_t> pair_of(const Observation& seen) {
    return {seen.elements, seen.left_out};
}

void define_patterns(nb::class_<Array>& array) {
    array.def(
        "prefetch",
        [](const Array& self, int pattern, const Around& around, const How& how) {
            return number_of(
                self.any().prefetch(static_cast<Pattern>(pattern), stencil_of(around), prefetch_of(how)));
        },
        "pattern"_a, "around"_a, "how"_a, Unlocked());
    array.def(
        "observe", [](const Array& self, std::uint64_t most) { self.any().observe(most); }, "most_bytes"_a);
    array.def("observed", [](const Array& self) { return pair_of(self.any().observed()); });
    array.def(
        "prefetch_observed",
        [](const Array& self, const How& how) {
            return pair_of(self.any().prefetch_observed(prefetch_of(how)));
        },
        "how"_a, Unlocked());
    array.def(
        "prefetch_stencil_async",
        [](const Array& self, const Around& around, const How& how) {
            return Transfer(self.any().prefetch_stencil_async(stencil_of(around), prefetch_of(how)));
        },
        "around"_a, "how"_a, nb::keep_alive<0, 1>());
    array.def("contribute", &Array::contribute, "indices"_a, "values"_a, "kind"_a);
    array.def("accumulate_ghosts", &Array::accumulate_ghosts, "kind"_a, Unlocked());
}

void define_array(nb::class_<Array>& array) {
    array.def(
        "__init__",
        [](Array* self, int kind, std::size_t element_bytes, const Ints& lower, const Ints& upper,
           const std::vector<Rank>& grid, const Ints& block, std::int64_t halo) {
            new (self) Array(kind, {element_bytes, {lower, upper}, grid, block, {halo}});
        },
        "kind"_a, "element_bytes"_a, "lower"_a, "upper"_a, "grid"_a, "block"_a, "halo"_a);
    array.def(
        "with_halo",
        [](nb::handle self, std::int64_t depth, bool periodic, std::size_t halo_bytes) {
            return nb::cast<const Array&>(self).with_halo(self, depth, periodic, halo_bytes);
        },
        "depth"_a, "periodic"_a, "halo_bytes"_a);
    array.def("get", &Array::get, "lower"_a, "upper"_a, "steps"_a, "indices"_a, "to"_a);
    array.def("put", &Array::put, "lower"_a, "upper"_a, "steps"_a, "indices"_a, "values"_a);
    array.def("get_from_owners", &Array::get_from_owners, "lower"_a, "upper"_a, "to"_a);
    array.def("accumulate", &Array::accumulate, "indices"_a, "values"_a, "op"_a, "kind"_a);
    array.def("fetch_add", &Array::fetch_add, "index"_a, "cell"_a, "kind"_a);
    array.def("compare_and_swap", &Array::compare_and_swap, "index"_a, "cells"_a);
    array.def("resize", &Array::resize, "lower"_a, "upper"_a, "grid"_a);
    array.def("local_shape", [](const Array& self, Rank of) { return self.any().local_shape(of); }, "rank"_a);
    array.def(
        "local_indices", [](const Array& self, std::size_t d) { return self.any().local_indices(d); },
        "dimension"_a);
    array.def("grid", [](const Array& self) { return self.any().grid(); });
    array.def(
        "fill",
        [](const Array& self, std::uintptr_t value) {
            self.any().fill(reinterpret_cast<const void*>(value));
        },
        "value"_a, Unlocked());
    array.def(
        "assign",
        [](const Array& self, const Array& from, const std::vector<std::size_t>& axes) {
            self.any().assign(from.any(), axes);
        },
        "source"_a, "axes"_a, Unlocked());
}

void define_tasks(nb::module_& module, nb::class_<Array>& array) {
    nb::class_<AccessTask> task(module, "AccessTask");
    task.def("test", &AccessTask::test);
    task.def("wait", &AccessTask::wait, Unlocked());
    task.def("elements",
             [](nb::handle self) { return view_of(nb::cast<const AccessTask&>(self).elements(), self); });
    array.def("start_get", &Array::start_get, "lower"_a, "upper"_a, "steps"_a, "indices"_a, "elements"_a,
              nb::keep_alive<0, 1>());
    array.def("start_put", &Array::start_put, "lower"_a, "upper"_a, "steps"_a, "indices"_a, "values"_a,
              nb::keep_alive<0, 1>());
}

void define_gather(nb::class_<Gather>& gather) {
    gather.def(nb::init<const Array&, nb::handle>(), "array"_a, "indices"_a, nb::keep_alive<1, 2>());
    gather.def("update", &Gather::update, Unlocked());
    gather.def("elements",
               [](nb::handle self) { return view_of(nb::cast<const Gather&>(self).any().elements(), self); });
    gather.def("positions", [](nb::handle self) {
        return view_of(std::as_bytes(nb::cast<const Gather&>(self).any().positions()), self);
    });
}

}  // namespace

void define_arrays(nb::module_& module) {
    module.def(
        "balanced_grid",
        [](std::size_t dimensions) {
            std::vector<Rank> grid(dimensions);
            detail::balanced_grid(ranks(), grid);
            return grid;
        },
        "dimensions"_a, "Ranks in each dimension, as close to a cube as possible.");
    define_memory(module);
    nb::class_<Transfer> transfer(module, "Transfer");
    transfer.def("test", &Transfer::test);
    transfer.def("wait", &Transfer::wait);
    nb::class_<Array> array(module, "Array");
    define_array(array);
    define_elements(array);
    define_patterns(array);
    define_tasks(module, array);
    nb::class_<Gather> gather(module, "Gather");
    define_gather(gather);
}

}  // namespace nearfetch::python
