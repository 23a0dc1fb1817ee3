// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nearfetch::graph {

/// An error in the user's input. `what()` reads `FILE:LINE: problem (why): what to do`.
class GraphError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Builds the text `problem (why): what to do`.
inline std::string complaint(std::string_view problem, std::string_view why, std::string_view remedy) {
    std::string text(problem);
    text.append(" (").append(why).append("): ").append(remedy);
    return text;
}

/// Quotes text from a file for a message: short, printable, in apostrophes.
std::string quoted(std::string_view text);

}  // namespace nearfetch::graph
