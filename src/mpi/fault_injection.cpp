// SPDX-License-Identifier: Apache-2.0

// Only in the fault-injection build: acquires that can be left out, as if the line of their call were missing
// in calls.txt; and what is counted for tests alone.

#if defined(NEARFETCH_FAULT_INJECTION)

#include <string>
#include <string_view>

#include "mpi/passthrough.hpp"
#include "mpi/wrappers/acquire_scope.hpp"

namespace nearfetch {

namespace {
std::string calls;  // "MPI_Recv MPI_Wait"
unsigned long long passed_through = 0;
}  // namespace

bool left_out(const char* call) noexcept {
    const std::string_view name = call;
    for (std::size_t at = calls.find(name); at != std::string::npos; at = calls.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || calls[at - 1] == ' ') && (end == calls.size() || calls[end] == ' ')) return true;
    }
    return false;
}

void count_passed_through(unsigned long long calls) noexcept { passed_through += calls; }

}  // namespace nearfetch

/// Leaves out the acquires of these calls, names separated by blanks, until the next call.
extern "C" void nearfetch_fault_leave_out(const char* names) { nearfetch::calls = names; }

/// Calls that went straight to the library in passthroughs that have ended.
extern "C" unsigned long long nearfetch_fault_passed_through() { return nearfetch::passed_through; }

#endif
