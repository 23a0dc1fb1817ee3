// SPDX-License-Identifier: Apache-2.0
#include "common/command_line.hpp"

#include <CLI/CLI.hpp>

namespace nearfetch::apps {

void add_common_options(CLI::App& app, CommonOptions& options) {
    app.add_option_function<std::string>(
           "--window", [&options](const std::string& kind) { options.window.allocate = kind == "allocate"; },
           "make the window by MPI_Win_allocate (default) or by MPI_Win_create over ordinary memory")
        ->check(CLI::IsMember({"allocate", "create"}))
        ->type_name("allocate|create");
    app.add_option_function<std::vector<std::string>>(
           "--info",
           [&options](const std::vector<std::string>& pairs) {
               for (const std::string& pair : pairs) {
                   const std::size_t equals = pair.find('=');
                   if (equals == std::string::npos || equals == 0) {
                       throw CLI::ValidationError("--info", "'" + pair + "' is not KEY=VALUE");
                   }
                   options.window.infos.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
               }
           },
           "info pair for the window; may be given several times")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("KEY=VALUE");
    app.add_option("--json", options.json_path, "write the results to this file, too")->type_name("FILE");
    app.add_flag("--progress", options.progress, "show on standard error how far rank 0 is");
}

Parsed parse(CLI::App& app, int argc, const char* const* argv) {
    Parsed parsed;
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        parsed.run = false;
        if (error.get_exit_code() == 0) {
            parsed.text = app.help();
        } else {
            parsed.exit_code = kBadUse;
            parsed.text = app.get_name() + ": " + error.what() + " (bad command line): see " +
                          app.get_name() + " --help\n";
        }
    }
    return parsed;
}

}  // namespace nearfetch::apps
