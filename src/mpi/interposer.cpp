// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer.hpp"

#include "mpi/requests/request_table.hpp"
#include "mpi/window_table.hpp"

namespace nearfetch {

constinit Interposer interposer;

WindowTable& Interposer::windows() {
    static WindowTable* const table = new WindowTable(process.memory);
    return *table;
}

RequestTable& Interposer::requests() {
    static RequestTable* const table = new RequestTable;
    return *table;
}

void Interposer::end_lease_writing() noexcept { windows().end_lease_writing(); }
void Interposer::prepare_report() noexcept { windows().prepare_for_end(); }

void Interposer::look_for_threads() noexcept {
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    process.acquires.come_one_by_one(!threaded && provided != MPI_THREAD_MULTIPLE);
    if (threaded || provided != MPI_THREAD_MULTIPLE) return;
    passthrough.forbid();
    mru = {};
    threaded = true;
}

}  // namespace nearfetch
