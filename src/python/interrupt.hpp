// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ctrl-C in a process that is a rank of an MPI job. Python's own handler only notes it, for when the main
// thread comes back to Python: from a barrier, or a get whose target does not answer, that is never.

#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

namespace nearfetch::python {

/// While it lives, an interrupt that the main thread's Python does not notice soon ends the process; the
/// launcher then ends the job. Nothing where Python does not handle SIGINT. One at a time.
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

/// The main thread's Python has noticed all interrupts so far.
void notice_interrupt();
/// Prints it and ends the process with the exit code of an interrupt.
[[noreturn]] void end_interrupted(const std::string& text);

}  // namespace nearfetch::python
