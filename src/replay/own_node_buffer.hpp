// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "cache/node_buffer/node_buffer.hpp"

namespace nearfetch {

/// A node buffer in memory of this process, which its children share: where there is no MPI.
class OwnNodeBuffer {
  public:
    /// \throws std::bad_alloc if there is no memory, or no locks that are shared and robust
    explicit OwnNodeBuffer(std::uint64_t record_bytes)
        : bytes_(NodeBuffer::memory_bytes(record_bytes)),
          data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (data_ == MAP_FAILED) throw std::bad_alloc();
        if (NodeBuffer::create({data(), bytes_}, record_bytes)) return;
        munmap(data_, bytes_);
        throw std::bad_alloc();
    }
    ~OwnNodeBuffer() { munmap(data_, bytes_); }
    OwnNodeBuffer(const OwnNodeBuffer&) = delete;
    OwnNodeBuffer& operator=(const OwnNodeBuffer&) = delete;

    NodeBuffer buffer() const noexcept { return NodeBuffer(data()); }
    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

    std::uint64_t bytes_;
    void* data_;
};

}  // namespace nearfetch
