// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a wrapper does after a call that may synchronise with another process that has written. Which
// calls these are stands in calls.txt.

#include "mpi/interposer.hpp"

namespace nearfetch {

#if defined(NEARFETCH_FAULT_INJECTION)
/// In the fault-injection build, for the litmus tests, a test may leave out the acquires of single calls
/// (nearfetch_fault_leave_out), to show that its programs notice.
bool left_out(const char* call) noexcept;
#else
constexpr bool left_out(const char*) noexcept { return false; }
#endif

/// \param call its name in C, "MPI_Recv"
inline void acquire_by(const char* call) noexcept {
    interposer.note_time();
    if (!left_out(call)) interposer.process.acquires.acquire(call);
    if (interposer.process.lease_writers != 0) [[unlikely]]
        interposer.end_lease_writing();
}
/// The same for MPI_Win_lock and MPI_Win_lock_all.
inline void acquire_by_lock(const char* call) noexcept {
    if (!left_out(call)) interposer.process.acquires.acquire_by_lock(call);
}

/// The same at the end of a scope, also where an error handler of the program throws: a call that fails may
/// have synchronised.
class AcquireScope {
  public:
    explicit AcquireScope(const char* call, bool is_lock = false) noexcept : call_(call), is_lock_(is_lock) {}
    ~AcquireScope() { is_lock_ ? acquire_by_lock(call_) : acquire_by(call_); }
    AcquireScope(const AcquireScope&) = delete;
    AcquireScope& operator=(const AcquireScope&) = delete;

  private:
    const char* call_;
    bool is_lock_;
};

}  // namespace nearfetch
