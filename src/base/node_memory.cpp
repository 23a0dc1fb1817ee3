// SPDX-License-Identifier: Apache-2.0
#include "base/node_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>

namespace nearfetch {

namespace {

constexpr std::uint64_t part_for_caches = 8;
constexpr std::uint64_t least_share = 1 << 20;
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// The number that a file begins with; no limit if there is none, as for "max".
std::uint64_t limit_in(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    std::uint64_t bytes = 0;
    if (!(file >> text)) return no_limit;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    return failed == std::errc{} ? bytes : no_limit;
}

/// The least limit of a group and of those that it is in.
std::uint64_t least_limit(const std::string& root, std::string group, const std::string& file) {
    std::uint64_t least = limit_in(root + file);
    while (group.size() > 1) {
        least = std::min(least, limit_in((root + group).append(file)));
        group.erase(group.rfind('/'));
    }
    return least;
}

/// Whether `name` is among names that are separated by commas.
bool has_name(std::string_view names, std::string_view name) {
    for (std::size_t begin = 0; begin <= names.size();) {
        const std::size_t end = std::min(names.find(',', begin), names.size());
        if (names.substr(begin, end - begin) == name) return true;
        begin = end + 1;
    }
    return false;
}

/// A line is ID:CONTROLLERS:/GROUP (proc_pid_cgroup(5)); version 2 has no controllers.
std::uint64_t limit_of_line(const SystemFiles& files, const std::string& line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') return no_limit;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    if (controllers.empty()) return least_limit(files.cgroup, group, "/memory.max");
    return has_name(controllers, "memory")
               ? least_limit(files.cgroup + "/memory", group, "/memory.limit_in_bytes")
               : no_limit;
}

}  // namespace

std::uint64_t node_memory_bytes(const SystemFiles& files) {
    const auto pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    std::uint64_t bytes = pages <= 0 || page_bytes <= 0
                              ? no_limit
                              : static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
    std::ifstream groups(files.proc + "/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        bytes = std::min(bytes, limit_of_line(files, line));
    return bytes;
}

std::uint64_t share_of_node(std::uint64_t node_bytes, int ranks) {
    std::uint64_t bytes = node_bytes / static_cast<std::uint64_t>(std::max(ranks, 1));
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
    return std::max(bytes / part_for_caches, least_share);
}

}  // namespace nearfetch
