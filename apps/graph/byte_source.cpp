// SPDX-License-Identifier: Apache-2.0
#include "graph/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "graph/graph_error.hpp"

namespace nearfetch::graph {

FileSource::FileSource(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) {
        throw GraphError(
            complaint("cannot be opened", std::strerror(errno), "check the path and its permissions"));
    }
}

std::size_t FileSource::read(char* buffer, std::size_t size) {
    const std::size_t got = std::fread(buffer, 1, size, file_.get());
    if (got == 0 && std::ferror(file_.get()) != 0) {
        throw GraphError(complaint("cannot be read", std::strerror(errno), "give a readable file"));
    }
    return got;
}

bool FileSource::rewind() { return std::fseek(file_.get(), 0, SEEK_SET) == 0; }

std::size_t MemorySource::read(char* buffer, std::size_t size) {
    const std::size_t got = std::min(size, rest_.size());
    if (got != 0) std::memcpy(buffer, rest_.data(), got);
    rest_.remove_prefix(got);
    return got;
}

bool MemorySource::rewind() {
    rest_ = all_;
    return true;
}

}  // namespace nearfetch::graph
