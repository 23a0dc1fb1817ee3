// SPDX-License-Identifier: Apache-2.0
#include "python/memory.hpp"

namespace nb = nanobind;

namespace nearfetch::python {

namespace {

/// Bytes that Python may read, and perhaps write, while the object lives.
struct Bytes {
    std::span<const std::byte> bytes;
    bool writable;
    std::shared_ptr<void> memory;
    std::shared_ptr<void> count;
    nb::object owner;
};

int bytes_get_buffer(PyObject* self, Py_buffer* view, int flags) {
    const Bytes& bytes = *nb::inst_ptr<Bytes>(self);
    return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(bytes.bytes.data()),
                             static_cast<Py_ssize_t>(bytes.bytes.size()), bytes.writable ? 0 : 1, flags);
}

PyType_Slot bytes_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&bytes_get_buffer)}, {0, nullptr}};

}  // namespace

nb::object Views::of(std::span<const std::byte> bytes, bool writable, RankState& rank,
                     nb::handle owner) const {
    if (bytes.empty()) return nb::none();
    return nb::cast(Bytes{bytes, writable, rank.view(bytes.data()), count_, nb::borrow(owner)});
}

nb::object view_of(std::span<const std::byte> bytes, nb::handle owner) {
    if (bytes.empty()) return nb::none();
    return nb::cast(Bytes{bytes, false, nullptr, nullptr, nb::borrow(owner)});
}

void define_memory(nb::module_& module) { nb::class_<Bytes>(module, "Bytes", nb::type_slots(bytes_slots)); }

}  // namespace nearfetch::python
