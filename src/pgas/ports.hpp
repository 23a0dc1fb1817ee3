// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "transport/job.hpp"

namespace nearfetch::pgas {

/// A rank's ports, from the first one that has no other use. Thread-safe.
class Ports {
  public:
    explicit Ports(Port first) noexcept : next_(first) {}

    /// A port for the caller, until it is given back. \throws Error when all are taken
    Port take();
    void give(Port port);

  private:
    std::mutex mutex_;  ///< guards the members below
    std::vector<Port> spare_;
    Port next_;
};

}  // namespace nearfetch::pgas
