// SPDX-License-Identifier: Apache-2.0
#pragma once

// Windows of the benchmarks' MPI programs: one per configuration, with its settings as info keys. A program
// that runs without nearfetch has the same windows; the keys mean nothing to MPI.

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "arguments.hpp"
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
    BenchWindow(const Config& config, std::uint64_t bytes, std::byte* shared) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        for (const auto& [key, value] : config.settings)
            MPI_Info_set(info, ("nearfetch_" + key).c_str(), value.c_str());
        const auto mine = static_cast<MPI_Aint>(rank == target_rank ? bytes : 0);
        if (shared != nullptr) {
            MPI_Win_create(shared, mine, 1, info, MPI_COMM_WORLD, &window_);
        } else {
            std::byte* memory = nullptr;
            MPI_Win_allocate(mine, 1, info, MPI_COMM_WORLD, static_cast<void*>(&memory), &window_);
            if (mine > 0) fill(memory, bytes);
        }
        MPI_Info_free(&info);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~BenchWindow() { MPI_Win_free(&window_); }
    BenchWindow(const BenchWindow&) = delete;
    BenchWindow& operator=(const BenchWindow&) = delete;

    MPI_Win handle() const { return window_; }

    /// Starts a get of the target's bytes.
    void get(std::byte* into, std::uint64_t offset, std::uint64_t size) const {
        const int count = static_cast<int>(size);
        MPI_Get(into, count, MPI_BYTE, target_rank, static_cast<MPI_Aint>(offset), count, MPI_BYTE, window_);
    }
    void flush() const { MPI_Win_flush(target_rank, window_); }

  private:
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

}  // namespace nearfetch::bench
