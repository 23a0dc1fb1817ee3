// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace nearfetch::graph {

/// Where the bytes of a graph file come from.
class ByteSource {
  public:
    virtual ~ByteSource() = default;

    /// Reads up to `size` bytes; 0 only at the end.
    /// @throws GraphError without a file name or line (LineReader adds them) when the bytes cannot be had.
    virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// A file on disk, as it is.
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

/// `raw` itself, or its decompressed content when it begins with gzip's magic bytes (whatever the file is
/// called).
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> raw);

}  // namespace nearfetch::graph
