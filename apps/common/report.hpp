// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace nearfetch::apps {

/// A program's results in the order of addition: as `name value` lines, and as a JSON object.
class Report {
  public:
    void add(const std::string& name, double value);
    void add(const std::string& name, std::uint64_t value);
    void add(const std::string& name, int value) { add(name, static_cast<std::uint64_t>(value)); }
    void add(const std::string& name, const std::string& value);
    /// A list; in JSON only.
    void add(const std::string& name, const std::vector<double>& values);
    void add(const std::string& name, const std::vector<std::uint64_t>& values);

    void write_lines(std::ostream& out) const;
    void write_json(std::ostream& out) const;
    void write_json_line(std::ostream& out) const;

  private:
    struct Item {
        std::string name;
        std::string line;  ///< empty: not printed as a line
        std::string json;
    };
    std::vector<Item> items_;
};

/// 17 significant digits, from which the double can be restored exactly.
std::string exact(double value);

}  // namespace nearfetch::apps
