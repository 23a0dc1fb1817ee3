// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace nearfetch {

/// While it lives, this process gets no further address space: no segment can be added. Memory that the
/// allocator has stays usable. Not with a sanitizer, whose own memory would end.
class NoMoreMemory {
  public:
    NoMoreMemory() {
        getrlimit(RLIMIT_AS, &before_);
        std::ifstream sizes("/proc/self/statm");
        rlim_t pages = 0;
        sizes >> pages;
        rlimit now = before_;
        now.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
        setrlimit(RLIMIT_AS, &now);
    }
    ~NoMoreMemory() { setrlimit(RLIMIT_AS, &before_); }
    NoMoreMemory(const NoMoreMemory&) = delete;
    NoMoreMemory& operator=(const NoMoreMemory&) = delete;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    static constexpr bool is_possible = false;
#else
    static constexpr bool is_possible = true;
#endif

  private:
    rlimit before_{};
};

}  // namespace nearfetch
