// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/last_words.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string_view>

namespace nearfetch {

namespace {

struct Words {
    std::string draft;
    std::string path;
    std::string rest;  ///< of the document, behind the reason of the end
    pid_t process = 0;
};

struct Caught {
    int signal;
    std::string_view head;  ///< of the file
    struct sigaction before;
};

#define NEARFETCH_CAUGHT(signal)                    \
    Caught {                                        \
        signal, "{\n  \"end\": \"" #signal "\"", {} \
    }
Caught caught[] = {NEARFETCH_CAUGHT(SIGTERM), NEARFETCH_CAUGHT(SIGINT),  NEARFETCH_CAUGHT(SIGHUP),
                   NEARFETCH_CAUGHT(SIGQUIT), NEARFETCH_CAUGHT(SIGSEGV), NEARFETCH_CAUGHT(SIGBUS),
                   NEARFETCH_CAUGHT(SIGFPE),  NEARFETCH_CAUGHT(SIGILL),  NEARFETCH_CAUGHT(SIGABRT),
                   NEARFETCH_CAUGHT(SIGXCPU)};
#undef NEARFETCH_CAUGHT

/// What is prepared next does not disturb a handler that writes what was prepared before.
std::array<Words, 2> prepared;
std::size_t next_prepared = 0;
std::atomic<const Words*> last_words{nullptr};

bool write_all(int file, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

void write_words(const Words& words, std::string_view head) noexcept {
    const int file = open(words.draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return;
    const bool whole = write_all(file, head) && write_all(file, words.rest);
    const bool kept = close(file) == 0 && whole && rename(words.draft.c_str(), words.path.c_str()) == 0;
    if (!kept) unlink(words.draft.c_str());
}

/// As if this handler had not been there.
void hand_on(Caught& by, siginfo_t* info, void* context) noexcept {
    if ((by.before.sa_flags & SA_SIGINFO) != 0) return by.before.sa_sigaction(by.signal, info, context);
    if (by.before.sa_handler != SIG_DFL) return by.before.sa_handler(by.signal);
    // The signal is blocked now, and arrives when this handler has returned.
    sigaction(by.signal, &by.before, nullptr);
    raise(by.signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    for (Caught& by : caught) {
        if (by.signal != signal) continue;
        const Words* const words = last_words.exchange(nullptr);
        if (words != nullptr && words->process == getpid()) write_words(*words, by.head);
        errno = error;
        return hand_on(by, info, context);
    }
}

void install_handlers() noexcept {
    for (Caught& by : caught) {
        if (sigaction(by.signal, nullptr, &by.before) != 0) continue;
        const bool is_ignored = (by.before.sa_flags & SA_SIGINFO) == 0 && by.before.sa_handler == SIG_IGN;
        if (is_ignored) continue;
        struct sigaction ours = by.before;
        ours.sa_sigaction = on_signal;
        const auto flags = static_cast<unsigned>(by.before.sa_flags) & ~unsigned{SA_RESETHAND};
        ours.sa_flags = static_cast<int>(flags) | SA_SIGINFO | SA_ONSTACK;
        sigaction(by.signal, &ours, nullptr);
    }
}

}  // namespace

std::string with_end(const std::string& end, const std::string& document) {
    return "{\n  \"end\": \"" + end + "\"," + document.substr(1);
}

void prepare_last_words(const StatsOwner& owner, const std::string& document) {
    static const bool installed = (install_handlers(), true);
    static_cast<void>(installed);
    Words& words = prepared[next_prepared];
    const StatsPaths paths = stats_paths(owner);
    words = {paths.draft, paths.final, "," + document.substr(1), getpid()};
    last_words.store(&words);
    next_prepared = 1 - next_prepared;
}

void forget_last_words() noexcept { last_words.store(nullptr); }

}  // namespace nearfetch
