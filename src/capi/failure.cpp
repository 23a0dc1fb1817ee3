// SPDX-License-Identifier: Apache-2.0
#include "capi/failure.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.hpp"

namespace nearfetch::capi {

namespace {

// Of fixed size, so that it works when memory is exhausted.
thread_local char last_message[1024] = "";
thread_local int last_transport_status = 0;

}  // namespace

nearfetch_status fail(nearfetch_status status, const std::string& problem, const std::string& why,
                      const std::string& what_to_do) noexcept {
    std::snprintf(last_message, sizeof last_message, "%s (%s): %s", problem.c_str(), why.c_str(),
                  what_to_do.c_str());
    return status;
}

nearfetch_status fail_by_exception(nearfetch_status error) noexcept {
    const char* text = "something went wrong (nobody said what): report it";
    try {
        throw;
    } catch (const std::bad_alloc&) {
        error = NEARFETCH_NO_MEMORY;
        text = "it cannot be done (the system has no memory): free some";
        std::snprintf(last_message, sizeof last_message, "%s", text);
    } catch (const std::exception& exception) {
        std::snprintf(last_message, sizeof last_message, "%s", exception.what());
    } catch (...) {
        std::snprintf(last_message, sizeof last_message, "%s", text);
    }
    return error;
}

void set_transport_status(int status) noexcept { last_transport_status = status; }

}  // namespace nearfetch::capi

extern "C" {

const char* nearfetch_last_error(void) { return nearfetch::capi::last_message; }

int nearfetch_last_transport_status(void) { return nearfetch::capi::last_transport_status; }

const char* nearfetch_version(void) { return NEARFETCH_VERSION; }

const char* nearfetch_status_text(nearfetch_status status) {
    switch (status) {
        case NEARFETCH_OK:
            return "success";
        case NEARFETCH_BAD_ARGUMENT:
            return "invalid argument";
        case NEARFETCH_BAD_SETTING:
            return "invalid setting";
        case NEARFETCH_NO_MEMORY:
            return "memory is exhausted";
        case NEARFETCH_BAD_ADDRESS:
            return "unknown rank, or bytes that are not addressable there";
        case NEARFETCH_TRANSFER_FAILED:
            return "the transport reports a failure";
        case NEARFETCH_NOT_RELEASED:
            return "some puts are not complete at their targets";
        case NEARFETCH_BUSY:
            return "the cache is in use";
    }
    return "no status of nearfetch";
}

}  // extern "C"
