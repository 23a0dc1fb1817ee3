// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace nearfetch {

/// One contiguous run of bytes of an access: `size` bytes at `offset` of the target's window, and at `origin`
/// here.
struct ByteRun {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::byte* origin = nullptr;

    ByteRange range() const noexcept { return {offset, offset + size}; }
};

/// Transfers of a window that the program's own calls complete: all that the interposer's engine needs of the
/// network. A status is the transport's own: 0 is success, everything else is handed through to
/// whoever can name it (an MPI error code stays that code).
class WindowTransfers {
  public:
    WindowTransfers() = default;
    WindowTransfers(const WindowTransfers&) = delete;
    WindowTransfers& operator=(const WindowTransfers&) = delete;
    virtual ~WindowTransfers() = default;

    /// Starts the transfer of all `runs` from `target` to their origins as one operation; does not wait.
    virtual int start_get(Rank target, std::span<const ByteRun> runs) = 0;

    /// The same the other way: from their origins, which stay as they are until it is complete here.
    virtual int start_put(Rank target, std::span<const ByteRun> runs) = 0;

    /// Completes here what was started at `target`: its origins may be used again.
    virtual int flush_local(Rank target) = 0;

    /// Enters the communication library, so that others are served.
    virtual void progress() = 0;
};

}  // namespace nearfetch
