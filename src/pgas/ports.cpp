// SPDX-License-Identifier: Apache-2.0
#include "pgas/ports.hpp"

#include <string>

#include "base/error.hpp"

namespace nearfetch::pgas {

Port Ports::take() {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
        const Port port = spare_.back();
        spare_.pop_back();
        return port;
    }
    if (next_ > port_max)
        throw Error("more than " + std::to_string(port_max) + " threads in a rank",
                    "each has a port for what others send it", "join tasks before spawning more");
    return next_++;
}

void Ports::give(Port port) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(port);
}

}  // namespace nearfetch::pgas
