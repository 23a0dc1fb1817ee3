// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace nearfetch {

/// A run: `size` bytes of an access, contiguous at `offset` of the target's window and at `origin` here.
struct ByteRun {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::byte* origin = nullptr;

    ByteRange range() const noexcept { return {offset, offset + size}; }
};

/// Transfers of a window that the program's own calls complete: all that a window's cache needs of the
/// network. A status is the transport's own: 0 is success; others are passed through unchanged (an MPI error
/// code).
class WindowTransfers {
  public:
    WindowTransfers() = default;
    WindowTransfers(const WindowTransfers&) = delete;
    WindowTransfers& operator=(const WindowTransfers&) = delete;
    virtual ~WindowTransfers() = default;

    /// Starts to fetch all `runs` from `target` to their origins, as one operation; does not wait.
    virtual int start_get(Rank target, std::span<const ByteRun> runs) = 0;

    /// Starts to write all `runs` from their origins, which may not change before local completion.
    virtual int start_put(Rank target, std::span<const ByteRun> runs) = 0;

    /// Completes operations at `target` locally: their origins may be reused.
    virtual int flush_local(Rank target) = 0;

    /// MPI_Win_lock(MPI_LOCK_SHARED) with these assertions, and MPI_Win_unlock.
    virtual int lock_shared(Rank /*target*/, int /*assertion*/) { return 0; }
    virtual int unlock(Rank /*target*/) { return 0; }

    /// Enters the communication library, so that it serves other ranks.
    virtual void progress() = 0;

    /// The same, and leaves the processor to another process that this one waits for.
    /// \return false: this process cannot wait
    virtual bool wait_a_moment() { return false; }
};

}  // namespace nearfetch
