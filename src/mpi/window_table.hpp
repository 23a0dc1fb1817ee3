// SPDX-License-Identifier: Apache-2.0
#pragma once

// The windows of the process, by their handles, with the settings of its environment.
//
// It comes to life with the first window and leaves with MPI_Finalize (through an attribute of MPI_COMM_SELF,
// which works from every language). A process without windows pays nothing.

#include <mpi.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/settings.hpp"
#include "mpi/lease_windows.hpp"
#include "mpi/memory_limit.hpp"
#include "mpi/report/report.hpp"
#include "mpi/window.hpp"
#include "mpi/window_habits.hpp"

namespace nearfetch {

/// What this process exposes in a window.
struct Exposed {
    std::uint64_t displacement_unit;
    std::uint64_t size_bytes;  ///< 0 if that is not known, or changes
    const void* base;
    bool dynamic;          ///< it may come to expose anything
    bool shared = false;   ///< the program reaches the others' memory, too, by loads and stores
    bool declared = true;  ///< the library has not allocated it: only the program knows how much is there
    bool has_no_locks = false;  ///< the program promises that (info key no_locks)
    WindowOrigin origin{};      ///< for reports
    bool overlapping = false;   ///< at its creation some process exposed the same memory by another window

    bool overlaps(const Exposed& other) const noexcept {
        if (dynamic || other.dynamic) return true;
        const auto begin = reinterpret_cast<std::uintptr_t>(base), end = begin + size_bytes;
        const auto others = reinterpret_cast<std::uintptr_t>(other.base);
        return begin < others + other.size_bytes && others < end;
    }
};

class WindowTable {
  public:
    /// \param memory of all caches; outlives this
    explicit WindowTable(MemoryBudget& memory) noexcept : memory_limit_(memory) {}

    /// Whether MPI_COMM_WORLD and MPI_COMM_SELF are there. In a program that knows sessions only they are
    /// not, and nearfetch, which serves others and notices the end by them, looks after no window.
    static bool has_world() noexcept;

    /// Settings of the environment with the `nearfetch_` keys of `info` on top.
    /// \throws Error naming the setting, the value and what is allowed
    Settings settings_for(MPI_Info info);
    /// The same on top of settings that are in force.
    static void apply_info(Settings& settings, MPI_Info info);

    /// Starts to look after a window. Collective over `comm`, like the window's creation.
    /// \return an MPI error code
    int attach(MPI_Win win, MPI_Comm comm, Exposed exposed, const Settings& settings);
    /// Forgets a window and gives back its memory. The window still exists.
    /// \return for detached(), when it does not any more
    std::unique_ptr<LeaseSlot> detach(MPI_Win win);
    void detached(std::unique_ptr<LeaseSlot> slot) noexcept { lease_windows_.give_back(std::move(slot)); }
    Window* find(MPI_Win win) noexcept;

    /// The least of all windows, as BypassControl has it; nothing unless all of them may pass through.
    std::optional<std::uint64_t> passthrough_budget(std::uint64_t unread) noexcept;
    void before_passthrough() noexcept;
    void end_lease_writing() noexcept;
    void after_passthrough(std::uint64_t calls, Bypassed kinds) noexcept;
    /// MPI has begun: if a report is wanted, also of processes without windows, this is noticed now.
    void begin() noexcept;
    /// Records the windows that were never freed, and writes what was asked for.
    void finalize() noexcept;
    /// The process does not come to MPI_Finalize: writes the statistics as they are. \param end why
    void write_before_end(const char* end) noexcept;
    /// The same if it is going to be ended by a signal, from now on.
    void prepare_for_end() noexcept;

  private:
    void start();
    /// \pre the mutex is held
    Report report_so_far() noexcept;
    bool overlaps_another(const Exposed& exposed);
    LeaseWindows::Offer lease_offer(MPI_Comm comm, const Exposed& exposed, const Settings& settings);

    std::unordered_map<MPI_Win, Exposed> exposed_;
    std::mutex mutex_;
    bool started_ = false;
    bool is_over_ = false;  ///< the report has been written
    double preparing_interval_s_ = 0.0005;
    pid_t process_ = 0;  ///< whose report it is
    Settings settings_;
    std::unordered_map<MPI_Win, std::unique_ptr<Window>> windows_;
    WindowHabits habits_;
    LeaseWindows lease_windows_;
    MemoryLimit memory_limit_;
    Report report_;
};

}  // namespace nearfetch
