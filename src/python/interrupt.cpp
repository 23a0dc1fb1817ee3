// SPDX-License-Identifier: Apache-2.0
#include "python/interrupt.hpp"

#include <Python.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace nearfetch::python {

namespace {

/// Python checks for signals between any two steps of a program.
constexpr std::chrono::milliseconds grace_period{400};

/// Of the living watch, for the handler.
std::atomic<const struct sigaction*> python_action = nullptr;
std::atomic<sem_t*> told = nullptr;

std::atomic<unsigned> interrupts = 0, noticed = 0;

int notice(void*) {
    notice_interrupt();
    return 0;
}

}  // namespace

void notice_interrupt() { noticed = interrupts.load(); }

InterruptWatch::InterruptWatch(std::string who) : who_(std::move(who)) {
    sem_init(&interrupted_, 0, 0);
    sigaction(SIGINT, nullptr, &before_);
    const bool informed = (before_.sa_flags & SA_SIGINFO) != 0;
    if (!informed && (before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN)) return;
    python_action = &before_;
    told = &interrupted_;
    thread_ = std::thread([this] { watch(); });
    struct sigaction ours = before_;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_sigaction = &handle;
    handled_ = sigaction(SIGINT, &ours, nullptr) == 0;
}

InterruptWatch::~InterruptWatch() {
    struct sigaction now = {};
    sigaction(SIGINT, nullptr, &now);
    // The program may have installed another handler.
    if (handled_ && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &handle)
        sigaction(SIGINT, &before_, nullptr);
    over_ = true;
    sem_post(&interrupted_);
    if (thread_.joinable()) thread_.join();
    told = nullptr;
    sem_destroy(&interrupted_);
}

void InterruptWatch::handle(int number, siginfo_t* info, void* context) {
    const struct sigaction* const action = python_action;
    ++interrupts;
    if ((action->sa_flags & SA_SIGINFO) != 0)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
    if (sem_t* const one = told) sem_post(one);
}

void InterruptWatch::watch() {
    while (true) {
        while (sem_wait(&interrupted_) != 0) {
        }
        if (over_) return;
        // When the program runs in another thread, the Python handler in the main thread notices it.
        Py_AddPendingCall(&notice, nullptr);
        const auto end = std::chrono::steady_clock::now() + grace_period;
        while (noticed != interrupts && !over_ && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (over_) return;
        if (noticed != interrupts) end_interrupted(who_ + ": interrupted");
    }
}

void end_interrupted(const std::string& text) {
    std::fflush(stdout);
    std::fprintf(stderr, "nearfetch: %s\n", text.c_str());
    std::fflush(stderr);
    // Launchers drop output that they have not forwarded when the job ends.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::_Exit(128 + SIGINT);
}

}  // namespace nearfetch::python
