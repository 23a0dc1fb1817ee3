// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "recording/event.hpp"

namespace nearfetch {

/// Writes events into a file (event_format.hpp).
class EventWriter {
  public:
    /// \param path of the file, which must not exist \throws Error if it cannot be made
    explicit EventWriter(const std::string& path);
    ~EventWriter() { close(); }
    EventWriter(const EventWriter&) = delete;
    EventWriter& operator=(const EventWriter&) = delete;

    /// What cannot be written, as the disk is full, is lost, and what follows, too.
    void write(const Event& event) noexcept;
    std::uint64_t bytes() const noexcept { return bytes_; }
    void flush() noexcept;
    void close() noexcept;

  private:
    void put(std::uint64_t number) noexcept;
    void reserve(std::size_t bytes) noexcept;

    int file_ = -1;
    pid_t owner_ = 0;  ///< whose file it is
    std::uint64_t bytes_ = 0;
    std::uint64_t next_offset_ = 0;
    std::size_t used_ = 0;
    std::array<unsigned char, 1 << 16> buffer_;
};

}  // namespace nearfetch
