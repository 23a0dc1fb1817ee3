// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "transport/job.hpp"

namespace nearfetch {

/// A job's thread that is a thread of the operating system. The destructor waits for it.
class JobThread final : public Job::Thread {
  public:
    using Lost = std::function<void(std::exception_ptr)>;

    /// \param lost receives an exception of `body` that nobody joined for
    /// \throws Error when no thread can be created
    JobThread(std::function<void()> body, Lost lost) : lost_(std::move(lost)) {
        try {
            thread_ = std::thread([this, work = std::move(body)] {
                try {
                    work();
                } catch (...) {
                    failure_ = std::current_exception();
                }
            });
        } catch (const std::system_error& error) {
            throw Error("a thread cannot be started", error.what(), "start fewer threads");
        }
    }
    ~JobThread() override {
        if (thread_.joinable()) thread_.join();
        if (failure_) lost_(failure_);
    }
    void join() override {
        thread_.join();
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    Lost lost_;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace nearfetch
