// SPDX-License-Identifier: Apache-2.0
#pragma once

// A job's threads, on a pool of threads of the operating system. A thread whose work has ended is idle and
// takes the next. There are as many as ever worked at the same time, so work may wait for other work.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "transport/job.hpp"

namespace nearfetch {

class ThreadPool {
  public:
    struct Work {
        std::function<void()> body;  ///< does not throw
        std::function<void()> done;  ///< called when the thread is idle again
    };

    ThreadPool() = default;
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    /// Waits for all work.
    ~ThreadPool() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_)
            thread.join();
    }

    /// Begins the work at once. \throws Error when a thread is needed and cannot be created
    void run(Work work) {
        const std::lock_guard lock(mutex_);
        if (idle_ == waiting_.size()) add_thread();
        waiting_.push_back(std::move(work));
        wake_.notify_one();
    }
    std::uint64_t threads_made() const {
        const std::lock_guard lock(mutex_);
        return threads_.size();
    }

  private:
    void add_thread() {
        try {
            threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error& error) {
            throw Error("a thread cannot be started", error.what(), "start fewer threads");
        }
        ++idle_;
    }
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return over_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            Work work = std::move(waiting_.front());
            waiting_.pop_front();
            --idle_;
            lock.unlock();
            work.body();
            work.body = nullptr;  // what it holds ends with it
            lock.lock();
            ++idle_;
            lock.unlock();
            work.done();
            work.done = nullptr;
            lock.lock();
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Work> waiting_;  ///< for an idle thread each
    std::size_t idle_ = 0;
    bool over_ = false;
    std::vector<std::thread> threads_;
};

/// A job's thread. The destructor waits for it.
class JobThread final : public Job::Thread {
  public:
    using Lost = std::function<void(std::exception_ptr)>;

    /// \param lost receives an exception of `body` that nobody joined for
    /// \throws Error when no thread can be created
    JobThread(ThreadPool& pool, std::function<void()> body, Lost lost)
        : lost_(std::move(lost)), state_(std::make_shared<State>()) {
        auto work = [state = state_, body = std::move(body)] {
            try {
                body();
            } catch (...) {
                state->failure = std::current_exception();
            }
        };
        auto done = [state = state_] {
            const std::lock_guard lock(state->mutex);
            state->over = true;
            state->ended.notify_all();
        };
        pool.run({std::move(work), std::move(done)});
    }
    ~JobThread() override {
        wait();
        if (state_->failure) lost_(state_->failure);
    }
    void join() override {
        wait();
        if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable ended;
        bool over = false;
        std::exception_ptr failure;
    };

    void wait() {
        std::unique_lock lock(state_->mutex);
        state_->ended.wait(lock, [this] { return state_->over; });
    }

    Lost lost_;
    std::shared_ptr<State> state_;
};

}  // namespace nearfetch
