// SPDX-License-Identifier: Apache-2.0
#pragma once

// What goes wrong, as the C API says it: a status, and a message that stays for nearfetch_last_error().

#include <nearfetch/nearfetch.h>

#include <string>

namespace nearfetch::capi {

/// Keeps *problem (why): what_to_do* as this thread's last error. \return `status`
nearfetch_status fail(nearfetch_status status, const std::string& problem, const std::string& why,
                      const std::string& what_to_do) noexcept;
/// The same for the exception that is being handled. \param made of what Error stands for here
[[gnu::cold]] nearfetch_status fail_by_exception(nearfetch_status error) noexcept;
void set_transport_status(int status) noexcept;

/// Exceptions end here. \param error what an Error means
template <class Work>
nearfetch_status guarded(nearfetch_status error, Work&& work) noexcept {
    try {
        return work();
    } catch (...) {
        return fail_by_exception(error);
    }
}

}  // namespace nearfetch::capi
