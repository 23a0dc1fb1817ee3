// SPDX-License-Identifier: Apache-2.0
#include "mpi/window.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <utility>

#include "base/thread_scratch.hpp"
#include "mpi/lookups.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/wrappers/checking.hpp"

namespace nearfetch {

Window::Window(MPI_Win win, Rank ranks, Rank self, std::vector<std::uint64_t> units, const Settings& settings,
               bool threaded)
    : uniform_unit_(units.size() == 1 ? units.front() : 0),
      cache_(settings, ranks, self, threaded, interposer.process, transport_, *this),
      locks_(win, cache_),
      units_(std::move(units)),
      handle_(win),
      transport_(win, units_) {
    note_promises();
}

void Window::stale_hit(const StaleHit& stale) noexcept { report_stale_hit(*this, stale); }
void Window::no_cache(const char* why) noexcept {
    static std::atomic<bool> is_told = false;
    if (!is_told.exchange(true)) std::fprintf(stderr, "nearfetch: a window has no cache: %s\n", why);
}
void Window::arrived(RequestId request) noexcept { request_arrived(request); }

void Window::change_settings(const Settings& settings) {
    cache_.change_settings(settings);
    note_promises();
    forget_mru(*this);
}

void Window::share(std::unique_ptr<NodeSegment> segment) {
    if (segment == nullptr) return do_not_share("the memory for it cannot be made or mapped");
    segment->close_file();
    cache_.open_node_level(NodeBuffer(segment->data()));
    node_segment_ = std::move(segment);
}

/// The calls that ask have no time for texts.
void Window::note_promises() noexcept {
    const Settings& settings = cache_.settings();
    atomics_synchronize_ = settings.atomics != "relaxed";
    caches_atomic_reads_ = settings.atomic_reads == "cached";
}

std::string Window::name() const {
    std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
    int length = 0;
    if (PMPI_Win_get_name(handle_, name.data(), &length) != MPI_SUCCESS) return {};
    return {name.data(), static_cast<std::size_t>(length)};
}

void Window::serve_others() {
    const auto enter = [this] {
        const std::uint64_t begin = ticks();
        transport_.progress();
        return ticks() - begin;
    };
    if (cache_.progress().entered_for_others(enter())) cache_.progress().found_nothing(enter());
}

bool make_target_runs(const Window& window, int target, MPI_Aint displacement, std::uint64_t count,
                      MPI_Datatype type, std::vector<ByteRun>& runs) {
    auto& there = thread_scratch<std::vector<LayoutRun>, struct BlocksThere>();
    const std::uint64_t limit = window.run_limit();
    runs.clear();
    if (!flatten(layout_of(type, limit), static_cast<std::int64_t>(window.offset(target, displacement)),
                 count, limit, there))
        return false;
    for (const LayoutRun& block : there)
        runs.push_back({static_cast<std::uint64_t>(block.offset), block.size, nullptr});
    return true;
}

bool make_runs(const Window& window, const void* origin, std::uint64_t origin_count, MPI_Datatype origin_type,
               int target, MPI_Aint displacement, std::uint64_t target_count, MPI_Datatype target_type,
               std::vector<ByteRun>& runs) {
    auto& here = thread_scratch<std::vector<LayoutRun>, struct BlocksHere>();
    auto& there = thread_scratch<std::vector<ByteRun>, struct RunsThere>();
    const std::uint64_t limit = window.run_limit();
    runs.clear();
    if (!make_target_runs(window, target, displacement, target_count, target_type, there)) return false;
    const auto base = reinterpret_cast<std::intptr_t>(origin);
    if (!flatten(layout_of(origin_type, limit), base, origin_count, limit, here)) return false;

    // Both lists hold the same bytes in the same order, cut at different places.
    std::uint64_t used_here = 0, used_there = 0;
    std::size_t i = 0, j = 0;
    while (i < here.size() && j < there.size()) {
        const std::uint64_t size = std::min(here[i].size - used_here, there[j].size - used_there);
        const auto address = here[i].offset + static_cast<std::int64_t>(used_here);
        runs.push_back({there[j].offset + used_there, size,
                        reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(address))});
        used_here += size;
        used_there += size;
        if (used_here == here[i].size) ++i, used_here = 0;
        if (used_there == there[j].size) ++j, used_there = 0;
    }
    return i == here.size() && j == there.size() && runs.size() <= limit;
}

}  // namespace nearfetch
