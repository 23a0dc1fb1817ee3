// SPDX-License-Identifier: Apache-2.0
#include "mpi/fortran/next_fortran.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace nearfetch {

namespace {

/// Where the library's Fortran layer is if the program loaded it for itself alone, as plug-ins of scripts do.
constexpr const char* fortran_libraries[] = {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40",
                                             "libmpifort.so.12", "libmpichfort.so.12"};

}  // namespace

void* next_fortran(const char* name) noexcept {
    if (void* const next = dlsym(RTLD_NEXT, name)) return next;
    for (const char* const library : fortran_libraries) {
        void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
        if (loaded == nullptr) continue;
        if (void* const next = dlsym(loaded, name)) return next;
    }
    std::fprintf(stderr,
                 "nearfetch: %s is not to be found (no loaded library of MPI for Fortran has it): load the "
                 "MPI library before\n",
                 name);
    std::abort();
}

}  // namespace nearfetch
