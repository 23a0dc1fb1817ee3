// SPDX-License-Identifier: Apache-2.0
#include "common/report.hpp"

#include <cmath>
#include <cstdio>

namespace nearfetch::apps {

namespace {

std::string json_number(double value) { return std::isfinite(value) ? exact(value) : "null"; }

std::string json_string(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result.push_back('\\');
            result.push_back(c);
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            result += code;
        } else {
            result.push_back(c);
        }
    }
    result.push_back('"');
    return result;
}

template <typename Values, typename Print>
std::string json_list(const Values& values, Print print) {
    std::string result = "[";
    for (const auto& value : values) {
        if (result.size() > 1) result += ", ";
        result += print(value);
    }
    result.push_back(']');
    return result;
}

}  // namespace

std::string exact(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

void Report::add(const std::string& name, double value) {
    items_.push_back({name, exact(value), json_number(value)});
}

void Report::add(const std::string& name, std::uint64_t value) {
    items_.push_back({name, std::to_string(value), std::to_string(value)});
}

void Report::add(const std::string& name, const std::string& value) {
    items_.push_back({name, value, json_string(value)});
}

void Report::add(const std::string& name, const std::vector<double>& values) {
    items_.push_back({name, "", json_list(values, json_number)});
}

void Report::add(const std::string& name, const std::vector<std::uint64_t>& values) {
    items_.push_back(
        {name, "", json_list(values, [](std::uint64_t value) { return std::to_string(value); })});
}

void Report::write_lines(std::ostream& out) const {
    for (const Item& item : items_) {
        if (!item.line.empty()) out << item.name << ' ' << item.line << '\n';
    }
}

void Report::write_json(std::ostream& out) const {
    const char* separator = "{\n";
    for (const Item& item : items_) {
        out << separator << "  " << json_string(item.name) << ": " << item.json;
        separator = ",\n";
    }
    out << "\n}\n";
}

void Report::write_json_line(std::ostream& out) const {
    const char* separator = "{";
    for (const Item& item : items_) {
        out << separator << json_string(item.name) << ": " << item.json;
        separator = ", ";
    }
    out << "}\n";
}

}  // namespace nearfetch::apps
