// SPDX-License-Identifier: Apache-2.0
#include "rma/acquires.hpp"

namespace nearfetch::detail {

constinit std::atomic<std::uint64_t> process_acquires{0};
constinit std::atomic<bool> acquires_one_by_one{false};

}  // namespace nearfetch::detail
