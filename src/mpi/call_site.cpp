// SPDX-License-Identifier: Apache-2.0
#include "mpi/call_site.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace nearfetch {

namespace {

constexpr int frames_looked_at = 24;

/// The library that holds the address.
const void* library_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

std::string_view file_name_of(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string_view file = info.dli_fname;
    return file.substr(file.find_last_of('/') + 1);
}

}  // namespace

std::span<void*> callers(std::span<void*> room) noexcept {
    std::array<void*, frames_looked_at> frames{};
    const int count = backtrace(frames.data(), frames_looked_at);
    const void* const self = library_of(reinterpret_cast<const void*>(&callers));
    const auto all = std::span(frames).first(static_cast<std::size_t>(std::max(count, 0)));
    // Whoever looks at the stack in backtrace()'s stead, as a sanitizer does, is on it, too.
    const auto inside = std::ranges::find_if(all, [&](void* frame) { return library_of(frame) == self; });
    const auto outside =
        std::find_if(inside, all.end(), [&](void* frame) { return library_of(frame) != self; });
    const auto found = all.subspan(static_cast<std::size_t>(outside - all.begin()));
    const std::size_t kept = std::min(found.size(), room.size());
    std::ranges::copy(found.first(kept), room.begin());
    return room.first(kept);
}

void* program_caller() noexcept {
    std::array<void*, frames_looked_at> room{};
    for (void* const frame : callers(room))
        if (!file_name_of(frame).starts_with("libmpi")) return frame;
    return nullptr;
}

std::string place_of(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "?";
    const void* const base = info.dli_sname != nullptr ? info.dli_saddr : info.dli_fbase;
    std::array<char, 32> distance{};
    std::snprintf(
        distance.data(), distance.size(), "+0x%zx",
        static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(base)));
    return std::string(file_name_of(address)) + "(" + (info.dli_sname != nullptr ? info.dli_sname : "") +
           distance.data() + ")";
}

}  // namespace nearfetch
