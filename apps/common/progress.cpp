// SPDX-License-Identifier: Apache-2.0
#include "common/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace nearfetch::apps {

ProgressBar::ProgressBar(bool shown, std::string label, std::uint64_t total)
    : shown_(shown && total != 0), label_(std::move(label)), total_(total) {}

void ProgressBar::draw() {
    constexpr std::uint64_t kWidth = 40;
    constexpr std::uint64_t kDraws = 100;
    const auto filled = static_cast<std::size_t>(kWidth * done_ / total_);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, ' ');
    std::fprintf(stderr, "\r%s [%s] %3llu%%%s", label_.c_str(), bar.c_str(),
                 static_cast<unsigned long long>(100 * done_ / total_), done_ == total_ ? "\n" : "");
    std::fflush(stderr);
    next_ = std::min(total_, done_ + std::max<std::uint64_t>(total_ / kDraws, 1));
}

}  // namespace nearfetch::apps
