// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/byte_source.hpp"

namespace nearfetch::graph {

/// Splits a source into lines and keeps the position for messages.
class LineReader {
  public:
    /// @param name the file's name in messages
    LineReader(std::unique_ptr<ByteSource> source, std::string name);

    /// The next line without its end (LF or CR LF), or false at the end. `line` is valid until the next call.
    /// Skips a byte order mark at the start. @throws GraphError when the source fails or a line is longer
    /// than 64 KiB
    bool next(std::string_view& line);

    /// Number of the line returned last; lines count from 1.
    std::uint64_t line_number() const { return line_number_; }

    /// Throws GraphError `NAME:LINE: problem (why): what to do` for the current line.
    [[noreturn]] void fail(std::string_view problem, std::string_view why, std::string_view remedy) const;

  private:
    bool refill();

    std::unique_ptr<ByteSource> source_;
    std::string name_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t line_number_ = 0;
    std::string line_;
};

}  // namespace nearfetch::graph
