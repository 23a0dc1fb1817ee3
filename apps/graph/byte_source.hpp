// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace nearfetch::graph {

/// The source of a graph file's bytes.
class ByteSource {
  public:
    virtual ~ByteSource() = default;

    /// Reads up to `size` bytes; 0 only at the end. @throws GraphError on failure, without file name and
    /// line; LineReader adds them
    virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// A file on disk.
class FileSource : public ByteSource {
  public:
    /// @throws GraphError when the file cannot be opened.
    explicit FileSource(const std::string& path);
    std::size_t read(char* buffer, std::size_t size) override;

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

/// Bytes that are already in memory; they have to outlive the source.
class MemorySource : public ByteSource {
  public:
    explicit MemorySource(std::string_view bytes) : rest_(bytes) {}
    std::size_t read(char* buffer, std::size_t size) override;

  private:
    std::string_view rest_;
};

/// `raw`, or its decompressed content if it begins with gzip's magic bytes, whatever its name.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> raw);

}  // namespace nearfetch::graph
