// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>
#include <string_view>
#include <vector>

namespace nearfetch {

void World::look() noexcept {
    if (number() != 0) return;
    std::uint64_t drawn = 0;
    if (const char* const name = std::getenv("PMIX_NAMESPACE"); name != nullptr && *name != '\0')
        drawn = std::hash<std::string_view>{}(name);
    else if (getentropy(&drawn, sizeof drawn) != 0)
        drawn = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) ^
                static_cast<std::uint64_t>(getpid()) << 32;
    constexpr std::uint64_t largest = (std::uint64_t{1} << 48) - 1;
    number_ = drawn % largest + 1;
#if !defined(NEARFETCH_MPI_SMPI)  // has no such call, and starts no processes
    MPI_Comm parent = MPI_COMM_NULL;
    spawned_ = PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
#endif
}

std::string World::name() const {
    char text[16];
    std::snprintf(text, sizeof text, "%012llx", static_cast<unsigned long long>(number()));
    return text;
}

void World::meet(MPI_Comm comm, std::span<const std::uint64_t> numbers, bool has_summary) noexcept try {
    if (has_sessions()) return;
    std::vector<int> ranks(numbers.size()), in_world(numbers.size(), MPI_UNDEFINED);
    std::iota(ranks.begin(), ranks.end(), 0);
    MPI_Group theirs = MPI_GROUP_NULL, ours = MPI_GROUP_NULL;
    if (PMPI_Comm_group(comm, &theirs) == MPI_SUCCESS &&
        PMPI_Comm_group(MPI_COMM_WORLD, &ours) == MPI_SUCCESS)
        PMPI_Group_translate_ranks(theirs, static_cast<int>(ranks.size()), ranks.data(), ours,
                                   in_world.data());
    if (theirs != MPI_GROUP_NULL) PMPI_Group_free(&theirs);
    if (ours != MPI_GROUP_NULL) PMPI_Group_free(&ours);
    int world_size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (has_summary &&
        std::ranges::count_if(in_world, [](int rank) { return rank != MPI_UNDEFINED; }) == world_size)
        has_met_all_.store(true, std::memory_order_relaxed);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (in_world[i] == MPI_UNDEFINED || numbers[i] == 0) continue;
        // Other threads may make windows, too.
        std::uint64_t mine = number();
        while (numbers[i] < mine && !number_.compare_exchange_weak(mine, numbers[i])) {
        }
    }
} catch (const std::bad_alloc&) {
}

}  // namespace nearfetch
