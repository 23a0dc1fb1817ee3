// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "base/racy_copy.hpp"

namespace nearfetch {

/// Runs that many instructions of work() in a process of its own, and kills it.
/// \return whether the work was over before
template <class Work>
bool kill_after(std::uint64_t instructions, const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        work();
        raise(SIGSTOP);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const auto stopped_by = [&](int signal) { return WIFSTOPPED(status) && WSTOPSIG(status) == signal; };
    EXPECT_TRUE(stopped_by(SIGSTOP));
    bool is_over = false;
    for (; instructions != 0 && !is_over; --instructions) {
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        waitpid(child, &status, 0);
        is_over = stopped_by(SIGSTOP);
        EXPECT_TRUE(is_over || stopped_by(SIGTRAP));
    }
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    return is_over;
}

/// Whether a process may be run instruction by instruction: some containers forbid it.
inline bool can_trace() {
    const pid_t child = fork();
    if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Sanitizers add instructions.
#if defined(NF_THREAD_SANITIZER)
inline constexpr std::uint64_t instructions_between_kills = 101;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t instructions_between_kills = 11;
#else
inline constexpr std::uint64_t instructions_between_kills = 1;
#endif

}  // namespace nearfetch
