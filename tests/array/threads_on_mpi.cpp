// SPDX-License-Identifier: Apache-2.0
//
// Arrays in several threads of each process, on a real network. Where only one thread may communicate, loops
// run in that one.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "pgas/program.hpp"
#include "thread_cases.hpp"

using namespace nearfetch;

namespace {

/// Whether spawn() fails as it says.
bool says_that_it_cannot() {
    try {
        spawn([] {}).join();
    } catch (const Error& error) {
        return std::string(error.what()).find("MPI_THREAD_MULTIPLE") != std::string::npos;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("threads_on_mpi", "Checks arrays in several threads on a real network.");
    bool is_short = false;
    program.options().add_flag("--short", is_short, "blocks and three tasks alone");
    return program.run(argc, argv, [&is_short](programs::Run& run) {
        run.begin();
        bool right = can_spawn() || says_that_it_cannot();
        const auto failed = [&](const char* which) {
            std::fprintf(stderr, "rank %d: %s\n", rank(), which);
            right = false;
        };
        for (const thread_cases::Way way : thread_cases::ways)
            for (const int tasks : {3, 1}) {
                thread_cases::run<Block>(way, tasks, failed);
                if (is_short) break;
                thread_cases::run<Cyclic>(way, tasks, failed);
            }
        run.note("threads", can_spawn() ? 1 : 0);
        run.result(0, right);
        run.end();
    });
}
