// SPDX-License-Identifier: Apache-2.0
#pragma once

// The statistics at the end of a run, if the settings ask for them: a file for programs (stats_file.hpp), and
// a summary for people. A report keeps one record of each window, up to a limit. A last record adds up all
// further windows.

#include <mpi.h>

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "mpi/memory_limit.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

class Report {
  public:
    void configure(const Settings& settings);
    bool wanted() const noexcept { return summary_ || !stats_dir_.empty(); }

    /// Takes the counters of a window, at its end. Never throws: without memory the window is left out.
    void add(Window& window) noexcept;

    /// Writes the file and the summary, as configured.
    void write(const MemoryLimit& memory) noexcept;

  private:
    struct Record {
        std::string name;
        std::string mode;
        std::size_t windows = 1;  ///< more than one: a sum
        int ranks = 0;
        RangeCacheCounters counters;
        std::vector<Decision> decisions;  ///< none of a sum
    };
    static constexpr std::size_t record_limit = 256;

    std::string json(int rank, const MemoryLimit& memory) const;
    std::string summary(const MemoryLimit& memory) const;

    bool summary_ = false;
    std::string stats_dir_;
    std::string job_;
    std::vector<Record> records_;
};

}  // namespace nearfetch
