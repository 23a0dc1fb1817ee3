// SPDX-License-Identifier: Apache-2.0
#pragma once

// Read-ahead: what is fetched with a miss, although nobody has asked for it.
//
// A program that reads remote memory in small runs pays a round trip for each, although one would bring
// hundreds; 000 has its cache of pages for that reason. The second miss within a block of read_ahead_bytes is
// taken as the sign that more of the block will be wanted. It fetches the gap around it within that block,
// over the few bytes that the first miss brought. So a stream of gets that touch no block twice costs nothing
// extra, and the waste is bounded: at most one block for two misses, and only while the blocks that went had
// been used. How large blocks are follows from that (read_ahead_sizer.hpp).
//
// Somebody may be writing the bytes that nobody has asked for, in full agreement with the standard. So they
// may be fetched only where the moment of the fetch decides whether a later get may have them. In mode
// acquire it does: a get that has to see a write made since then comes after an acquire made since then. In
// always-cache nobody writes, and in user-defined where read_only_phases says so from one invalidate to the
// next; if this process puts something meanwhile, it was no such phase. Otherwise a program that invalidates
// what it is going to read would not think of what it has not read.

#include <cstdint>
#include <optional>

#include "rma/window_state.hpp"

namespace nearfetch {

class ReadAhead {
  public:
    explicit ReadAhead(WindowState& state) noexcept : s_(state) {}

    /// What to fetch for this get's only gap, with what is missing around it; nothing if it is to be fetched
    /// as it is. \post the range is larger than the gap
    std::optional<ByteRange> range_around(const Get& get, ByteRange gap);
    /// An acquire of the window: a new phase begins.
    void begin_phase() noexcept { puts_before_ = s_.counters.puts; }

  private:
    bool is_allowed(Rank target) const noexcept;
    std::optional<ByteRange> bounds_of(Rank target, ByteRange gap) noexcept;

    WindowState& s_;
    std::uint64_t puts_before_ = 0;  ///< this phase
};

}  // namespace nearfetch
