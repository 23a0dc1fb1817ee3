// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_window_transfers.hpp"

#include <limits>
#include <numeric>
#include <thread>
#include <vector>

namespace nearfetch {

namespace {

constexpr std::uint64_t largest_count = std::numeric_limits<int>::max();

/// A datatype of bytes, freed at the end of its scope. MPI keeps it as long as a transfer uses it.
class ByteBlocks {
  public:
    ByteBlocks(const std::vector<int>& sizes, const std::vector<MPI_Aint>& displacements)
        : status_(PMPI_Type_create_hindexed(static_cast<int>(sizes.size()), sizes.data(),
                                            displacements.data(), MPI_BYTE, &type_)) {
        if (status_ == MPI_SUCCESS) status_ = PMPI_Type_commit(&type_);
    }
    ~ByteBlocks() {
        if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
    }
    ByteBlocks(const ByteBlocks&) = delete;
    ByteBlocks& operator=(const ByteBlocks&) = delete;

    int status() const noexcept { return status_; }
    MPI_Datatype type() const noexcept { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    int status_;
};

/// Adds `size` bytes at `displacement`, split so that sizes fit an int.
void add_blocks(std::vector<int>& sizes, std::vector<MPI_Aint>& displacements, MPI_Aint displacement,
                std::uint64_t size) {
    while (size != 0) {
        const std::uint64_t part = size < largest_count ? size : largest_count;
        sizes.push_back(static_cast<int>(part));
        displacements.push_back(displacement);
        displacement += static_cast<MPI_Aint>(part);
        size -= part;
    }
}

}  // namespace

int MpiWindowTransfers::start(Rank target, std::span<const ByteRun> runs, Direction direction,
                              MPI_Request* request) {
    const ByteRun& first = runs.front();
    if (runs.size() == 1 && first.size <= largest_count && first.offset % displacement_unit(target) == 0)
        return start_one(target, first, direction, request);
    return start_many(target, runs, direction, request);
}

int MpiWindowTransfers::start_one(Rank target, const ByteRun& run, Direction direction,
                                  MPI_Request* request) {
    const auto displacement = static_cast<MPI_Aint>(run.offset / displacement_unit(target));
    const int count = static_cast<int>(run.size);
    return issue(run.origin, count, MPI_BYTE, target, displacement, count, MPI_BYTE, direction, request);
}

/// One operation for several runs, or for one that is not at a multiple of the displacement unit.
int MpiWindowTransfers::start_many(Rank target, std::span<const ByteRun> runs, Direction direction,
                                   MPI_Request* request) {
    const std::uint64_t unit = displacement_unit(target);
    const std::uint64_t base = runs.front().offset / unit * unit;
    std::byte* const origin = runs.front().origin;
    std::vector<int> sizes, origin_sizes;
    std::vector<MPI_Aint> displacements, origin_displacements;
    std::uint64_t in_a_row = 0;
    for (const ByteRun& run : runs) {
        add_blocks(sizes, displacements, static_cast<MPI_Aint>(run.offset - base), run.size);
        add_blocks(origin_sizes, origin_displacements, static_cast<MPI_Aint>(run.origin - origin), run.size);
        if (run.origin == origin + in_a_row) in_a_row += run.size;
    }
    const ByteBlocks there(sizes, displacements);
    if (there.status() != MPI_SUCCESS) return there.status();
    const auto displacement = static_cast<MPI_Aint>(base / unit);
    if (std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) == in_a_row &&
        in_a_row <= largest_count)
        return issue(origin, static_cast<int>(in_a_row), MPI_BYTE, target, displacement, 1, there.type(),
                     direction, request);
    const ByteBlocks here(origin_sizes, origin_displacements);
    if (here.status() != MPI_SUCCESS) return here.status();
    return issue(origin, 1, here.type(), target, displacement, 1, there.type(), direction, request);
}

int MpiWindowTransfers::issue(std::byte* origin, int origin_count, MPI_Datatype origin_type, Rank target,
                              MPI_Aint displacement, int count, MPI_Datatype type, Direction direction,
                              MPI_Request* request) {
    if (direction == Direction::put)
        return PMPI_Put(origin, origin_count, origin_type, target, displacement, count, type, win_);
    if (request == nullptr)
        return PMPI_Get(origin, origin_count, origin_type, target, displacement, count, type, win_);
    return PMPI_Rget(origin, origin_count, origin_type, target, displacement, count, type, win_, request);
}

namespace {

/// A tag that programs hardly use.
int highest_tag() {
    int* tag = nullptr;
    int found = 0;
    return PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag, &found) == MPI_SUCCESS && found ? *tag
                                                                                                : 32767;
}

}  // namespace

/// A probe makes progress even if it finds nothing. On MPI_COMM_SELF MPICH would serve no other process;
/// hence MPI_COMM_WORLD, with an unused tag.
void enter_mpi() noexcept {
    static const int tag = highest_tag();
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

bool MpiWindowTransfers::wait_a_moment() {
#if defined(NEARFETCH_MPI_SMPI)
    return false;  // there a probe takes 0.1 ms
#else
    enter_mpi();
    std::this_thread::yield();
    return true;
#endif
}

}  // namespace nearfetch
