// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace nearfetch {

/// What a user or the environment can cause. Reads *problem (why it is one): what to do*.
/// Bugs are not errors: they are contracts (base/assert.hpp).
class [[gnu::visibility("default")]] Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message) : std::runtime_error(message) {}
    Error(const std::string& problem, const std::string& why, const std::string& what_to_do)
        : std::runtime_error(problem + " (" + why + "): " + what_to_do) {}
};

/// Ranks have met in different collective functions, or in the same one with different arguments. All that
/// wait there throw it. It names what each is in, where that was called, and the ranks.
class [[gnu::visibility("default")]] CollectiveError : public Error {
  public:
    using Error::Error;
};

}  // namespace nearfetch
