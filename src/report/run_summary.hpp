// SPDX-License-Identifier: Apache-2.0
#pragma once

// What all ranks of a run have counted, added up. It is made of the documents that ranks write as statistics
// (rank-<N>.json), by the ranks themselves at the end of a run, and by the program nearfetch-report
// afterwards. So both say the same.

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cache/counters/range_cache_counters.hpp"

namespace nearfetch {

/// The least and the most of all ranks.
struct Spread {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();

    void add(double value) noexcept { add(Spread{value, value}); }
    void add(const Spread& other) noexcept {
        least = other.least < least ? other.least : least;
        most = other.most > most ? other.most : most;
    }
};

/// Windows of one name, mode, size and place of creation.
struct WindowGroup {
    std::string name{};
    std::string mode{};
    std::string site{};         ///< who called for their creation
    std::string not_shared{};   ///< why ranks of a node do not share, where they might; of any rank
    std::uint64_t bytes = 0;    ///< that all ranks of one expose together
    std::uint64_t windows = 0;  ///< of a rank, at most
    int ranks = 0;              ///< that have some
    RangeCacheCounters counters{};
    std::map<std::string, std::uint64_t> forgotten_by{};  ///< gets, by the call
    Spread gets{};
    Spread hit_share{};  ///< of the gets of others' memory
    Spread gain_s{};     ///< what hits saved less what the cache took

    bool is_like(const WindowGroup& other) const noexcept {
        return name == other.name && mode == other.mode && site == other.site && bytes == other.bytes;
    }
};

/// Gets of others' memory.
inline std::uint64_t remote_gets(const RangeCacheCounters& c) noexcept { return c.gets - c.own_memory; }
/// Gets that were served at least in part.
inline std::uint64_t served_gets(const RangeCacheCounters& c) noexcept {
    return c.hits + c.partial_hits + c.pending_hits;
}

struct RunSummary {
    int ranks = 0;
    double elapsed_s = 0;  ///< of the slowest rank
    std::uint64_t memory_limit_bytes = 0;
    std::uint64_t memory_taken_bytes = 0;  ///< the most of a rank
    std::string memory_origin{};
    bool is_threaded = false;           ///< MPI_THREAD_MULTIPLE, on some rank
    std::vector<WindowGroup> groups{};  ///< those that matter most stand first after sort()

    void add(const RunSummary& other);
    void sort();
    RangeCacheCounters totals() const noexcept;
};

/// The summary of one rank. \throws nlohmann::json::exception if the document is not one of statistics
RunSummary summary_of_rank(const nlohmann::ordered_json& document);

/// For messages between ranks.
std::vector<std::uint8_t> packed(const RunSummary& summary);
/// \throws nlohmann::json::exception
RunSummary unpacked(const std::vector<std::uint8_t>& bytes);

}  // namespace nearfetch
