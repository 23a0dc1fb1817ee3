// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nearfetch {

/// Where the system describes itself. Tests have folders of their own.
struct SystemFiles {
    std::string proc = "/proc";
    std::string cgroup = "/sys/fs/cgroup";
};

/// What the processes of this node may use together: its memory, or the least limit of this process's control
/// group and those around it (cgroup v2, memory.max; v1, memory.limit_in_bytes). In bytes.
std::uint64_t node_memory_bytes(const SystemFiles& files = {});

/// The memory for the caches of one of `ranks` processes of a node with so much memory, if nobody says how
/// much: an eighth of its part, and at most an eighth of the address space that it may have.
std::uint64_t share_of_node(std::uint64_t node_bytes, int ranks);

}  // namespace nearfetch
