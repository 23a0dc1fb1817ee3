// SPDX-License-Identifier: Apache-2.0
#include "mpi/datatypes/committed.hpp"

namespace nearfetch {

namespace {

MPI_Comm quiet = MPI_COMM_NULL;

}  // namespace

void start_type_checks() noexcept {
    if (PMPI_Comm_dup(MPI_COMM_SELF, &quiet) != MPI_SUCCESS)
        quiet = MPI_COMM_NULL;
    else if (PMPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN) != MPI_SUCCESS)
        end_type_checks();
}

void end_type_checks() noexcept {
    if (quiet != MPI_COMM_NULL) PMPI_Comm_free(&quiet);
}

bool is_committed(MPI_Datatype type) noexcept {
    if (quiet == MPI_COMM_NULL) return true;
    char from = 0, to = 0;
    int position = 0;
    return PMPI_Pack(&from, 0, type, &to, sizeof to, &position, quiet) == MPI_SUCCESS;
}

}  // namespace nearfetch
