// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the wrappers that calls.py makes do, if they are the recorder's.

#include "mpi/recorder/recorder.hpp"

namespace nearfetch {

inline void acquire_by(const char* call) noexcept { recorder.acquire(call); }

class AcquireScope {
  public:
    explicit AcquireScope(const char* call) noexcept : call_(call) {}
    ~AcquireScope() { recorder.acquire(call_, begin_ticks_); }
    AcquireScope(const AcquireScope&) = delete;
    AcquireScope& operator=(const AcquireScope&) = delete;

  private:
    const char* call_;
    std::uint64_t begin_ticks_ = ticks();
};

}  // namespace nearfetch
