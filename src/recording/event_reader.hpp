// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recording/event.hpp"

namespace nearfetch {

/// The events of a file. They are read one after the other, and may be read again from the beginning.
class EventReader {
  public:
    /// \throws Error if it cannot be read, or is of another format
    explicit EventReader(const std::string& path);

    /// \return false at the end
    bool next(Event& event);
    void rewind() noexcept;
    /// Whether the process came to its end.
    bool is_whole() const noexcept { return is_whole_; }

  private:
    bool take(std::uint64_t& number) noexcept;

    std::vector<unsigned char> bytes_;
    std::size_t begin_ = 0;
    std::size_t at_ = 0;
    std::uint64_t next_offset_ = 0;
    bool is_whole_ = false;
};

}  // namespace nearfetch
