// SPDX-License-Identifier: Apache-2.0
#include "engine/acquires.hpp"

namespace nearfetch::detail {

constinit std::atomic<std::uint64_t> process_acquires{0};
constinit std::atomic<bool> acquires_one_by_one{false};
constinit std::atomic<int> learning_windows{0};

}  // namespace nearfetch::detail
