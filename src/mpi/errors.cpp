// SPDX-License-Identifier: Apache-2.0
#include "mpi/errors.hpp"

#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

namespace nearfetch {

namespace {

/// One code per message, so that a program that fails the same way again and again does not use codes up.
int error_code(int error_class, const std::string& message) noexcept try {
    static std::mutex mutex;
    static auto& codes = *new std::unordered_map<std::string, int>;  // not to go before a handler of atexit()
    const std::lock_guard guard(mutex);
    if (const auto known = codes.find(message); known != codes.end()) return known->second;
    int code = error_class;
    if (codes.size() < 64 && PMPI_Add_error_code(error_class, &code) == MPI_SUCCESS) {
        std::string text = ("nearfetch: " + message).substr(0, MPI_MAX_ERROR_STRING - 1);
        PMPI_Add_error_string(code, text.data());
        codes.emplace(message, code);
    }
    return code;
} catch (const std::bad_alloc&) {
    return error_class;
}

/// Open MPI loses the text of an error that it aborts with; so nearfetch says it before.
void tell_before_abort(MPI_Errhandler handler, const Error& error) noexcept {
    if (handler == MPI_ERRORS_ARE_FATAL) std::fprintf(stderr, "nearfetch: %s\n", error.what());
    if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
}

}  // namespace

int raise_on_comm(MPI_Comm comm, int error_class, const Error& error) {
    const int code = error_code(error_class, error.what());
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) tell_before_abort(handler, error);
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

int raise_on_window(MPI_Win win, int error_class, const Error& error) {
    const int code = error_code(error_class, error.what());
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_Win_get_errhandler(win, &handler) == MPI_SUCCESS) tell_before_abort(handler, error);
    PMPI_Win_call_errhandler(win, code);
    return code;
}

}  // namespace nearfetch
