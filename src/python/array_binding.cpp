// SPDX-License-Identifier: Apache-2.0
#include "python/array_binding.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <nearfetch/pgas.hpp>
#include <string>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

/// From so many bytes on others may run Python while they are moved.
constexpr std::size_t large_bytes = std::size_t{1} << 18;

/// The memory of a Python object that has the buffer protocol, for its own life.
class Buffer {
  public:
    Buffer(nb::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
            throw nb::python_error();
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::span<std::byte> bytes() const noexcept {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_{};
};

using Ints = std::vector<std::int64_t>;

class Array {
  public:
    Array(int dealt, const Plan& plan)
        : array_(make(dealt, plan)),
          dimensions_(plan.lower.size()),
          element_bytes_(plan.element_bytes),
          lower_(plan.lower),
          upper_(plan.upper) {
        for (const std::int64_t lower : lower_)
            from_zero_ = from_zero_ && lower == 0;
    }

    AnyArray& any() const { return *array_; }
    Held<AnyArray>& held() { return array_; }

    /// Where single elements come and go; the Python side keeps it.
    void set_cell(std::uintptr_t cell) { cell_ = reinterpret_cast<void*>(cell); }

    /// Reads the element that `key` names into the cell. \return false: the key names something else
    bool read(nb::handle key) const {
        std::array<std::int64_t, 4> index;
        if (!index_of(key, index)) return false;
        array_->read({index.data(), dimensions_}, cell_);
        return true;
    }
    bool write(nb::handle key) const {
        std::array<std::int64_t, 4> index;
        if (!index_of(key, index)) return false;
        array_->write({index.data(), dimensions_}, cell_);
        return true;
    }
    /// The number that an index of a dimension stands for. \throws OutOfBounds
    std::int64_t resolve(std::int64_t i, std::size_t dimension) const {
        const std::int64_t lower = lower_[dimension], upper = upper_[dimension];
        const std::int64_t from_end = from_zero_ && i < 0 ? i + upper : i;
        if (from_end < lower || from_end >= upper)
            throw OutOfBounds(
                "index " + std::to_string(i) + " of dimension " + std::to_string(dimension),
                "the array has " + std::to_string(lower) + " to " + std::to_string(upper - 1) + " there",
                "use one of these");
        return from_end;
    }

    void get(const AnyBox& box, nb::handle to) const {
        check(box);
        const Buffer buffer(to, true);
        move(buffer, [&] { array_->get(box, buffer.bytes()); });
    }
    void put(const AnyBox& box, nb::handle from) const {
        check(box);
        const Buffer buffer(from, false);
        move(buffer, [&] { array_->put(box, buffer.bytes()); });
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
            for (std::size_t d = dimensions_; d-- > 0;) {
                i[d] += steps[d];
                if (i[d] < box.upper[d] || d == 0) break;
                i[d] = box.lower[d];
            }
        }
    }

    nb::object local() const {
        AnyArray& array = *array_;
        const std::span<std::byte> bytes = array.local();
        if (bytes.empty()) return nb::none();
        auto hold = std::make_unique<std::shared_ptr<void>>(array_.rank().view());
        nb::capsule owner(hold.get(),
                          [](void* held) noexcept { delete static_cast<std::shared_ptr<void>*>(held); });
        hold.release();
        return view_of(bytes, owner);
    }

  private:
    static Held<AnyArray> make(int dealt, const Plan& plan) {
        std::unique_ptr<AnyArray> array;
        {
            const nb::gil_scoped_release unlocked;
            array = make_any_array(static_cast<Dealt>(dealt), plan);
        }
        return Held<AnyArray>(std::move(array));
    }
    bool index_of(nb::handle key, std::array<std::int64_t, 4>& index) const {
        if (dimensions_ == 1 && !PyTuple_Check(key.ptr())) return number_of(key, 0, index[0]);
        if (!PyTuple_Check(key.ptr()) || static_cast<std::size_t>(PyTuple_GET_SIZE(key.ptr())) != dimensions_)
            return false;
        for (std::size_t d = 0; d < dimensions_; ++d)
            if (!number_of(PyTuple_GET_ITEM(key.ptr(), static_cast<Py_ssize_t>(d)), d, index[d]))
                return false;
        return true;
    }
    bool number_of(nb::handle word, std::size_t dimension, std::int64_t& number) const {
        PyObject* const object = word.ptr();
        if (PyLong_CheckExact(object)) {
            number = PyLong_AsLongLong(object);
        } else if (PyIndex_Check(object) != 0 && PySequence_Check(object) == 0 && !PyBool_Check(object)) {
            // numpy's integers; its arrays are sequences.
            const nb::object whole = nb::steal(PyNumber_Index(object));
            if (!whole.is_valid()) throw nb::python_error();
            number = PyLong_AsLongLong(whole.ptr());
        } else {
            return false;
        }
        if (number == -1 && PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            number = INT64_MIN;
        }
        number = resolve(number, dimension);
        return true;
    }
    void check(const AnyBox& box) const {
        if (box.lower.size() != dimensions_ || box.upper.size() != dimensions_)
            throw Error("a box of " + std::to_string(box.lower.size()) + " dimensions",
                        "the array has " + std::to_string(dimensions_), "use as many");
    }
    template <class Move>
    static void move(const Buffer& buffer, const Move& move) {
        if (buffer.bytes().size() < large_bytes) return move();
        const nb::gil_scoped_release unlocked;
        move();
    }
    static nb::object view_of(std::span<std::byte> bytes, nb::handle owner);

    Held<AnyArray> array_;
    void* cell_ = nullptr;
    std::size_t dimensions_;
    std::size_t element_bytes_;
    Ints lower_, upper_;
    bool from_zero_ = true;
};

/// Bytes that Python may read and write while it holds the owner.
struct Bytes {
    std::span<std::byte> bytes;
    nb::object owner;
};

int bytes_get_buffer(PyObject* self, Py_buffer* view, int flags) {
    const Bytes& bytes = *nb::inst_ptr<Bytes>(self);
    return PyBuffer_FillInfo(view, self, bytes.bytes.data(), static_cast<Py_ssize_t>(bytes.bytes.size()), 0,
                             flags);
}

PyType_Slot bytes_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&bytes_get_buffer)}, {0, nullptr}};

nb::object Array::view_of(std::span<std::byte> bytes, nb::handle owner) {
    return nb::cast(Bytes{bytes, nb::borrow(owner)});
}

class HeldTransfer final : public Owned {
  public:
    explicit HeldTransfer(PrefetchTransfer transfer) : transfer_(std::move(transfer)) {}
    PrefetchTransfer& transfer() noexcept { return transfer_; }

  private:
    PrefetchTransfer transfer_;
};

class Transfer {
  public:
    explicit Transfer(PrefetchTransfer transfer)
        : held_(std::make_unique<HeldTransfer>(std::move(transfer))) {}
    bool test() const { return held_->transfer().test(); }
    void wait() const { held_->transfer().wait(); }

  private:
    Held<HeldTransfer> held_;
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
    array.def("resolve", &Array::resolve, "index"_a, "dimension"_a);
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
    array.def("local", &Array::local);
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
    nb::class_<Bytes>(module, "Bytes", nb::type_slots(bytes_slots));
    nb::class_<Transfer> transfer(module, "Transfer");
    transfer.def("test", &Transfer::test);
    transfer.def("wait", &Transfer::wait);
    nb::class_<Array> array(module, "Array");
    define_array(array);
    define_patterns(array);
}

}  // namespace nearfetch::python
