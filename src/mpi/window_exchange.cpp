// SPDX-License-Identifier: Apache-2.0
#include "mpi/window_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace nearfetch {

namespace {

/// Of each rank alone.
struct Place {
    std::uint64_t node, world;
};

/// As MPI_Op_create has it.
void join(void* from, void* into, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * sizeof(WindowFacts);
        WindowFacts a, b;
        std::memcpy(&a, static_cast<const char*>(from) + at, sizeof a);
        std::memcpy(&b, static_cast<const char*>(into) + at, sizeof b);
        b = WindowFacts::joined(a, b);
        std::memcpy(static_cast<char*>(into) + at, &b, sizeof b);
    }
}

int join_all(WindowFacts& facts, MPI_Comm comm) {
    const WindowFacts mine = facts;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int status = PMPI_Type_contiguous(sizeof facts, MPI_BYTE, &type);
    if (status == MPI_SUCCESS) status = PMPI_Type_commit(&type);
    if (status == MPI_SUCCESS) status = PMPI_Op_create(join, 1, &op);
    if (status == MPI_SUCCESS) status = PMPI_Allreduce(&mine, &facts, 1, type, op, comm);
    if (op != MPI_OP_NULL) PMPI_Op_free(&op);
    if (type != MPI_DATATYPE_NULL) PMPI_Type_free(&type);
    return status;
}

/// \param all has room for each rank of `comm`
template <class T>
int gather_all(const T& mine, std::span<T> all, MPI_Comm comm) {
    constexpr int words = sizeof(T) / sizeof(std::uint64_t);
    return PMPI_Allgather(&mine, words, MPI_UINT64_T, all.data(), words, MPI_UINT64_T, comm);
}

TargetMemory target_memory(const ExposedMemory& memory) noexcept {
    return {.extent_bytes = memory.extent_bytes,
            .page_phase = memory.page_phase,
            .is_declared = memory.is_declared != 0};
}

}  // namespace

WindowFacts WindowFacts::joined(const WindowFacts& a, const WindowFacts& b) noexcept {
    return {.memory = a.memory,
            .memory_differs = a.memory_differs | b.memory_differs | (a.memory == b.memory ? 0u : 1u),
            .total_bytes = a.total_bytes + b.total_bytes,
            .overlaps = a.overlaps | b.overlaps,
            .has_summary = a.has_summary & b.has_summary,
            .sharing = std::max(a.sharing, b.sharing),
            .leases = LeaseWindows::joined(a.leases, b.leases)};
}

int WindowExchange::meet(MPI_Comm comm, const WindowFacts& mine, std::uint64_t node, std::uint64_t world) {
    int ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    std::vector<Place> places(static_cast<std::size_t>(ranks));
    facts_ = mine;
    int status = join_all(facts_, comm);
    if (status == MPI_SUCCESS) status = gather_all({node, world}, std::span(places), comm);
    if (status != MPI_SUCCESS) return status;
    if (facts_.memory_differs != 0) {
        memory_.resize(places.size());
        status = gather_all(mine.memory, std::span(memory_), comm);
    }
    for (const Place& place : places) {
        if (place.node == node) here_.push_back(static_cast<Rank>(nodes_.size()));
        nodes_.push_back(place.node);
        worlds_.push_back(place.world);
    }
    return status;
}

std::vector<std::uint64_t> WindowExchange::units() const {
    std::vector<std::uint64_t> units;
    for (const ExposedMemory& memory : memory_)
        units.push_back(memory.unit_bytes);
    if (std::ranges::all_of(units, [&](std::uint64_t unit) { return unit == units.front(); }))
        units.assign(1, facts_.memory.unit_bytes);
    return units;
}

PerRank<TargetMemory> WindowExchange::memory() const {
    const TargetMemory common = target_memory(facts_.memory);
    PerRank<TargetMemory> memory(static_cast<Rank>(nodes_.size()), common);
    for (std::size_t i = 0; i < memory_.size(); ++i)
        if (const TargetMemory one = target_memory(memory_[i]); one != common)
            memory.make(static_cast<Rank>(i)) = one;
    for (const Rank rank : here_)
        memory.make(rank).is_on_this_node = true;
    return memory;
}

}  // namespace nearfetch
