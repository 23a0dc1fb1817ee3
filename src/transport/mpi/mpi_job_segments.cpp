// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_job_segments.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace nearfetch {

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

MpiJobSegments::MpiJobSegments(MPI_Comm comm, std::uint64_t segment_bytes) : segment_bytes_(segment_bytes) {
    allocate(comm);
    int* model = nullptr;
    int found = 0;
    PMPI_Win_get_attr(win_, MPI_WIN_MODEL, &model, &found);
    if (!found || *model != MPI_WIN_UNIFIED)
        throw Error("this MPI library's windows cannot be used",
                    "a rank's memory and what others see of it are two copies (MPI_WIN_SEPARATE)",
                    "use an MPI library with unified windows");
    check_mpi(PMPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler", "report this");
    check_mpi(PMPI_Win_lock_all(0, win_), "MPI_Win_lock_all", "use another MPI library");
    std::memset(mine_, 0, segment_bytes_);
    sync();
    check_mpi(PMPI_Barrier(comm), "MPI_Barrier", ask_the_others);
    sync();
}

void MpiJobSegments::allocate(MPI_Comm comm) {
    // Sizes are compared first: MPI would hang if only one rank asked for memory.
    int ranks = 0;
    check_mpi(PMPI_Comm_size(comm, &ranks), "MPI_Comm_size", "report this");
    const auto count = static_cast<std::size_t>(ranks);
    std::vector<std::uint64_t> sizes(count);
    check_mpi(PMPI_Allgather(&segment_bytes_, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, comm),
              "MPI_Allgather", ask_the_others);
    for (std::size_t r = 0; r < count; ++r)
        if (sizes[r] != segment_bytes_)
            throw Error("a segment of " + std::to_string(segment_bytes_) + " bytes cannot be shared",
                        "rank " + std::to_string(r) + " asks for " + std::to_string(sizes[r]),
                        "ask for the same size on all ranks");
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<MPI_Aint>::max());
    const std::string problem =
        "a segment of " + std::to_string(segment_bytes_) + " bytes per rank is not available";
    if (segment_bytes_ > most - 2 * alignment_bytes)
        throw Error(problem, "that is more than can be addressed", "ask for less");

    void* base = nullptr;
    const std::uint64_t bytes = segment_bytes_ + alignment_bytes;
    const int code = PMPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &base, &win_);
    if (code != MPI_SUCCESS)
        throw Error(problem, "MPI_Win_allocate: " + mpi_error_text(code),
                    "ask for less; or, if none of the MPI library's one-sided components works here, name "
                    "another one (Open MPI over TCP: mpiexec --mca osc pt2pt)");
    const std::uint64_t past = reinterpret_cast<std::uintptr_t>(base) % alignment_bytes;
    const std::uint64_t skipped = past == 0 ? 0 : alignment_bytes - past;
    mine_ = static_cast<std::byte*>(base) + skipped;
    skipped_.resize(count);
    check_mpi(PMPI_Allgather(&skipped, 1, MPI_UINT64_T, skipped_.data(), 1, MPI_UINT64_T, comm),
              "MPI_Allgather", ask_the_others);
}

MpiJobSegments::~MpiJobSegments() {
    if (win_ == MPI_WIN_NULL) return;
    PMPI_Win_unlock_all(win_);
    PMPI_Win_free(&win_);
}

}  // namespace nearfetch
