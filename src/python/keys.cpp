// SPDX-License-Identifier: Apache-2.0
#include "python/keys.hpp"

#include <string>
#include <utility>

namespace nb = nanobind;

namespace nearfetch::python {

Keys::Keys(std::vector<std::int64_t> lower, std::vector<std::int64_t> upper)
    : lower_(std::move(lower)), upper_(std::move(upper)) {
    for (const std::int64_t first : lower_)
        from_zero_ = from_zero_ && first == 0;
}

std::int64_t Keys::resolve(std::int64_t i, std::size_t dimension) const {
    const std::int64_t lower = lower_[dimension], upper = upper_[dimension];
    const std::int64_t from_end = from_zero_ && i < 0 ? i + upper : i;
    if (from_end < lower || from_end >= upper)
        throw OutOfBounds(
            "index " + std::to_string(i) + " of dimension " + std::to_string(dimension),
            "the array has " + std::to_string(lower) + " to " + std::to_string(upper - 1) + " there",
            "use one of these");
    return from_end;
}

std::span<const std::int64_t> Keys::index_of(nb::handle key, std::array<std::int64_t, 4>& room) const {
    if (dimensions() == 1 && !PyTuple_Check(key.ptr())) {
        if (!number_of(key, 0, room[0])) return {};
        return {room.data(), 1};
    }
    if (!PyTuple_Check(key.ptr()) || static_cast<std::size_t>(PyTuple_Size(key.ptr())) != dimensions())
        return {};
    for (std::size_t d = 0; d < dimensions(); ++d)
        if (!number_of(PyTuple_GetItem(key.ptr(), static_cast<Py_ssize_t>(d)), d, room[d])) return {};
    return {room.data(), dimensions()};
}

bool Keys::number_of(nb::handle word, std::size_t dimension, std::int64_t& number) const {
    PyObject* const object = word.ptr();
    if (PyLong_CheckExact(object)) {
        number = PyLong_AsLongLong(object);
    } else if (PyIndex_Check(object) != 0 && PySequence_Check(object) == 0 && !PyBool_Check(object)) {
        // Integers of numpy; its arrays are sequences.
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

}  // namespace nearfetch::python
