// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/thread_limit.hpp"

#include <fstream>

namespace nearfetch {
namespace {

struct Setting {
    const char* name;
    const char* path;
    std::uint64_t of_a_thread;  ///< how much of it each thread takes
};

// The stack and the guard before it are two mappings.
constexpr Setting settings[] = {{"kernel.threads-max", "/sys/kernel/threads-max", 1},
                                {"kernel.pid_max", "/sys/kernel/pid_max", 1},
                                {"vm.max_map_count", "/sys/vm/max_map_count", 2}};

}  // namespace

ThreadLimit thread_limit(const std::string& proc) {
    ThreadLimit least;
    for (const Setting& setting : settings) {
        std::ifstream file(proc + setting.path);
        std::uint64_t number = 0;
        if (file >> number && number / setting.of_a_thread < least.threads)
            least = {number / setting.of_a_thread, setting.name};
    }
    return least;
}

}  // namespace nearfetch
