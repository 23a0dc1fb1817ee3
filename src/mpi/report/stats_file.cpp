// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/stats_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/finally.hpp"

namespace nearfetch {

namespace {

/// \return errno, or 0
int write_file(const std::string& path, std::string_view text) noexcept {
    std::FILE* const file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return errno;
    const int problem = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
    return std::fclose(file) != 0 && problem == 0 ? errno : problem;
}

bool is_of_another_world(const std::string& path, const StatsOwner& owner) {
    std::ifstream file(path);
    const nlohmann::json found = nlohmann::json::parse(file, nullptr, false);
    const auto says = [&](const char* key, const std::string& text) {
        return found.contains(key) && found[key] == text;
    };
    return says("job", owner.job) && !says("world", owner.world);
}

}  // namespace

StatsPaths stats_paths(const StatsOwner& owner) {
    const std::string plain = "rank-" + std::to_string(owner.rank) + ".json";
    const std::string unique = "world-" + owner.world + "-" + plain;
    StatsPaths paths{owner.folder + "/." + unique + ".part",
                     owner.folder + "/" + (owner.spawned ? unique : plain)};
    if (!owner.spawned && !owner.job.empty() && is_of_another_world(paths.final, owner))
        paths.final = owner.folder + "/" + unique;
    return paths;
}

std::string write_stats_file(const StatsOwner& owner, std::string_view text) {
    const std::string plain = "rank-" + std::to_string(owner.rank) + ".json";
    const std::string unique = "world-" + owner.world + "-" + plain;
    const std::string draft = owner.folder + "/." + unique + ".part";
    const auto remove_draft = [&] { unlink(draft.c_str()); };
    const Finally finally(remove_draft);
    std::string path = owner.folder + "/" + (owner.spawned ? unique : plain);
    int problem = write_file(draft, text);
    if (problem == 0 && !owner.spawned && !owner.job.empty()) {
        // A link never replaces a file. rename() does.
        if (link(draft.c_str(), path.c_str()) == 0) return path;
        if (errno == EEXIST && is_of_another_world(path, owner)) path = owner.folder + "/" + unique;
    }
    if (problem == 0 && std::rename(draft.c_str(), path.c_str()) != 0) problem = errno;
    if (problem != 0) throw std::system_error(problem, std::generic_category(), "writing " + path);
    return path;
}

}  // namespace nearfetch
