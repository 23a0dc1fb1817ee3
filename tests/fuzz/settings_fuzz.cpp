// SPDX-License-Identifier: Apache-2.0

// Settings come from users: the environment, info keys, command lines. Whatever they hold, a setting is
// either taken or refused with an Error, and a refused one changes nothing.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/settings.hpp"

namespace {

/// Applies one KEY=VALUE; with no '=' the text is tried as the value of every setting.
void apply(nearfetch::Settings& settings, std::string_view name, std::string_view value) {
    const std::uint64_t before = settings.buffer_bytes;
    try {
        nearfetch::apply_setting(settings, name, value);
    } catch (const nearfetch::Error& error) {
        if (std::string_view(error.what()).empty() || settings.buffer_bytes != before) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    nearfetch::Settings settings;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
        apply(settings, text.substr(0, equals), text.substr(equals + 1));
    } else {
        for (const nearfetch::SettingInfo& row : nearfetch::settings_table())
            apply(settings, row.name, text);
    }
    (void)nearfetch::parse_bytes(text);
    (void)nearfetch::environment_name(text);
    nearfetch::Settings from_environment;
    try {
        nearfetch::apply_environment(from_environment, [&](const char*) { return text.c_str(); });
    } catch (const nearfetch::Error&) {
        // Refused, as it may be.
    }
    return 0;
}
