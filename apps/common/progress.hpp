// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nearfetch::apps {

/// Seconds that were spent in something that is entered again and again.
class Stopwatch {
  public:
    void start() { started_ = Clock::now(); }
    void stop() { spent_ += Clock::now() - started_; }
    double seconds() const { return std::chrono::duration<double>(spent_).count(); }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point started_{};
    Clock::duration spent_{};
};

/// A bar on standard error that rank 0 moves on.
class ProgressBar {
  public:
    ProgressBar(bool shown, std::string label, std::uint64_t total);
    void advance() {
        if (shown_ && ++done_ >= next_) draw();
    }

  private:
    void draw();
    bool shown_;
    std::string label_;
    std::uint64_t total_;
    std::uint64_t done_ = 0;
    std::uint64_t next_ = 0;
};

}  // namespace nearfetch::apps
