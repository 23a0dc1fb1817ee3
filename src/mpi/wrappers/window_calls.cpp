// SPDX-License-Identifier: Apache-2.0

// Windows come and go here. Settings are checked before the window is made: a bad info key is an MPI error of
// the class MPI_ERR_INFO_VALUE with a text that names it, and no window.

#include <mpi.h>

#include <memory>
#include <string_view>
#include <utility>

#include "mpi/errors.hpp"
#include "mpi/lookups.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/window_table.hpp"
#include "mpi/wrappers/intercept.hpp"
#include "mpi/wrappers/window_creation.hpp"

namespace nearfetch {

namespace {

Exposed exposed_by(WindowMemory memory, MPI_Aint size, MPI_Aint unit) noexcept {
    return {.displacement_unit = static_cast<std::uint64_t>(unit),
            .size_bytes = static_cast<std::uint64_t>(size),
            .base = nullptr,
            .dynamic = memory == WindowMemory::dynamic,
            .shared = memory == WindowMemory::shared,
            .declared = memory == WindowMemory::declared || memory == WindowMemory::dynamic};
}

/// Whether the program asks for a mode of this window.
bool names_mode(MPI_Info info) noexcept {
    int length = 0, found = 0;
    return info != MPI_INFO_NULL &&
           PMPI_Info_get_valuelen(info, "nearfetch_mode", &length, &found) == MPI_SUCCESS && found;
}

/// Whether the program promises not to lock this window.
bool promises_no_locks(MPI_Info info) noexcept {
    char value[8] = "";
    int found = 0;
    return info != MPI_INFO_NULL &&
           PMPI_Info_get(info, "no_locks", sizeof value - 1, value, &found) == MPI_SUCCESS && found &&
           std::string_view(value) == "true";
}

template <class Create>
int create_window(const char* call, WindowMemory memory, MPI_Aint size, MPI_Aint unit, MPI_Info info,
                  MPI_Comm comm, const void* base, MPI_Win* win, const Create& make) {
    if (comm == MPI_COMM_NULL || !WindowTable::has_world())
        return and_then(make, [&](int) { acquire_by(call); });
    WindowTable& windows = interposer.windows();
    try {
        const Settings settings = windows.settings_for(info);
        const int status = and_then(make, [&](int) { acquire_by(call); });
        if (status != MPI_SUCCESS) return status;
        Exposed exposed = exposed_by(memory, size, unit);
        exposed.has_no_locks = promises_no_locks(info);
        exposed.shared = exposed.shared && !names_mode(info);
        if (base != nullptr) exposed.base = *static_cast<void* const*>(base);
        return windows.attach(*win, comm, exposed, settings);
    } catch (const Error& error) {
        return raise_on_comm(comm, MPI_ERR_INFO_VALUE, error);
    } catch (const std::bad_alloc&) {
        return MPI_SUCCESS;  // the window exists, and nearfetch does not look after it
    }
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

NEARFETCH_WINDOW_CREATION

int MPI_Win_free(MPI_Win* win) {
    std::unique_ptr<LeaseSlot> leases;
    // Before the library's own free: afterwards another thread's new window may have the same handle.
    if (Window* const window = find_window(*win)) {
        // Then it is for the library to say that the program left an epoch open.
        window->open_locks();
        forget_requests(*window);
        leases = interposer.windows().detach(*win);
    }
    const int status = PMPI_Win_free(win);
    // MPI_Win_free waits for all, unless they have no locks: now nobody reaches the words any more.
    if (leases != nullptr) interposer.windows().detached(std::move(leases));
    acquire_by("MPI_Win_free");
    return status;
}

int MPI_Win_set_info(MPI_Win win, MPI_Info info) {
    Window* const window = find_window(win);
    if (window != nullptr) {
        // Other settings may not keep locks back.
        if (const int status = window->open_locks(); status != MPI_SUCCESS) return status;
        Settings settings = window->cache().settings();
        const Settings before = settings;
        try {
            WindowTable::apply_info(settings, info);
            if (!(settings == before)) {
                // An error has reached the window's error handler, and is none of this call.
                window->cache().updates().send_combined(all_targets);
                window->change_settings(settings);
            }
        } catch (const Error& error) {
            return raise_on_window(win, MPI_ERR_INFO_VALUE, error);
        }
    }
    const AcquireScope acquires("MPI_Win_set_info");
    return PMPI_Win_set_info(win, info);
}
}
