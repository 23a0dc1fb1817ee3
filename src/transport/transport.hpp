// SPDX-License-Identifier: Apache-2.0
#pragma once

// How bytes move for a runtime that does its own communication: GETs and PUTs of contiguous bytes that are
// started, and reported when they are complete. (Under the MPI interposer the program completes its transfers
// itself: window_transfers.hpp.)
//
// An endpoint belongs to one thread. Operations may complete in any order; two that touch the same bytes
// take effect in any order, too, unless the first was complete before the second was started. A GET has read
// its bytes, and a PUT has written its own, at some time between its start and its completion.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/types.hpp"

namespace nearfetch {

/// Names an operation; whoever starts it chooses it.
using Token = std::uint64_t;

/// Statuses that mean the same on every transport. Others are its own (an MPI error code, say); 0 is success.
namespace transport_status {
inline constexpr int bad_rank = -1;  ///< no such rank
inline constexpr int outside = -2;   ///< not all of these bytes are in the target's segment
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
    /// \return 0, or why it was not started: then no completion comes
    virtual int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                          Token token) = 0;
    /// Starts to write there. Complete means: there, for every reader. `from` stays as it is until then.
    virtual int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                          Token token) = 0;

    /// Reports what has completed and was not reported yet. \return how many; 0: nothing at the moment
    virtual std::size_t test(std::span<Completion> out) = 0;
    /// As test(), but waits until there is one. A transport that schedules tasks may run others of the same
    /// thread meanwhile, which may use this endpoint; 0 when they have taken all there was.
    /// \pre something is under way
    virtual std::size_t wait(std::span<Completion> out) = 0;

    /// The bytes around `address` that may be fetched along with it; empty when not even that one.
    virtual ByteRange readable(Rank target, std::uint64_t address) const noexcept = 0;
    /// There is nothing to do just now: others may have the processor.
    virtual void yield() = 0;
    /// This thread's time, of the wall or a virtual one.
    virtual std::uint64_t now_ns() = 0;
    /// What a status other than 0 means, for people.
    virtual std::string status_text(int status) const {
        if (status == transport_status::bad_rank) return "there is no such rank";
        if (status == transport_status::outside) return "not all of these bytes are in the segment";
        return "the transport's status " + std::to_string(status);
    }
};

}  // namespace nearfetch
