// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/stats_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace nearfetch {

namespace {

/// A file under a name that nobody looks for, until it is moved; else it goes with this object.
class Draft {
  public:
    explicit Draft(std::string path) : path_(std::move(path)) {}
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft() { unlink(path_.c_str()); }

    /// \return errno, or 0
    int write(std::string_view text) const noexcept {
        const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0) return errno;
        int problem = 0;
        while (!text.empty() && problem == 0) {
            const ssize_t written = ::write(file, text.data(), text.size());
            if (written >= 0)
                text.remove_prefix(static_cast<std::size_t>(written));
            else if (errno != EINTR)
                problem = errno;
        }
        return close(file) != 0 && problem == 0 ? errno : problem;
    }
    /// Never in the place of a file that is there.
    int link_to(const std::string& path) const noexcept {
        return link(path_.c_str(), path.c_str()) != 0 ? errno : 0;
    }
    int move_to(const std::string& path) const noexcept {
        return std::rename(path_.c_str(), path.c_str()) != 0 ? errno : 0;
    }

  private:
    std::string path_;
};

bool is_of_another_world(const std::string& path, const StatsOwner& owner) {
    std::ifstream file(path);
    const nlohmann::json found = nlohmann::json::parse(file, nullptr, false);
    const auto says = [&](const char* key, const std::string& text) {
        const auto field = found.find(key);
        return field != found.end() && *field == text;
    };
    return found.is_object() && says("job", owner.job) && !says("world", owner.world);
}

}  // namespace

std::string write_stats_file(const StatsOwner& owner, std::string_view text) {
    const std::string plain = "rank-" + std::to_string(owner.rank) + ".json";
    const std::string unique = "world-" + owner.world + "-" + plain;
    const Draft draft(owner.folder + "/." + unique + ".part");
    std::string path = owner.folder + "/" + (owner.spawned ? unique : plain);
    int problem = draft.write(text);
    if (problem == 0 && !owner.spawned && !owner.job.empty()) {
        const int taken = draft.link_to(path);
        if (taken == 0) return path;
        if (taken == EEXIST && is_of_another_world(path, owner)) path = owner.folder + "/" + unique;
    }
    if (problem == 0) problem = draft.move_to(path);
    if (problem != 0) throw std::system_error(problem, std::generic_category(), "writing " + path);
    return path;
}

}  // namespace nearfetch
