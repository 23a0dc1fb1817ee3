// SPDX-License-Identifier: Apache-2.0
#pragma once

// Errors of the C API: a status, and a message for nearfetch_last_error().

#include <nearfetch/nearfetch.h>

#include <string>

namespace nearfetch::capi {

/// Stores *problem (why): what_to_do* as this thread's last error. \return `status`
nearfetch_status fail(nearfetch_status status, const std::string& problem, const std::string& why,
                      const std::string& what_to_do) noexcept;
/// The same for the exception being handled. \param error the status for an Error
[[gnu::cold]] nearfetch_status fail_by_exception(nearfetch_status error) noexcept;
void set_transport_status(int status) noexcept;

/// Turns exceptions into statuses. \param error the status for an Error
template <class Work>
nearfetch_status guarded(nearfetch_status error, Work&& work) noexcept {
    try {
        return work();
    } catch (...) {
        return fail_by_exception(error);
    }
}

}  // namespace nearfetch::capi
