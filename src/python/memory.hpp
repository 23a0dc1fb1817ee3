// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory shared between Python and the ranks: buffers of Python objects, and views of a rank's memory.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <span>

#include "python/rank_state.hpp"

namespace nearfetch::python {

/// Calls move(), which moves so many bytes; large ones without the interpreter's lock.
template <class Move>
void move_bytes(std::size_t bytes, const Move& move) {
    constexpr std::size_t large_bytes = std::size_t{1} << 18;
    if (bytes < large_bytes) return move();
    const nanobind::gil_scoped_release unlocked;
    move();
}

/// The memory of a Python object with the buffer protocol, for this object's life.
class Buffer {
  public:
    Buffer(nanobind::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
            throw nanobind::python_error();
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::span<std::byte> bytes() const noexcept {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }
    /// As elements of another type. \pre aligned
    template <class T>
    std::span<T> elements() const noexcept {
        return {static_cast<T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
    }
    template <class Move>
    void move(const Move& move) const {
        move_bytes(bytes().size(), move);
    }

  private:
    Py_buffer view_{};
};

/// Counts the views of an object's memory. The memory may move when there are none.
class Views {
  public:
    long count() const noexcept { return count_.use_count() - 1; }
    /// A Python object with the buffer protocol, or None for no bytes. It keeps the owner alive, and the
    /// memory if possible.
    nanobind::object of(std::span<const std::byte> bytes, bool writable, RankState& rank,
                        nanobind::handle owner) const;

  private:
    std::shared_ptr<void> count_ = std::make_shared<int>(0);
};

/// The same, read-only, for memory that belongs to the owner.
nanobind::object view_of(std::span<const std::byte> bytes, nanobind::handle owner);

void define_memory(nanobind::module_& module);

}  // namespace nearfetch::python
