// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace nearfetch {

/// Whose statistics they are, and where they go.
struct StatsOwner {
    std::string folder;
    std::string job;    ///< empty: not known
    std::string world;  ///< unlike that of any other world
    int rank = 0;       ///< in it
    bool spawned = false;
};

/// Its files: the draft, which nobody looks for, and what it is called when it is whole.
struct StatsPaths {
    std::string draft;
    std::string final;
};
/// Where nobody can write in between.
StatsPaths stats_paths(const StatsOwner& owner);

/// Writes `text` into the owner's file, whole or not at all. The file is rank-<N>.json. It is
/// world-<W>-rank-<N>.json if the world was spawned, or another world of the same job has the first name.
/// \return the file's path
/// \throws std::system_error that names the file, which is then as it was before
std::string write_stats_file(const StatsOwner& owner, std::string_view text);

}  // namespace nearfetch
