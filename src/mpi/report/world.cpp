// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/world.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>
#include <string_view>
#include <vector>

namespace nearfetch {

constinit World world;

namespace {

constexpr std::uint64_t largest = (std::uint64_t{1} << 48) - 1;

/// The same on all ranks where the launcher names the world.
std::uint64_t drawn_number() noexcept {
    std::uint64_t number = 0;
    if (const char* const name = std::getenv("PMIX_NAMESPACE"); name != nullptr && *name != '\0')
        number = std::hash<std::string_view>{}(name);
    else if (getentropy(&number, sizeof number) != 0)
        number = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) ^
                 static_cast<std::uint64_t>(getpid()) << 32;
    return number % largest + 1;
}

/// For each rank of `comm` its rank in this world, or MPI_UNDEFINED.
std::vector<int> ranks_in_world(MPI_Comm comm, int ranks) {
    std::vector<int> theirs(static_cast<std::size_t>(ranks)), ours(theirs.size(), MPI_UNDEFINED);
    std::iota(theirs.begin(), theirs.end(), 0);
    MPI_Group there = MPI_GROUP_NULL, here = MPI_GROUP_NULL;
    if (PMPI_Comm_group(comm, &there) == MPI_SUCCESS && PMPI_Comm_group(MPI_COMM_WORLD, &here) == MPI_SUCCESS)
        PMPI_Group_translate_ranks(there, ranks, theirs.data(), here, ours.data());
    if (there != MPI_GROUP_NULL) PMPI_Group_free(&there);
    if (here != MPI_GROUP_NULL) PMPI_Group_free(&here);
    return ours;
}

}  // namespace

void World::look() noexcept {
    if (number() != 0) return;
    number_ = drawn_number();
    MPI_Comm parent = MPI_COMM_NULL;
    spawned_ = PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

std::string World::name() const {
    char text[16];
    std::snprintf(text, sizeof text, "%012llx", static_cast<unsigned long long>(number()));
    return text;
}

void World::meet(MPI_Comm comm, std::span<const std::uint64_t> numbers) noexcept try {
    const std::vector<int> ranks = ranks_in_world(comm, static_cast<int>(numbers.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (ranks[i] == MPI_UNDEFINED || numbers[i] == 0) continue;
        // Other threads may make windows, too.
        std::uint64_t mine = number();
        while (numbers[i] < mine && !number_.compare_exchange_weak(mine, numbers[i])) {
        }
    }
} catch (const std::bad_alloc&) {
}

}  // namespace nearfetch
