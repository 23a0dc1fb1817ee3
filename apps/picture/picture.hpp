// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nearfetch::apps {

/// Grey levels, row by row from the top; 0 is black, 255 white.
struct Picture {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::uint8_t> pixels;

    std::uint8_t& operator()(std::int64_t row, std::int64_t column) {
        return pixels[static_cast<std::size_t>(row * columns + column)];
    }
    std::uint8_t operator()(std::int64_t row, std::int64_t column) const {
        return pixels[static_cast<std::size_t>(row * columns + column)];
    }
};

/// Discs before a bright sky, with noise: the same picture for the same seed on every platform.
Picture drawn_picture(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

/// Reads a binary PGM file (magic number P5) of up to 255 levels, scaled to 0 to 255.
/// \throws Error when it cannot be read or has another format
Picture read_pgm(const std::string& path);
/// \throws Error when it cannot be written
void write_pgm(const Picture& picture, const std::string& path);

}  // namespace nearfetch::apps
