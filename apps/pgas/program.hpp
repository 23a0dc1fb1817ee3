// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of the programs in this folder: options for ranks, network and cache, a timed region, and
// one line of JSON at the end. The programs themselves do not depend on the cache or the network.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nearfetch/pgas.hpp>
#include <string>

#include "common/report.hpp"

namespace CLI {
class App;
}

namespace nearfetch::programs {

/// Traffic that no cache can avoid: what a rank has to fetch and write, and how often a request depends on
/// the previous one.
struct LeastTraffic {
    std::uint64_t get_messages = 0;
    std::uint64_t get_bytes = 0;
    std::uint64_t put_messages = 0;
    std::uint64_t put_bytes = 0;
    std::uint64_t round_trips = 0;
};

/// A run, as each rank has it.
class Run {
  public:
    Run(const LaunchOptions& options, apps::Report& report) : options_(options), report_(report) {}

    bool virtual_time() const { return options_.virtual_time; }
    /// Starts the timed part in all ranks together, with an acquire.
    void begin();
    /// Ends it in all ranks together, with all writes complete.
    void end();
    /// Reports the result, which is the same on every transport, and whether it is right. The run is right if
    /// it is on all ranks; their checksums are added.
    void result(std::uint64_t checksum, bool right);
    /// Rank 0's value counts.
    void least(const LeastTraffic& traffic) { least_ = traffic; }
    /// Adds an entry to the report. By rank 0.
    template <class T>
    void note(const std::string& name, const T& value) {
        report_.add(name, value);
    }

    /// Sums the ranks' figures and writes rank 0's report. \return whether the result is right
    bool finish();

  private:
    const LaunchOptions& options_;
    apps::Report& report_;
    Statistics before_, after_;
    std::uint64_t begin_ns_ = 0, end_ns_ = 0;
    std::uint64_t checksum_ = 0;
    bool right_ = false;
    LeastTraffic least_;
};

/// A program: its options, and the main function of each rank.
class Program {
  public:
    Program(const std::string& name, const std::string& description);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// For the program's own options.
    CLI::App& options() { return *app_; }
    /// Parses, starts the ranks, and prints the report. \param prepare called once, after parsing
    /// \return what main() should
    int run(
        int argc, char** argv, const std::function<void(Run&)>& main,
        const std::function<void()>& prepare = [] {});

  private:
    std::unique_ptr<CLI::App> app_;
    LaunchOptions launch_;
    std::string json_path_;
};

// One of launcher_inproc.cpp and launcher_mpi.cpp is linked.

/// Whether the program chooses the number of ranks and the network; with MPI mpiexec does.
extern const bool launches_ranks;
/// The name of the MPI family, or "none".
extern const char* const mpi_family;
int start_ranks(const LaunchOptions& options, int& argc, char**& argv, const std::function<void()>& main);

/// The rank whose memory the programs of two ranks work on; 0 works. Alone a rank works on its own.
inline Rank other_rank() { return ranks() > 1 ? 1 : 0; }

}  // namespace nearfetch::programs
