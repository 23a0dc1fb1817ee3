// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "graph/byte_source.hpp"

namespace nearfetch::graph {

/// The text of a graph file, and what messages call it.
struct Content {
    std::unique_ptr<ByteSource> bytes;
    std::string name;
};

/// `file`, unpacked as often as it is compressed or an archive, as its first bytes say: gzip, bzip2, xz,
/// zstd, tar and zip. The name of an archive's member follows that of the file and a colon.
/// @param member which file of an archive; see choose_member
/// @throws GraphError where the file is of another known kind, such as 7z, HDF5 or XML; or where it is no
/// archive, and `member` is given
Content unpacked(std::unique_ptr<ByteSource> file, const std::string& name, const std::string& member);

}  // namespace nearfetch::graph
