// SPDX-License-Identifier: Apache-2.0
#include "python/mpi/family.hpp"

#include <cstring>
#include <exception>

extern "C" {

nearfetch::MpiProgram* nearfetch_python_start(const nearfetch::MpiJobConfig* config, char* error,
                                              std::size_t size) {
    try {
        return nearfetch::start_mpi_program(*config).release();
    } catch (const std::exception& problem) {
        std::strncpy(error, problem.what(), size - 1);
        error[size - 1] = '\0';
        return nullptr;
    }
}

void nearfetch_python_finish() { nearfetch::finish_mpi(); }
}
