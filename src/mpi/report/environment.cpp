// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/environment.hpp"

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace nearfetch {

namespace {

/// The words of this process's command.
std::vector<std::string> command_words() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');)
        words.push_back(word);
    return words;
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// The first line of what the library says about itself.
std::string mpi_library_version() {
    std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING + 1);
    int length = 0;
    if (PMPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "";
    const std::string all = text.data();
    return all.substr(0, all.find('\n'));
}

nlohmann::ordered_json settings_given() {
    auto settings = nlohmann::ordered_json::object();
    for (const SettingInfo& row : settings_table()) {
        // These say where the reports go.
        if (row.name == "stats_dir" || row.name == "job" || row.name == "seen_file") continue;
        if (const char* const value = std::getenv(environment_name(row.name).c_str());
            value != nullptr && *value != '\0')
            settings[std::string(row.name)] = value;
    }
    return settings;
}

}  // namespace

nlohmann::ordered_json describe_environment() {
    return {{"nearfetch", NEARFETCH_VERSION},
            {"mpi", NEARFETCH_MPI_FAMILY},
            {"mpi_library", mpi_library_version()},
            {"host", host_name()},
            {"process", getpid()},
            {"command", command_words()},
            {"settings", settings_given()}};
}

}  // namespace nearfetch
