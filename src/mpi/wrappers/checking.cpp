// SPDX-License-Identifier: Apache-2.0
#include "mpi/wrappers/checking.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "mpi/window.hpp"

namespace nearfetch {

namespace {

constexpr int frames_looked_at = 24;
constexpr std::size_t frames_kept = 3;
constexpr std::size_t most_reported = 16;

/// The library that holds the address.
const void* library_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// `program(function+0x12)`, or `program(+0x1234)` where the name is not known, for addr2line.
std::string place_of(void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "?";
    const std::string file = info.dli_fname;
    const void* const base = info.dli_sname != nullptr ? info.dli_saddr : info.dli_fbase;
    std::array<char, 32> distance{};
    std::snprintf(distance.data(), distance.size(), "+0x%zx",
                  static_cast<std::size_t>(static_cast<char*>(address) - static_cast<const char*>(base)));
    return file.substr(file.find_last_of('/') + 1) + "(" + (info.dli_sname != nullptr ? info.dli_sname : "") +
           distance.data() + ")";
}

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

void check_hit(Window& window, int target, std::uint64_t offset, std::span<const std::byte> served) {
    if (window.open_locks() != MPI_SUCCESS) return;
    std::array<void*, frames_looked_at> frames{};
    const int count = backtrace(frames.data(), frames_looked_at);
    const void* const self = library_of(reinterpret_cast<const void*>(&check_hit));
    const auto all = std::span(frames).first(static_cast<std::size_t>(std::max(count, 0)));
    // Whoever looks at the stack in backtrace()'s stead, as a sanitizer does, is on it, too.
    const auto inside = std::ranges::find_if(all, [&](void* frame) { return library_of(frame) == self; });
    const auto outside =
        std::find_if(inside, all.end(), [&](void* frame) { return library_of(frame) != self; });
    const auto callers = all.subspan(static_cast<std::size_t>(outside - all.begin()));
    window.cache().gets().check(target, offset, served, callers.first(std::min(callers.size(), frames_kept)));
}

void report_stale_hit(const Window& window, const StaleHit& stale) noexcept try {
    if (!is_first_report(stale.call_site)) return;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string callers;
    for (void* const place : stale.call_site)
        callers += (callers.empty() ? "" : ", from ") + place_of(place);
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    const std::string mode(mode_name(window.mode()));
    const std::string name = window.name();
    const std::string text =
        "nearfetch: rank " + number(static_cast<std::uint64_t>(rank)) + ": a hit of " + number(stale.size) +
        " bytes at displacement " +
        number(stale.offset / std::max<std::uint64_t>(window.unit(stale.target), 1)) + " of rank " +
        number(static_cast<std::uint64_t>(stale.target)) + " of window " +
        (name.empty() ? "without a name" : "'" + name + "'") + " is old (its byte " +
        number(stale.differs_at) + " was " + number(static_cast<std::uint64_t>(stale.served)) + ", and is " +
        number(static_cast<std::uint64_t>(stale.found)) +
        " at the target: the program has a race, or breaks what mode " + mode +
        " asks for): use another mode, or call nearfetch_win_invalidate before it; called by " + callers +
        ". It was fetched under the same stamp: this process has called nothing since by which it could have "
        "synchronised with the change. If the program has no race, and keeps to the mode, that is an error "
        "of "
        "nearfetch: report it as docs/consistency.md says\n";
    std::fputs(text.c_str(), stderr);
} catch (const std::bad_alloc&) {
}

}  // namespace nearfetch
