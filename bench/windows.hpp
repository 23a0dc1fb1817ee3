// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the benchmarks' MPI programs share: two ranks, one of which reads from the other, and windows, one per
// configuration, with its settings as info keys. A program that runs without nearfetch has the same windows;
// the keys mean nothing to MPI. The setting calls=PMPI is the program's own: all calls of such a
// configuration go past whatever is preloaded. Its window is that of the configuration before it, if there is
// one: where the memory of two windows comes to lie can decide more than the calls do.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "calls.hpp"
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
    /// \param infos its settings
    /// \param allocate let MPI allocate the memory
    BenchWindow(const Calls& calls, const apps::InfoPairs& infos, int rank, std::uint64_t bytes,
                bool allocate)
        : calls_(calls), is_owner_(true) {
        const apps::Info info(infos);
        const std::uint64_t own_bytes = rank == target_rank ? bytes : 0;
        void* memory = nullptr;
        if (allocate) {
            calls_.win_allocate(static_cast<MPI_Aint>(own_bytes), 1, info, MPI_COMM_WORLD, &memory, &window_);
        } else {
            own_.resize(std::max<std::uint64_t>(own_bytes, 1));
            memory = own_.data();
            calls_.win_create(memory, static_cast<MPI_Aint>(own_bytes), 1, info, MPI_COMM_WORLD, &window_);
        }
        fill(static_cast<std::byte*>(memory), own_bytes);
        PMPI_Barrier(MPI_COMM_WORLD);
        if (rank == origin_rank) touch(bytes);
    }
    BenchWindow(const apps::MpiSession& mpi, const Config& config, std::uint64_t bytes, bool allocate)
        : BenchWindow(calls_of(config), infos_of(config), mpi.rank(), bytes, allocate) {}
    /// The same window by other calls, within its life and its epochs.
    BenchWindow(const Calls& calls, const BenchWindow& other) : calls_(calls), window_(other.window_) {}
    ~BenchWindow() {
        if (is_owner_) calls_.win_free(&window_);
    }
    BenchWindow(const BenchWindow&) = delete;
    BenchWindow& operator=(const BenchWindow&) = delete;

    MPI_Win handle() const { return window_; }

    void lock_all() const {
        if (is_owner_) calls_.lock_all(MPI_MODE_NOCHECK, window_);
    }
    void unlock_all() const {
        if (is_owner_) calls_.unlock_all(window_);
    }
    /// Starts a get of the target's bytes.
    void get(std::byte* into, std::uint64_t offset, std::uint64_t size) const {
        const int count = static_cast<int>(size);
        calls_.get(into, count, MPI_BYTE, target_rank, static_cast<MPI_Aint>(offset), count, MPI_BYTE,
                   window_);
    }
    void flush() const { calls_.flush(target_rank, window_); }

    static bool goes_past(const Config& config) {
        const auto& settings = config.settings;
        return std::find(settings.begin(), settings.end(), past_setting) != settings.end();
    }

  private:
    inline static const std::pair<std::string, std::string> past_setting{"calls", "PMPI"};

    static const Calls& calls_of(const Config& config) { return goes_past(config) ? past : through; }
    static apps::InfoPairs infos_of(const Config& config) {
        apps::InfoPairs infos;
        for (const auto& setting : config.settings)
            if (setting != past_setting) infos.emplace_back("nearfetch_" + setting.first, setting.second);
        return infos;
    }

    /// Page faults are not part of what is measured.
    void touch(std::uint64_t bytes) const {
        std::vector<std::byte> all(std::min<std::uint64_t>(bytes, 16u << 20));
        PMPI_Win_lock(MPI_LOCK_SHARED, target_rank, 0, window_);
        for (std::uint64_t from = 0; from < bytes; from += all.size()) {
            const auto count = static_cast<int>(std::min<std::uint64_t>(all.size(), bytes - from));
            PMPI_Get(all.data(), count, MPI_BYTE, target_rank, static_cast<MPI_Aint>(from), count, MPI_BYTE,
                     window_);
            PMPI_Win_flush(target_rank, window_);
        }
        PMPI_Win_unlock(target_rank, window_);
    }

    const Calls& calls_;
    bool is_owner_ = false;
    std::vector<std::byte> own_;
    MPI_Win window_ = MPI_WIN_NULL;
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
