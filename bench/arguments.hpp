// SPDX-License-Identifier: Apache-2.0
#pragma once

// Command lines of the benchmarks' programs: `--name value` pairs, lists separated by commas, and
// configurations `name:key=value,key=value`, whose keys are settings of nearfetch.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nearfetch::bench {

struct Config {
    std::string name;
    std::vector<std::pair<std::string, std::string>> settings;
};

/// Which program complains; Arguments sets it.
inline std::string program_name = "bench";

/// Prints *program: problem (why): what to do* and ends the program.
[[noreturn]] inline void give_up(const std::string& problem) {
    std::fprintf(stderr, "%s: %s\n", program_name.c_str(), problem.c_str());
    std::exit(2);
}

inline std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

inline std::uint64_t to_number(const std::string& text) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0')
        give_up("'" + text + "' is not a whole number (the option takes one): correct it");
    return value;
}

inline double to_real(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || value < 0)
        give_up("'" + text + "' is no number (one from 0 on is expected): correct it");
    return value;
}

inline Config to_config(const std::string& text) {
    const std::size_t colon = text.find(':');
    Config config{text.substr(0, colon), {}};
    if (colon == std::string::npos) return config;
    for (const std::string& pair : split(text.substr(colon + 1), ',')) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos)
            give_up("'" + pair + "' is not KEY=VALUE (it should be a setting): correct it");
        config.settings.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return config;
}

class Arguments {
  public:
    Arguments(int argc, char** argv, std::initializer_list<std::string_view> known) {
        const std::string path = argc > 0 ? argv[0] : program_name;
        program_name = path.substr(path.rfind('/') + 1);
        for (int i = 1; i < argc; i += 2) {
            const std::string name = argv[i];
            if (std::find(known.begin(), known.end(), name) == known.end() || i + 1 == argc) {
                std::string all;
                for (const std::string_view each : known)
                    all += " " + std::string(each);
                give_up("bad argument " + name + " (unknown, or without a value): give one of" + all);
            }
            values_.emplace_back(name, argv[i + 1]);
        }
    }

    std::string text(std::string_view name, const std::string& otherwise) const {
        for (const auto& [key, value] : values_)
            if (key == name) return value;
        return otherwise;
    }
    std::uint64_t number(std::string_view name, std::uint64_t otherwise) const {
        return to_number(text(name, std::to_string(otherwise)));
    }
    std::vector<std::uint64_t> numbers(std::string_view name, const std::string& otherwise) const {
        std::vector<std::uint64_t> list;
        for (const std::string& part : split(text(name, otherwise), ','))
            list.push_back(to_number(part));
        return list;
    }
    /// Every --config, or every other option of that name, in order.
    std::vector<Config> configs(std::string_view name = "--config") const {
        std::vector<Config> list;
        for (const auto& [key, value] : values_)
            if (key == name) list.push_back(to_config(value));
        return list;
    }

  private:
    std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace nearfetch::bench
