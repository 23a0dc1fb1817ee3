// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nearfetch::apps {

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
