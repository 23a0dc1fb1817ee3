// SPDX-License-Identifier: Apache-2.0
#pragma once

// A sequence of gets from a file with one `offset size` per line, in bytes (bench/workload.py writes it).

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace nearfetch::bench {

struct SequenceGet {
    std::uint64_t offset;
    std::uint64_t size;
};

inline std::vector<SequenceGet> read_sequence(const std::string& path) {
    std::vector<SequenceGet> gets;
    std::ifstream file(path);
    for (SequenceGet get{}; file >> get.offset >> get.size;)
        gets.push_back(get);
    if (gets.empty() || !file.eof())
        give_up("no gets in '" + path + "' (lines `offset size` are expected): check the file");
    return gets;
}

inline std::uint64_t largest_size(const std::vector<SequenceGet>& gets) {
    std::uint64_t largest = 0;
    for (const SequenceGet& get : gets)
        largest = std::max(largest, get.size);
    return largest;
}

inline std::uint64_t extent_bytes(const std::vector<SequenceGet>& gets) {
    std::uint64_t extent = 0;
    for (const SequenceGet& get : gets)
        extent = std::max(extent, get.offset + get.size);
    return extent;
}

}  // namespace nearfetch::bench
