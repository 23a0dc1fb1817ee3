/* SPDX-License-Identifier: Apache-2.0 */
/* For the Fortran programs: how many gets of a window were hits, or -1 where nearfetch is not loaded or
 * leaves cheap targets alone. */
#include <mpi.h>
#include <nearfetch/mpi.h>
#include <stdlib.h>
#include <string.h>

int fortran_hits_(const MPI_Fint* win);

int fortran_hits_(const MPI_Fint* win) {
    const char* bypass = getenv("NEARFETCH_BYPASS");
    unsigned long long hits = 0;
    if (nearfetch_win_stats == NULL || bypass == NULL || strcmp(bypass, "off") != 0) return -1;
    if (nearfetch_win_stats(MPI_Win_f2c(*win), "hits", &hits) != MPI_SUCCESS) return 0;
    return (int)hits;
}
