// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contracts. A broken one is a bug in nearfetch, never a user's error. Checked in the presets dev, asan and
// tsan (NF_CHECKS), free in release.

#include <cstdio>
#include <cstdlib>

namespace nearfetch::detail {

[[noreturn]] inline void contract_broken(const char* kind, const char* condition, const char* file,
                                         int line) {
    std::fprintf(stderr, "%s:%d: nearfetch: %s broken: %s\n", file, line, kind, condition);
    std::abort();
}

}  // namespace nearfetch::detail

namespace nearfetch {

/// Ends the program where an invariant of `structure` is broken, in every build: for tests that ask.
inline void require_invariant(bool holds, const char* structure, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "nearfetch: %s: %s\n", structure, what);
    std::abort();
}

}  // namespace nearfetch

#if NF_CHECKS
/// Preconditions: what a caller guarantees.
#define NF_EXPECT(condition) \
    ((condition) ? (void)0   \
                 : ::nearfetch::detail::contract_broken("precondition", #condition, __FILE__, __LINE__))
/// What the code itself guarantees.
#define NF_ENSURE(condition) \
    ((condition) ? (void)0   \
                 : ::nearfetch::detail::contract_broken("guarantee", #condition, __FILE__, __LINE__))
#else
#define NF_EXPECT(condition) ((void)0)
#define NF_ENSURE(condition) ((void)0)
#endif
