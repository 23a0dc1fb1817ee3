// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is told at the end, if asked: a file for programs (stats_file.hpp), a summary for people. Windows come
// and go, so a report keeps one record of each up to a limit, and adds the others up in one last record.

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

class Report {
  public:
    /// What is known of one window when it goes.
    struct Record {
        std::string name;
        std::string mode;
        std::size_t windows = 1;  ///< more than one: a sum
        int ranks = 0;
        RangeCacheCounters counters;
        std::vector<Decision> decisions;  ///< none of a sum
    };

    void configure(const Settings& settings);
    bool wanted() const noexcept { return summary_ || !stats_dir_.empty(); }

    /// Takes a window's counters. Never throws: a report is not worth a program.
    void add(Window& window) noexcept;

    /// Writes the file and the summary, as configured.
    void write() noexcept;

  private:
    void write_json(int rank) const;
    void write_summary(int rank) const;

    static constexpr std::size_t record_limit = 256;

    bool summary_ = false;
    std::string stats_dir_;
    std::string job_;
    std::vector<Record> records_;
};

}  // namespace nearfetch
