// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ctrl-C in a process that is a rank of an MPI job. Python's own handler only sets a flag until the main
// thread returns to Python. From a barrier, or a get whose target does not answer, it never returns.

#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

namespace nearfetch::python {

/// While it lives, an interrupt that Python does not handle soon ends the process, and then the launcher ends
/// the job. Inactive if Python does not handle SIGINT. One at a time.
class InterruptWatch {
  public:
    explicit InterruptWatch(std::string who);
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

  private:
    static void handle(int number, siginfo_t* info, void* context);
    void watch();

    std::string who_;
    bool handled_ = false;
    struct sigaction before_ = {};
    sem_t interrupted_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

/// The main thread's Python has handled all interrupts so far.
void notice_interrupt();
/// Prints the text and exits with the status of an interrupt.
[[noreturn]] void end_interrupted(const std::string& text);

}  // namespace nearfetch::python
