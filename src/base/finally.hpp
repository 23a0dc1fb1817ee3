// SPDX-License-Identifier: Apache-2.0
#pragma once

// What has to be done after a call whether it returns or throws. An error handler of an MPI program may throw
// a C++ exception, and that passes through everything between the library and the program: nothing here
// catches it, because it is none of ours, and all that was noted before the call has to be right after it.

namespace nearfetch {

/// Runs `run()` at the end of its scope.
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

/// The status of a call that has thrown: an error.
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
