// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory between Python and the ranks: Python's that is read and written here, and a rank's that Python sees.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <span>

#include "python/rank_state.hpp"

namespace nearfetch::python {

/// The memory of a Python object that has the buffer protocol, for its own life.
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
    /// As elements of another type. \pre they are aligned
    template <class T>
    std::span<T> elements() const noexcept {
        return {static_cast<T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
    }
    /// From so many bytes on others run Python while they are moved.
    template <class Move>
    void move(const Move& move) const {
        if (bytes().size() < large_bytes) return move();
        const nanobind::gil_scoped_release unlocked;
        move();
    }

  private:
    static constexpr std::size_t large_bytes = std::size_t{1} << 18;
    Py_buffer view_{};
};

/// Counts the views of an object's memory, which moves when they are gone.
class Views {
  public:
    long count() const noexcept { return count_.use_count() - 1; }
    /// An object with the buffer protocol, or None for no bytes at all. It keeps their owner, and the memory
    /// where that can be kept.
    nanobind::object of(std::span<const std::byte> bytes, bool writable, RankState& rank,
                        nanobind::handle owner) const;

  private:
    std::shared_ptr<void> count_ = std::make_shared<int>(0);
};

/// The same, not to be written to, of memory that is the owner's own.
nanobind::object view_of(std::span<const std::byte> bytes, nanobind::handle owner);

void define_memory(nanobind::module_& module);

}  // namespace nearfetch::python
