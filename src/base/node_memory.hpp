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

/// What of that is not in use: free memory, caches that the system gives up, and swap; or what the control
/// groups leave, if that is less. In bytes.
std::uint64_t available_memory_bytes(const SystemFiles& files = {});

/// What this process may map (ulimit -v); without a limit the largest number.
std::uint64_t address_space_bytes();

struct MemoryWanted {
    std::uint64_t own_bytes = 0;     ///< by this process
    std::uint64_t mapped_bytes = 0;  ///< of address space in this process, with what others share
    std::uint64_t node_bytes = 0;    ///< by all processes of this node together
};
/// Why there is no more memory of that size; empty if there probably is. It takes none.
std::string why_no_memory(const MemoryWanted& wanted, const SystemFiles& files = {});

/// The memory for the caches of one of `ranks` processes of a node with so much memory, if nobody says how
/// much: an eighth of its part, and at most an eighth of the address space that it may have.
std::uint64_t share_of_node(std::uint64_t node_bytes, int ranks);

}  // namespace nearfetch
