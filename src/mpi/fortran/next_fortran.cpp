// SPDX-License-Identifier: Apache-2.0
#include "mpi/fortran/next_fortran.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

void* nearfetch::next_fortran(const char* name) noexcept {
    if (void* const next = dlsym(RTLD_NEXT, name)) return next;
    // A plug-in of a script loads the library's Fortran layer for itself alone.
    for (const char* const file :
         {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpifort.so.12", "libmpichfort.so.12"})
        if (void* const library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD))
            if (void* const next = dlsym(library, name)) return next;
    std::fprintf(stderr,
                 "nearfetch: %s is not to be found (no loaded library of MPI for Fortran has it): load the "
                 "MPI library before\n",
                 name);
    std::abort();
}
