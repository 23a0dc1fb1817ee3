// SPDX-License-Identifier: Apache-2.0
#pragma once

// The statistics of a run, if the settings ask for them: a file of this rank (stats_file.hpp), and one
// summary of all ranks for people (src/report). A report keeps one record of each window, up to a limit. A
// last record adds up all further windows.
//
//   windows that go ----> records --> document (JSON) --> rank-<N>.json
//   windows at the end -'                    |
//                                            '--> RunSummary --> added up over all ranks --> page, by rank 0

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "mpi/memory_limit.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

/// Where a window comes from.
struct WindowOrigin {
    const void* site = nullptr;     ///< an address in the program
    std::uint64_t total_bytes = 0;  ///< that all ranks expose
};

class Report {
  public:
    void configure(const Settings& settings);
    bool wanted() const noexcept { return has_summary_ || writes_file(); }
    bool has_summary() const noexcept { return has_summary_; }
    bool writes_file() const noexcept { return !stats_dir_.empty(); }

    /// Takes the counters of a window, at its end. Never throws: without memory the window is left out.
    void add(Window& window, const WindowOrigin& origin) noexcept;

    /// What follows is about this moment.
    void stop_clock() noexcept;
    /// Writes the file. \param end why now, "MPI_Finalize"
    void write_file(const char* end, const MemoryLimit& memory) noexcept;
    /// The same if the process ends by a signal from now on.
    void prepare_file(const MemoryLimit& memory) noexcept;
    /// In MPI_Finalize: rank 0 prints the summary of all ranks, if it was asked for.
    void print_summary(const MemoryLimit& memory) noexcept;

  private:
    struct Record {
        std::string name;
        std::string mode;
        std::string site;
        std::string not_shared{};
        std::uint64_t total_bytes = 0;
        std::size_t windows = 1;  ///< more than one: a sum
        int ranks = 0;
        RangeCacheCounters counters;
        std::vector<std::pair<std::string, std::uint64_t>> forgotten_by{};
        Timeline timeline{};              ///< none of a sum
        std::vector<Decision> decisions;  ///< none of a sum
    };
    static constexpr std::size_t record_limit = 256;

    static nlohmann::ordered_json json_of(const Record& record);
    nlohmann::ordered_json document(const MemoryLimit& memory) const;
    void add_record(Record record);

    bool has_summary_ = false;
    std::string stats_dir_;
    std::string job_;
    int rank_ = 0;
    double elapsed_s_ = -1;  ///< below 0: the clock goes on
    std::vector<Record> records_;
};

}  // namespace nearfetch
