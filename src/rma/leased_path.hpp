// SPDX-License-Identifier: Apache-2.0
#pragma once

// What MPI calls do in a lock epoch under a lease (leased_epoch.hpp).

#include <span>

#include "base/types.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

/// The paths of a window's leased epoch.
class LeasedPath {
  public:
    explicit LeasedPath(WindowState& state) noexcept : s_(state) {}

    /// Opens the epoch of a lock that is kept back. \pre there is a lease of the target
    void begin(Rank target, int assertion) noexcept;
    /// A get is made in the epoch, now or after the lock has been taken. \return the transport's status
    int record(Rank target, std::span<const ByteRun> runs);
    /// Before something that has to find the lock, and is complete only with the epoch: a get.
    int open();
    /// Before anything else that enters the library. From then on the epoch is one like others.
    int take_lock();
    /// The unlock. \return true if the library is to see neither it nor the lock
    bool elide(Rank target) noexcept;
    /// Before an unlock that is not elided, and after it has succeeded.
    int before_unlock(Rank target);
    /// \param repairs false: to show that a test notices
    int after_unlock(Rank target, bool repairs);

  private:
    bool is_still_true() noexcept;
    int fetch_again();
    void end(Epoch next) noexcept;

    WindowState& s_;
};

}  // namespace nearfetch
