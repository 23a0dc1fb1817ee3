// SPDX-License-Identifier: Apache-2.0
#pragma once

// Moves bytes for a runtime that does its own communication: contiguous GETs and PUTs are started, and their
// completion is reported. (Under the MPI interposer the program completes its transfers itself:
// window_transfers.hpp.)
//
// An endpoint belongs to one thread. Operations complete in any order. Two on the same bytes also take effect
// in any order, unless the first was complete before the second started. A GET reads, and a PUT writes,
// between its start and its completion.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/types.hpp"

namespace nearfetch {

/// The number of an operation, chosen by who starts it.
using Token = std::uint64_t;

/// Statuses common to all transports. Others are the transport's own (for example an MPI error code); 0 is
/// success.
namespace transport_status {
inline constexpr int bad_rank = -1;  ///< no such rank
inline constexpr int outside = -2;   ///< some bytes are outside of the target's segment
}  // namespace transport_status

struct Completion {
    Token token;
    int status;
};

class Transport {
  public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Starts to fetch `size` bytes at `address` of `target` to `to`; does not wait. \pre size > 0
    /// \return 0; or a status if it was not started, then no completion follows
    virtual int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                          Token token) = 0;
    /// Starts to write. Complete means visible at the target to every reader. `from` may not change before
    /// that.
    virtual int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                          Token token) = 0;

    /// Reports new completions. \return how many; may be 0
    virtual std::size_t test(std::span<Completion> out) = 0;
    /// As test(), but waits for at least one. A transport that schedules tasks may run others of the same
    /// thread, which may use this endpoint. It returns 0 if they took all completions.
    /// \pre an operation is outstanding
    virtual std::size_t wait(std::span<Completion> out) = 0;

    /// The bytes around `address` that may be fetched with it; empty if that byte is not addressable.
    virtual ByteRange readable(Rank target, std::uint64_t address) const noexcept = 0;
    /// The same for an access of several bytes; perhaps less than the access, if no more is known.
    virtual ByteRange readable_with(Rank target, ByteRange access) const noexcept {
        return readable(target, access.begin);
    }
    /// Idle: other threads may use the processor.
    virtual void yield() = 0;
    /// This thread's clock, wall or virtual.
    virtual std::uint64_t now_ns() = 0;
    /// The processor's time of this thread, where the clock is virtual.
    virtual void spend(std::uint64_t /*ns*/) {}
    /// Describes a status other than 0.
    virtual std::string status_text(int status) const {
        if (status == transport_status::bad_rank) return "there is no such rank";
        if (status == transport_status::outside) return "not all of these bytes are in one segment";
        return "the transport's status " + std::to_string(status);
    }
};

}  // namespace nearfetch
