// SPDX-License-Identifier: Apache-2.0
#include "mpi/wrappers/checking.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "mpi/call_site.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

namespace {

constexpr std::size_t frames_kept = 3;
constexpr std::size_t most_reported = 16;

/// False where this place has been told of, or enough others.
bool is_first_report(std::span<void* const> call_site) {
    static std::mutex mutex;
    static auto& told = *new std::vector<const void*>;  // not to go before a handler of atexit()
    const void* const place = call_site.empty() ? nullptr : call_site.front();
    const std::lock_guard guard(mutex);
    if (told.size() == most_reported || std::ranges::find(told, place) != told.end()) return false;
    told.push_back(place);
    return true;
}

}  // namespace

void check_hit(Window& window, const RangeGet& get, Begun begun) {
    if (window.open_locks() != MPI_SUCCESS) return;
    std::array<void*, frames_kept> room{};
    window.cache().gets().check(get.target, get.offset, {get.origin, get.size}, callers(room),
                                begun == Begun::from_node);
}

void report_stale_hit(const Window& window, const StaleHit& stale) noexcept try {
    if (!is_first_report(stale.call_site)) return;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string places;
    for (void* const place : stale.call_site)
        places += (places.empty() ? "" : ", from ") + place_of(place);
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    const std::string mode(mode_name(window.mode()));
    const std::string name = window.name();
    const std::string text =
        "nearfetch: rank " + number(static_cast<std::uint64_t>(rank)) + ": a hit of " + number(stale.size) +
        " bytes " + (stale.from_node ? "that another process of this node had fetched " : "") +
        "at displacement " + number(stale.offset / std::max<std::uint64_t>(window.unit(stale.target), 1)) +
        " of rank " + number(static_cast<std::uint64_t>(stale.target)) + " of window " +
        (name.empty() ? "without a name" : "'" + name + "'") + " is old (its byte " +
        number(stale.differs_at) + " was " + number(static_cast<std::uint64_t>(stale.served)) + ", and is " +
        number(static_cast<std::uint64_t>(stale.found)) +
        " at the target: the program has a race, or breaks what mode " + mode +
        " asks for): use another mode, or call nearfetch_win_invalidate before it; called by " + places +
        ". It was fetched under the same stamp: this process has called nothing since by which it could have "
        "synchronised with the change. If the program has no race, and keeps to the mode, that is an error "
        "of "
        "nearfetch: report it as docs/consistency.md says\n";
    std::fputs(text.c_str(), stderr);
} catch (const std::bad_alloc&) {
}

}  // namespace nearfetch
