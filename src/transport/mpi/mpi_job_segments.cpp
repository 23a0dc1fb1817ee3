// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_job_segments.hpp"

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/node_memory.hpp"

namespace nearfetch {

namespace {

#ifdef MADV_POPULATE_WRITE
constexpr int populate_advice = MADV_POPULATE_WRITE;
#else
constexpr int populate_advice = 23;  // since Linux 5.14; older kernels refuse it with EINVAL
#endif

}  // namespace

std::string mpi_error_text(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS || length == 0)
        return "MPI error " + std::to_string(code);
    // MPICH gives several lines.
    std::string line(text, static_cast<std::size_t>(length));
    for (std::size_t at = 0; (at = line.find('\n', at)) != std::string::npos;)
        line.replace(at, 1, "; ");
    return line;
}

void check_mpi(int code, const char* call, const char* what_to_do) {
    if (code != MPI_SUCCESS) throw Error(std::string(call) + " failed", mpi_error_text(code), what_to_do);
}

MpiSegment::~MpiSegment() {
    if (win == MPI_WIN_NULL) return;
    PMPI_Win_unlock_all(win);
    PMPI_Win_free(&win);
}

MpiJobSegments::MpiJobSegments(MPI_Comm comm, std::uint64_t first_bytes) : comm_(comm) {
    check_mpi(PMPI_Comm_rank(comm, &rank_), "MPI_Comm_rank", "report this");
    check_mpi(PMPI_Comm_size(comm, &ranks_), "MPI_Comm_size", "report this");
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type", "report this");
    int node_ranks = 1;
    PMPI_Comm_size(node, &node_ranks);
    PMPI_Comm_free(&node);
    node_ranks_ = static_cast<std::uint64_t>(node_ranks);
    if (const AddedSegment added = add(first_bytes); !added.refused.empty())
        throw Error("a segment of " + std::to_string(first_bytes) + " bytes per rank is not available",
                    added.refused,
                    "ask for less; or, if none of the MPI library's one-sided components works here, name "
                    "another one (Open MPI over TCP: mpiexec --mca osc pt2pt)");
}

std::span<std::byte> MpiJobSegments::mine(std::uint64_t address) const noexcept {
    const MpiSegment* const segment = table_.find(address);
    if (segment == nullptr) return {};
    const std::uint64_t offset = table_.offset(address);
    return {segment->mine + offset, static_cast<std::size_t>(segment->size_bytes - offset)};
}

// A library may end the process, or hang, where memory is missing in one rank. So it is looked for first, and
// no rank makes a window unless all agree.
AddedSegment MpiJobSegments::add(std::uint64_t bytes) {
    compare_sizes(bytes);
    if (std::string refused = agree(why_no_segment(bytes)); !refused.empty()) return {0, std::move(refused)};
    auto segment = std::make_unique<MpiSegment>(bytes);
    if (std::string refused = agree(allocate(*segment)); !refused.empty()) {
        segment->win = MPI_WIN_NULL;  // perhaps only some ranks have one, and freeing is collective
        return {0, std::move(refused)};
    }
    align(*segment);
    if (std::string refused = agree(make_usable(*segment)); !refused.empty()) {
        segment.reset();
        return {0, std::move(refused)};
    }
    const std::uint64_t address = table_.add(std::move(segment));
    sync();
    return {address, ""};
}

/// MPI would hang if ranks asked for different sizes.
void MpiJobSegments::compare_sizes(std::uint64_t bytes) const {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(ranks_));
    check_mpi(PMPI_Allgather(&bytes, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, comm_), "MPI_Allgather",
              ask_the_others);
    for (std::size_t r = 0; r < sizes.size(); ++r)
        if (sizes[r] != bytes)
            throw Error("a segment of " + std::to_string(bytes) + " bytes cannot be shared",
                        "rank " + std::to_string(r) + " asks for " + std::to_string(sizes[r]),
                        "ask for the same size on all ranks");
}

std::string MpiJobSegments::why_no_segment(std::uint64_t bytes) const {
    if (bytes >= table_.reach_bytes) return "no segment may be that large";
    if (table_.is_full()) return "there are " + std::to_string(table_.most) + " segments already";
    // On a node a process maps the memory of all.
    const std::uint64_t node_bytes = bytes * node_ranks_;
    return why_no_memory({bytes, node_bytes, node_bytes});
}

/// Makes the window. \return why there is none
std::string MpiJobSegments::allocate(MpiSegment& segment) const {
    void* base = nullptr;
    const std::uint64_t bytes = segment.size_bytes + MpiSegment::alignment_bytes;
    const int code =
        PMPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm_, &base, &segment.win);
    if (code != MPI_SUCCESS) return "MPI_Win_allocate: " + mpi_error_text(code);
    segment.mine = static_cast<std::byte*>(base);
    return "";
}

/// Tells all ranks where the memory of each begins in its window.
void MpiJobSegments::align(MpiSegment& segment) const {
    const std::uint64_t past = reinterpret_cast<std::uintptr_t>(segment.mine) % MpiSegment::alignment_bytes;
    const std::uint64_t skipped = past == 0 ? 0 : MpiSegment::alignment_bytes - past;
    segment.mine += skipped;
    segment.skipped.resize(static_cast<std::size_t>(ranks_));
    check_mpi(PMPI_Allgather(&skipped, 1, MPI_UINT64_T, segment.skipped.data(), 1, MPI_UINT64_T, comm_),
              "MPI_Allgather", ask_the_others);
}

/// Locks and zeroes it. \return why it cannot be used
std::string MpiJobSegments::make_usable(MpiSegment& segment) {
    check_mpi(PMPI_Win_set_errhandler(segment.win, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler",
              "report this");
    check_mpi(PMPI_Win_lock_all(0, segment.win), "MPI_Win_lock_all", "use another MPI library");
    int* model = nullptr;
    int found = 0;
    PMPI_Win_get_attr(segment.win, MPI_WIN_MODEL, &model, &found);
    if (!found || *model != MPI_WIN_UNIFIED)
        return "a rank's memory and what others see of it are two copies with this MPI library "
               "(MPI_WIN_SEPARATE)";
    // In shared memory a full file system is a signal at the first write. This call returns an error instead.
    if (segment.size_bytes > 0 && madvise(segment.mine, segment.size_bytes, populate_advice) != 0 &&
        errno != EINVAL)
        return "no memory is behind the window (" + std::string(std::strerror(errno)) +
               "); if the MPI library shares memory by files, their file system is full (df -h /dev/shm)";
    std::memset(segment.mine, 0, segment.size_bytes);
    PMPI_Win_sync(segment.win);
    return "";
}

/// \return what the first rank says that refuses; empty if none does. Afterwards all ranks have come so far.
std::string MpiJobSegments::agree(const std::string& refused) const {
    const int own = refused.empty() ? ranks_ : rank_;
    int first = ranks_;
    check_mpi(PMPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce", ask_the_others);
    if (first == ranks_) return "";
    std::array<char, 512> text = {};
    if (first == rank_) refused.copy(text.data(), text.size() - 1);
    check_mpi(PMPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, comm_), "MPI_Bcast",
              ask_the_others);
    return "rank " + std::to_string(first) + ": " + text.data();
}

}  // namespace nearfetch
