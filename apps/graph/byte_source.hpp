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

    /// Begins again with the first byte. False, and nothing has changed, where that is impossible: in a pipe.
    virtual bool rewind() = 0;
};

/// A file on disk.
class FileSource : public ByteSource {
  public:
    /// @throws GraphError when the file cannot be opened.
    explicit FileSource(const std::string& path);
    std::size_t read(char* buffer, std::size_t size) override;
    bool rewind() override;

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

/// Bytes that are already in memory; they have to outlive the source.
class MemorySource : public ByteSource {
  public:
    explicit MemorySource(std::string_view bytes) : all_(bytes), rest_(bytes) {}
    std::size_t read(char* buffer, std::size_t size) override;
    bool rewind() override;

  private:
    std::string_view all_;
    std::string_view rest_;
};

}  // namespace nearfetch::graph
