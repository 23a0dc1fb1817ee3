// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace nearfetch::apps {

/// Exit code of a program that was used wrongly or got bad input.
inline constexpr int kBadUse = 2;

/// What the user asked for cannot be done: `problem (why): what to do`.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Info keys and their values, in the order in which they are set.
using InfoPairs = std::vector<std::pair<std::string, std::string>>;

/// How the window over the shared data is made.
struct WindowOptions {
    bool allocate = true;  ///< MPI_Win_allocate, else MPI_Win_create
    InfoPairs infos;
};

/// The options of both programs.
struct CommonOptions {
    WindowOptions window;
    std::string json_path;  ///< empty: no file
    bool progress = false;
};

/// What came of a command line.
struct Parsed {
    bool run = true;  ///< false: print `text` and end with `exit_code`
    int exit_code = 0;
    std::string text;  ///< the help or the error
};

/// Adds --window, --info, --json and --progress to `app`.
void add_common_options(CLI::App& app, CommonOptions& options);

/// Parses without printing anything: every rank parses, one speaks.
Parsed parse(CLI::App& app, int argc, const char* const* argv);

}  // namespace nearfetch::apps
