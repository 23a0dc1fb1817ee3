// SPDX-License-Identifier: Apache-2.0
#include "base/node_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

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

/// The sum of the numbers that follow these names in a file, each on a line.
std::uint64_t sum_in(const std::string& path, std::initializer_list<std::string_view> names) {
    std::ifstream file(path);
    std::uint64_t sum = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        std::uint64_t number = 0;
        if (words >> name >> number && std::find(names.begin(), names.end(), name) != names.end())
            sum += number;
    }
    return sum;
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

/// The memory controller's folder of a control group, and the names of its files.
struct MemoryGroup {
    std::string folder;
    bool is_version_2;

    std::uint64_t limit() const {
        return limit_in(folder + (is_version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
    }
    /// What the limit leaves. Cached files do not count, because the system gives them up first.
    std::uint64_t left() const {
        const std::uint64_t most = limit();
        const std::uint64_t used =
            limit_in(folder + (is_version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
        if (most == no_limit || used == no_limit) return no_limit;
        const std::string counts = folder + "/memory.stat";
        const std::uint64_t files = is_version_2
                                        ? sum_in(counts, {"inactive_file", "active_file"})
                                        : sum_in(counts, {"total_inactive_file", "total_active_file"});
        const std::uint64_t kept = used - std::min(used, files);
        return most - std::min(most, kept);
    }
};

/// This process's group that a line names, and those around it. A line is ID:CONTROLLERS:/GROUP
/// (proc_pid_cgroup(5)); version 2 has no controllers.
std::vector<MemoryGroup> groups_of_line(const SystemFiles& files, const std::string& line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') return {};
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !has_name(controllers, "memory")) return {};
    const std::string root = files.cgroup + (is_version_2 ? "" : "/memory");
    std::vector<MemoryGroup> groups{{root, is_version_2}};
    for (std::string group = line.substr(second + 1); group.size() > 1; group.erase(group.rfind('/')))
        groups.push_back({root + group, is_version_2});
    return groups;
}

/// The least that a function says of this process's groups, and of `bytes`.
std::uint64_t least_of_groups(const SystemFiles& files, std::uint64_t bytes,
                              std::uint64_t (MemoryGroup::*says)() const) {
    std::ifstream lines(files.proc + "/self/cgroup");
    for (std::string line; std::getline(lines, line);)
        for (const MemoryGroup& group : groups_of_line(files, line))
            bytes = std::min(bytes, (group.*says)());
    return bytes;
}

/// Whether the process may map so much memory. The mapping is gone afterwards.
bool may_map(std::uint64_t bytes, int protection, int flags) {
    if (bytes == 0) return true;
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) return false;
    void* const mapped = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (mapped == MAP_FAILED) return false;
    munmap(mapped, bytes);
    return true;
}

}  // namespace

std::uint64_t node_memory_bytes(const SystemFiles& files) {
    const auto pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    const std::uint64_t bytes = pages <= 0 || page_bytes <= 0 ? no_limit
                                                              : static_cast<std::uint64_t>(pages) *
                                                                    static_cast<std::uint64_t>(page_bytes);
    return least_of_groups(files, bytes, &MemoryGroup::limit);
}

std::uint64_t available_memory_bytes(const SystemFiles& files) {
    // In kB. Nothing is known where the system does not say it.
    const std::uint64_t available = sum_in(files.proc + "/meminfo", {"MemAvailable:", "SwapFree:"}) * 1024;
    return least_of_groups(files, available == 0 ? no_limit : available, &MemoryGroup::left);
}

std::string why_no_memory(const MemoryWanted& wanted, const SystemFiles& files) {
    const std::uint64_t available = available_memory_bytes(files);
    if (wanted.node_bytes > available)
        return "this node has " + std::to_string(available) + " bytes left, and its ranks need " +
               (wanted.node_bytes == no_limit ? "more than can be addressed"
                                              : std::to_string(wanted.node_bytes));
    if (!may_map(wanted.mapped_bytes, PROT_NONE, MAP_NORESERVE))
        return "this process has no address space for " + std::to_string(wanted.mapped_bytes) +
               " more bytes; ulimit -v limits it";
    if (!may_map(wanted.own_bytes, PROT_READ | PROT_WRITE, 0))
        return "the system grants this process no " + std::to_string(wanted.own_bytes) +
               " bytes more; ulimit -v, ulimit -d or strict overcommit limits it";
    return "";
}

std::uint64_t address_space_bytes() {
    rlimit limit{};
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : no_limit;
}

std::uint64_t share_of_node(std::uint64_t node_bytes, int ranks) {
    const std::uint64_t part = node_bytes / static_cast<std::uint64_t>(std::max(ranks, 1));
    return std::max(std::min(part, address_space_bytes()) / part_for_caches, least_share);
}

}  // namespace nearfetch
