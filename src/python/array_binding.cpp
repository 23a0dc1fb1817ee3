// SPDX-License-Identifier: Apache-2.0
#include "python/array_binding.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "python/any_array.hpp"
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
        const Plan plan{element_bytes_, box(lower, upper), grid, {}};
        {
            const nb::gil_scoped_release unlocked;
            any().resize(plan);
        }
        change(Keys(lower, upper));
    }
    void contribute(nb::handle indices, nb::handle values, char kind) const {
        const Buffer from(indices, false), buffer(values, false);
        any().contribute(from.elements<const std::int64_t>(), buffer.bytes(), adding(kind, element_bytes_));
    }
    void accumulate_ghosts(char kind) const { any().accumulate_ghosts(adding(kind, element_bytes_)); }
    void get(const Ints& lower, const Ints& upper, nb::handle to) const {
        const AnyBox wanted = box(lower, upper);
        const Buffer buffer(to, true);
        const AnyArray& array = any();
        buffer.move([&] { array.get(wanted, buffer.bytes()); });
    }
    void get_from_owners(const Ints& lower, const Ints& upper, nb::handle to) const {
        const AnyBox wanted = box(lower, upper);
        const Buffer buffer(to, true);
        const AnyArray& array = any();
        buffer.move([&] { array.get_from_owners(wanted, buffer.bytes()); });
    }
    void put(const Ints& lower, const Ints& upper, nb::handle values) const {
        const AnyBox given = box(lower, upper);
        const Buffer buffer(values, false);
        AnyArray& array = any();
        buffer.move([&] { array.put(given, buffer.bytes()); });
    }
    /// Writes the elements of a strided box one by one.
    void put_steps(const Ints& lower, const Ints& upper, const Ints& steps, nb::handle values) const {
        const AnyBox given = box(lower, upper);
        const Buffer buffer(values, false);
        const std::byte* element = buffer.bytes().data();
        Ints i = given.lower;
        AnyArray& array = any();
        for (std::size_t left = buffer.bytes().size() / element_bytes_; left > 0; --left) {
            array.write(i, element);
            element += element_bytes_;
            for (std::size_t d = i.size(); d-- > 0;) {
                i[d] += steps[d];
                if (i[d] < given.upper[d] || d == 0) break;
                i[d] = given.lower[d];
            }
        }
    }

    /// \param self this object's Python handle
    nb::object local(nb::handle self) const { return view(any().local(), true, self); }

  private:
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

std::pair<std::uint64_t, std::uint64_t> pair_of(const Observation& seen) {
    return {seen.elements, seen.left_out};
}

void define_patterns(nb::class_<Array>& array) {
    array.def(
        "prefetch",
        [](const Array& self, int pattern, std::int64_t depth, bool corners, const How& how) {
            self.any().prefetch(static_cast<Pattern>(pattern), depth, corners, prefetch_of(how));
        },
        "pattern"_a, "depth"_a, "corners"_a, "how"_a, Unlocked());
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
        [](const Array& self, std::int64_t depth, bool corners, const How& how) {
            return Transfer(self.any().prefetch_stencil_async(depth, corners, prefetch_of(how)));
        },
        "depth"_a, "corners"_a, "how"_a, nb::keep_alive<0, 1>());
    array.def("contribute", &Array::contribute, "indices"_a, "values"_a, "kind"_a);
    array.def("accumulate_ghosts", &Array::accumulate_ghosts, "kind"_a, Unlocked());
}

void define_array(nb::class_<Array>& array) {
    array.def(
        "__init__",
        [](Array* self, int kind, std::size_t element_bytes, const Ints& lower, const Ints& upper,
           const std::vector<Rank>& grid,
           const Ints& block) { new (self) Array(kind, {element_bytes, {lower, upper}, grid, block}); },
        "kind"_a, "element_bytes"_a, "lower"_a, "upper"_a, "grid"_a, "block"_a);
    array.def("get", &Array::get, "lower"_a, "upper"_a, "to"_a);
    array.def("get_from_owners", &Array::get_from_owners, "lower"_a, "upper"_a, "to"_a);
    array.def("put", &Array::put, "lower"_a, "upper"_a, "values"_a);
    array.def("put_steps", &Array::put_steps, "lower"_a, "upper"_a, "steps"_a, "values"_a);
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
        "assign", [](const Array& self, const Array& from) { self.any().assign(from.any()); }, "source"_a,
        Unlocked());
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
    nb::class_<Gather> gather(module, "Gather");
    define_gather(gather);
}

}  // namespace nearfetch::python
