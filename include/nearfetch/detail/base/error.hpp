// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace nearfetch {

/// An error that a user or the environment can cause. Its text reads *problem (why it is one): what to do*.
/// Bugs are contracts instead (base/assert.hpp).
class [[gnu::visibility("default")]] Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message) : std::runtime_error(message) {}
    Error(const std::string& problem, const std::string& why, const std::string& what_to_do)
        : std::runtime_error(problem + " (" + why + "): " + what_to_do) {}
};

/// Ranks called different collective functions, or the same one with different arguments. All ranks throw it.
/// The text names each call, its source line, and the ranks.
class [[gnu::visibility("default")]] CollectiveError : public Error {
  public:
    using Error::Error;
};

}  // namespace nearfetch
