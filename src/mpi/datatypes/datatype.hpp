// SPDX-License-Identifier: Apache-2.0
#pragma once

// Datatypes flattened to blocks (001, section II-B), so that a get of any layout is a list of byte ranges.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace nearfetch {

/// A contiguous run of bytes of one element of a datatype.
struct LayoutRun {
    std::int64_t offset = 0;  ///< from the buffer's address, bytes; may be negative
    std::uint64_t size = 0;   ///< bytes, never 0

    friend bool operator==(const LayoutRun&, const LayoutRun&) = default;
};

/// One element of a datatype, flattened: its blocks in the order in which MPI sends them, adjacent ones
/// merged.
struct Layout {
    std::vector<LayoutRun> blocks;
    std::int64_t extent = 0;  ///< from one element to the next, bytes
    std::uint64_t size = 0;   ///< of all blocks together, bytes
    bool known = false;  ///< false: could not be flattened (a constructor we do not know, too many blocks)

    /// Any number of elements is one run of bytes that starts at the buffer's address.
    bool dense() const noexcept {
        return known && blocks.size() == 1 && blocks.front().offset == 0 &&
               static_cast<std::int64_t>(size) == extent;
    }
};

/// Types of up to this many blocks are flattened at once, however few were asked for: the caller that wants
/// one block at most is mostly followed by one that wants them all. Of types of more blocks most gets are
/// bypassed, and nobody has to know which blocks these are.
inline constexpr std::uint64_t runs_at_once = 64;

/// The layout of `type`, kept until the type is freed (from whichever language) and then forgotten, because
/// MPI reuses handles. Layouts of more than `run_limit` blocks are not known. Valid until `type` is freed,
/// and at least until the same thread's fourth call from now; copy what has to last. Any thread may call at
/// any time between MPI's start and its end. Never raises an MPI error: a handle that is null or no datatype
/// at all, or a type that was not committed, is simply not known.
/// \throws std::bad_alloc
const Layout& layout_of(MPI_Datatype type, std::uint64_t run_limit);

namespace detail {
extern std::atomic<std::uint64_t> layout_generation;
}

/// Changes whenever a layout is forgotten or could not be kept, so that an answer remembered together with
/// the generation read *before* it was asked for can be checked by one comparison.
inline std::uint64_t datatype_generation() noexcept {
    return detail::layout_generation.load(std::memory_order_acquire);
}

/// Replaces `out` by the blocks of `count` elements at `base`, in MPI's order, adjacent ones merged.
/// \return false if the layout is not known, there would be more than `run_limit` blocks, or an address
/// would overflow
/// \throws std::bad_alloc
bool flatten(const Layout& layout, std::int64_t base, std::uint64_t count, std::uint64_t run_limit,
             std::vector<LayoutRun>& out);

}  // namespace nearfetch
