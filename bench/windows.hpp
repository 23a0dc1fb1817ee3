// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the benchmarks' MPI programs share: two ranks, one of which reads from the other, and windows, one per
// configuration, with its settings as info keys. A program that runs without nearfetch has the same windows;
// the keys mean nothing to MPI. The setting calls=PMPI is the program's own: such a window is read by
// PMPI_Get and flushed by PMPI_Win_flush, past whatever is preloaded, which is how it is without nearfetch.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "common/mpi_session.hpp"
#include "common/mpi_window.hpp"
#include "nearfetch/mpi.h"

namespace nearfetch::bench {

inline constexpr int origin_rank = 0;
inline constexpr int target_rank = 1;

inline double now_ns() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// What the byte at `offset` of a target's memory is.
inline std::byte pattern_byte(std::uint64_t offset) {
    return static_cast<std::byte>((offset * 0x9e3779b97f4a7c15U) >> 56);
}

inline void fill(std::byte* memory, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i)
        memory[i] = pattern_byte(i);
}

/// A window over `bytes` of the target's memory; the other ranks expose nothing. Collective.
class BenchWindow {
  public:
    /// \param shared memory to create the window over (used on the target); nullptr: let MPI allocate it
    BenchWindow(const apps::MpiSession& mpi, const Config& config, std::uint64_t bytes, std::byte* shared)
        : get_(goes_past(config) ? &PMPI_Get : &MPI_Get),
          flush_(goes_past(config) ? &PMPI_Win_flush : &MPI_Win_flush),
          window_(make(config, mpi.rank() == target_rank ? bytes : 0, shared)) {
        if (shared == nullptr && mpi.rank() == target_rank)
            fill(static_cast<std::byte*>(window_.memory()), bytes);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    MPI_Win handle() const { return window_.handle(); }

    /// Starts a get of the target's bytes.
    void get(std::byte* into, std::uint64_t offset, std::uint64_t size) const {
        const int count = static_cast<int>(size);
        get_(into, count, MPI_BYTE, target_rank, static_cast<MPI_Aint>(offset), count, MPI_BYTE, handle());
    }
    void flush() const { flush_(target_rank, handle()); }

  private:
    inline static const std::pair<std::string, std::string> past{"calls", "PMPI"};

    static bool goes_past(const Config& config) {
        return std::find(config.settings.begin(), config.settings.end(), past) != config.settings.end();
    }
    static apps::Window make(const Config& config, std::uint64_t bytes, std::byte* shared) {
        apps::InfoPairs infos;
        for (const auto& setting : config.settings)
            if (setting != past) infos.emplace_back("nearfetch_" + setting.first, setting.second);
        if (shared == nullptr) return apps::Window(bytes, 1, apps::WindowOptions{true, infos});
        return apps::Window(shared, bytes, 1, infos);
    }

    decltype(&MPI_Get) get_;
    decltype(&MPI_Win_flush) flush_;
    apps::Window window_;
};

/// nearfetch's counters of a window; all 0 without nearfetch.
class Counters {
  public:
    static constexpr std::array names{"gets",     "hits",          "pending_hits",  "partial_hits",
                                      "direct",   "conflicting",   "capacity",      "failing",
                                      "bypassed", "index_resizes", "buffer_resizes"};

    static Counters of(const BenchWindow& window) {
        Counters counters;
        for (std::size_t i = 0; i < names.size(); ++i)
            NEARFETCH_CALL(nearfetch_win_stats, (window.handle(), names[i], &counters.values_[i]));
        return counters;
    }
    Counters since(const Counters& before) const {
        Counters difference = *this;
        for (std::size_t i = 0; i < names.size(); ++i)
            difference.values_[i] -= before.values_[i];
        return difference;
    }
    /// As a JSON object.
    std::string json() const {
        std::string text;
        for (std::size_t i = 0; i < names.size(); ++i)
            text += std::string(i == 0 ? "{" : ", ") + "\"" + names[i] + "\": " + std::to_string(values_[i]);
        return text + "}";
    }

  private:
    std::array<unsigned long long, names.size()> values_{};
};

/// The frame of both programs: MPI with two ranks, or an error.
/// \param work `int work(const apps::MpiSession&)` returns the program's exit code
template <class Work>
int run_two_ranks(int argc, char** argv, const Work& work) {
    int status = 0;
    int ranks = 0;
    {
        const apps::MpiSession mpi(&argc, &argv);
        ranks = mpi.ranks();
        if (ranks == 2) status = work(mpi);
    }
    if (ranks != 2) give_up("wrong number of ranks (one reads from the other): start 2");
    return status;
}

}  // namespace nearfetch::bench
