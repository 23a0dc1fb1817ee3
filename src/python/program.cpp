// SPDX-License-Identifier: Apache-2.0
#include "python/program.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pgas/launch.hpp"
#include "python/interrupt.hpp"
#include "python/processes.hpp"
#include "python/rank_state.hpp"
#include "python/waiting_job.hpp"

namespace nb = nanobind;

namespace nearfetch::python {

namespace {

/// Runs a rank's main, in a thread with the global lock.
void run_main(Job& job, const nb::callable& main) {
    const auto state = std::make_shared<RankState>(job);
    const RankState::Use use(state);
    main();
    // If the memory ends with the program, a view of it would dangle.
    state->require_no_views();
}

/// Runs main() in a rank, in a thread or a process.
void run_rank(Job& inner, const LaunchOptions& options, const nb::callable& main, const nb::callable& site) {
    WaitingJob job(inner);
    pgas::Runtime(job, options, &code_anchor, [&site] { return place_of(site); }).run([&] {
        const nb::gil_scoped_acquire lock;
        run_main(job, main);
    });
}

/// The running ranks, so that they can be interrupted.
class Running {
  public:
    class Entry {
      public:
        Entry(Running& running, Job& job) : running_(running), job_(job) {
            const std::lock_guard lock(running_.mutex_);
            running_.ranks_.push_back({&job_, PyThread_get_thread_ident()});
        }
        ~Entry() {
            const std::lock_guard lock(running_.mutex_);
            std::erase_if(running_.ranks_, [&](const Rank& rank) { return rank.job == &job_; });
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

      private:
        Running& running_;
        Job& job_;
    };

    /// Interrupts all Python threads, and makes one rank fail, which ends all waits. \pre the global lock is
    /// held
    void interrupt() {
        std::vector<Rank> ranks;
        {
            const nb::gil_scoped_release unlocked;
            const std::lock_guard lock(mutex_);
            ranks = ranks_;
            try {
                if (!ranks.empty() && !ranks[0].job->virtual_time())
                    ranks[0].job->start_thread([] { throw Error("the program was interrupted"); });
            } catch (const Error&) {  // no thread available; ranks that run Python end anyway
            }
        }
        for (const Rank& rank : ranks)
            PyThreadState_SetAsyncExc(rank.thread, PyExc_KeyboardInterrupt);
    }

  private:
    struct Rank {
        Job* job;
        unsigned long thread;
    };
    std::mutex mutex_;
    std::vector<Rank> ranks_;
};

/// A program whose ranks are threads. They may outlive an interrupted launch.
struct Threads {
    Threads(const LaunchOptions& with, const nb::callable& run, const nb::callable& where)
        : options(with), main(run), site(where) {}

    LaunchOptions options;
    nb::callable main, site;
    Running running;
    std::promise<void> promise;
};

/// Interval in which launch_threads() checks for interrupts, and how long it then waits for the ranks.
constexpr std::chrono::milliseconds check_interval{50}, end_grace_period{300};

std::string text_of(const nb::python_error& error, const nb::callable& text) {
    const nb::gil_scoped_acquire lock;
    return nb::str(text(error.value())).c_str();
}

}  // namespace

void code_anchor() {}

std::string place_of(const nb::callable& site) {
    const nb::gil_scoped_acquire lock;
    try {
        return nb::str(site()).c_str();
    } catch (const nb::python_error&) {
        return "";
    }
}

void launch_threads(const LaunchOptions& options, const nb::callable& main, const nb::callable& site) {
    const auto threads = std::make_shared<Threads>(options, main, site);
    std::future<void> done = threads->promise.get_future();
    std::thread thread([threads] {
        try {
            launch_inproc(pgas::inproc_config(threads->options), [&](Job& job) {
                const Running::Entry entry(threads->running, job);
                run_rank(job, threads->options, threads->main, threads->site);
            });
            threads->promise.set_value();
        } catch (...) {
            threads->promise.set_exception(std::current_exception());
        }
    });
    std::optional<nb::python_error> interrupt;
    bool abandoned = false;
    {
        const nb::gil_scoped_release unlocked;
        std::chrono::steady_clock::time_point end;
        while (!abandoned && done.wait_for(check_interval) != std::future_status::ready) {
            abandoned = interrupt && std::chrono::steady_clock::now() > end;
            const nb::gil_scoped_acquire lock;
            if (PyErr_CheckSignals() == 0) continue;
            abandoned = interrupt.has_value();  // a second interrupt
            interrupt.emplace();
            threads->running.interrupt();
            end = std::chrono::steady_clock::now() + end_grace_period;
        }
        if (abandoned)
            thread.detach();
        else
            thread.join();
    }
    // A sleeping rank ends later, and needs the state until then.
    if (abandoned) new std::shared_ptr<Threads>(threads);
    if (interrupt) throw nb::python_error(*interrupt);
    done.get();
}

void launch_processes(const LaunchOptions& options, const nb::callable& main, const nb::callable& site,
                      const nb::callable& text, const MpiPlace& place) {
    const nb::gil_scoped_release unlocked;
    const std::unique_ptr<MpiProgram> program = start_processes(place);
    // Before unwinding, which would wait for ranks that never come.
    try {
        Job& job = program->job();
        const InterruptWatch watch("rank " + std::to_string(job.rank()));
        try {
            run_rank(job, options, main, site);
        } catch (const nb::python_error& error) {
            throw std::runtime_error(text_of(error, text));
        }
        program->finish();
    } catch (...) {
        program->fail(std::current_exception());
    }
}

}  // namespace nearfetch::python
