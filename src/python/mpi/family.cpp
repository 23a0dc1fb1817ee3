// SPDX-License-Identifier: Apache-2.0
#include "python/mpi/family.hpp"

#include <cstring>
#include <exception>

extern "C" {

bool nearfetch_python_launch(const nearfetch::MpiJobConfig* config,
                             void (*program)(nearfetch::Job& job, void* context), void* context, char* error,
                             std::size_t size) {
    try {
        nearfetch::launch_mpi(*config, nullptr, nullptr, [&](nearfetch::Job& job) { program(job, context); });
        return true;
    } catch (const std::exception& problem) {
        std::strncpy(error, problem.what(), size - 1);
        error[size - 1] = '\0';
        return false;
    }
}

void nearfetch_python_finish() { nearfetch::finish_mpi(); }
}
