// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clean-up after a call that may throw. An error handler of an MPI program may throw a C++ exception through
// nearfetch. It is not caught here, but all state noted before the call has to be correct after it.

namespace nearfetch {

/// Calls `run()` at the end of its scope.
template <class Run>
class [[nodiscard]] Finally {
  public:
    explicit Finally(const Run& run) noexcept : run_(run) {}
    ~Finally() { run_(); }
    Finally(const Finally&) = delete;
    Finally& operator=(const Finally&) = delete;

  private:
    const Run& run_;
};

/// Status of a call that has thrown: an error.
inline constexpr int has_thrown = -1;

/// Returns the status of `call()`, after `then(status)`.
template <class Call, class Then>
[[gnu::always_inline]] inline int and_then(const Call& call, const Then& then) {
    int status = has_thrown;
    const auto run = [&] { then(status); };
    const Finally finally(run);
    return status = call();
}

}  // namespace nearfetch
