// SPDX-License-Identifier: Apache-2.0

// nearfetch-settings: prints the settings table as JSON (no arguments), or checks settings (KEY=VALUE ...).
// So the command line uses the library's table.

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/settings.hpp"

int main(int argc, char** argv) {
    using namespace nearfetch;
    if (argc == 1) {
        constexpr const char* groups[] = {"everyday", "tuning", "papers"};
        auto table = nlohmann::ordered_json::array();
        for (const SettingInfo& row : settings_table())
            table.push_back({{"name", row.name},
                             {"default", row.default_value},
                             {"unit", row.unit},
                             {"allowed", row.allowed},
                             {"meaning", row.meaning},
                             {"group", groups[static_cast<std::size_t>(row.group)]},
                             {"old_name", row.old_name}});
        std::puts(table.dump(2).c_str());
        return 0;
    }
    Settings settings;
    std::set<std::string, std::less<>> given;
    bool good = true;
    const auto report = [&good](const std::string& message) {
        std::fprintf(stderr, "nearfetch: %s\n", message.c_str());
        good = false;
    };
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos) {
            report("setting '" + argument +
                   "' has no value (a setting reads KEY=VALUE): add '=' and the value");
            continue;
        }
        try {
            apply_setting(settings, argument.substr(0, equals), argument.substr(equals + 1));
            given.insert(argument.substr(0, equals));
        } catch (const Error& error) {
            report(error.what());
        }
    }
    try {
        check_together(settings, [&given](std::string_view name) { return given.contains(name); });
    } catch (const Error& error) {
        report(error.what());
    }
    return good ? 0 : 2;
}
