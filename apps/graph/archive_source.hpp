// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "graph/byte_source.hpp"

struct archive;

namespace nearfetch::graph {

/// One file of a tar or zip archive, or the content of a compressed file (bzip2, xz, zstd), by libarchive.
class ArchiveSource : public ByteSource {
  public:
    /// Opens the member that `choose_member` chooses. An archive's names are listed first, so that it is read
    /// twice. @throws GraphError where `raw` cannot be read twice, or is damaged
    ArchiveSource(std::unique_ptr<ByteSource> raw, const std::string& wanted);
    ~ArchiveSource() override;
    ArchiveSource(const ArchiveSource&) = delete;
    ArchiveSource& operator=(const ArchiveSource&) = delete;

    /// The path of the member; empty for a compressed file.
    const std::string& member() const { return member_; }

    std::size_t read(char* buffer, std::size_t size) override;
    bool rewind() override;

  private:
    struct Free {
        void operator()(archive* opened) const;
    };
    struct Header {
        std::string path;
        bool is_file = false;
    };

    void open();
    bool next_header(Header& header);
    [[noreturn]] void fail();

    std::unique_ptr<ByteSource> raw_;
    std::vector<char> input_;
    std::string member_;
    std::exception_ptr failure_;  ///< what `raw_` threw while libarchive was reading it
    std::unique_ptr<archive, Free> archive_;
};

/// Which of an archive's files is the edge list: the one called `wanted`, by its path or by its last part;
/// without a name the only one, or the one that its collection calls so: KONECT `out.NAME`, SuiteSparse
/// `NAME/NAME.mtx`. @throws GraphError that lists the files where that is not one
std::string choose_member(const std::vector<std::string>& files, const std::string& wanted);

}  // namespace nearfetch::graph
