// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <nearfetch/detail/array/prefetch.hpp>
#include <utility>

#include "python/rank_state.hpp"

namespace nearfetch::python {

/// Python's handle of a pending transfer.
class Transfer {
  public:
    explicit Transfer(PrefetchTransfer transfer) : held_(std::make_unique<Owner>(std::move(transfer))) {}
    bool test() const { return held_->transfer.test(); }
    void wait() const { held_->transfer.wait(); }

  private:
    struct Owner final : Owned {
        explicit Owner(PrefetchTransfer what) : transfer(std::move(what)) {}
        PrefetchTransfer transfer;
    };
    Held<Owner> held_;
};

}  // namespace nearfetch::python
