// SPDX-License-Identifier: Apache-2.0
#include "python/processes.hpp"

#include <dlfcn.h>

#include <nearfetch/detail/base/error.hpp>

#include "pgas/launch.hpp"
#include "python/mpi/family.hpp"

namespace nearfetch::python {

namespace {

/// Loaded by start_processes(), and never unloaded.
nearfetch_python_finish_t* loaded_finish = nullptr;

[[noreturn]] void fail_to_load(const std::string& what) {
    const char* const why = dlerror();
    throw Error(what + " cannot be loaded", why == nullptr ? "the system does not say why" : why,
                "install nearfetch for the MPI library that is here, or name another one");
}

void* load(const MpiPlace& place) {
    // So that the library finds MPI's functions, and mpi4py does later.
    load_globally(place.libmpi);
    void* const handle = dlopen(place.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) fail_to_load(place.library);
    return handle;
}

}  // namespace

std::unique_ptr<MpiProgram> start_processes(const MpiPlace& place) {
    void* const handle = load(place);
    const auto start = reinterpret_cast<nearfetch_python_start_t*>(dlsym(handle, "nearfetch_python_start"));
    loaded_finish = reinterpret_cast<nearfetch_python_finish_t*>(dlsym(handle, "nearfetch_python_finish"));
    if (start == nullptr || loaded_finish == nullptr) fail_to_load(place.library);
    MpiJobConfig config = pgas::mpi_config();
    config.communicator = reinterpret_cast<const void*>(place.communicator);
    char error[1000] = "";
    std::unique_ptr<MpiProgram> program(start(&config, error, sizeof error));
    if (program == nullptr) throw Error(error);
    return program;
}

void finish_processes() {
    if (loaded_finish != nullptr) loaded_finish();
}

void load_globally(const std::string& library) {
    if (dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) fail_to_load(library);
}

}  // namespace nearfetch::python
