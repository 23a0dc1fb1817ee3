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
// Somebody may be writing the bytes that nobody has asked for, in full agreement with the standard. A get
// that has to see such a write comes after an acquire made since then. So these bytes expire when the process
// acquires, as all do in mode acquire; in user-defined and always-cache those stay that were asked for. A
// program that invalidates what it is going to read does not think of what it has not read. Nothing expires
// where nobody writes: in always-cache, and in user-defined where read_only_phases says so from one
// invalidate to the next. What this process puts shows that this phase is none; in always-cache, that the
// window is being filled, and the next acquire of the process ends that.

#include <cstdint>
#include <optional>

#include "rma/window_state.hpp"

namespace nearfetch {

class ReadAhead {
  public:
    explicit ReadAhead(WindowState& state) noexcept : s_(state) {}

    struct Region {
        ByteRange range;
        bool expires;  ///< before what was asked for does
    };
    /// What to fetch for this get's only gap, with what is missing around it; nothing if it is to be fetched
    /// as it is. \post the range is larger than the gap
    std::optional<Region> region_around(const Get& get, ByteRange gap);
    /// An acquire of the window: a new phase begins.
    void begin_phase() noexcept { puts_before_ = s_.counters.puts; }

  private:
    bool is_allowed() const noexcept;
    bool lasts(Rank target) noexcept;
    std::optional<ByteRange> bounds_of(Rank target, ByteRange gap) noexcept;

    WindowState& s_;
    std::uint64_t puts_before_ = 0;  ///< this phase
    std::uint64_t puts_seen_ = 0;
    std::uint64_t acquires_seen_ = 0;
    bool is_filling_ = false;  ///< this process has put something since it acquired
};

}  // namespace nearfetch
