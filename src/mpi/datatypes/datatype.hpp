// SPDX-License-Identifier: Apache-2.0
#pragma once

// The layout of a datatype as a list of byte ranges (001, section II-B). The paper flattens a type at each
// get. Here a layout is computed once, and kept until the type is freed.

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

/// One element of a datatype: its blocks in the order in which MPI sends them. Adjacent blocks are merged.
struct Layout {
    std::vector<LayoutRun> blocks;
    std::int64_t extent = 0;  ///< from one element to the next, bytes
    std::uint64_t size = 0;   ///< of all blocks together, bytes
    bool known = false;       ///< false: unknown constructor, or too many blocks

    /// Any number of elements is one run of bytes that starts at the buffer's address.
    bool dense() const noexcept {
        return known && blocks.size() == 1 && blocks.front().offset == 0 &&
               static_cast<std::int64_t>(size) == extent;
    }
};

/// Types of up to this many blocks are always flattened. A caller that wants one block at most is mostly
/// followed by one that wants all of them. Most gets of larger types are bypassed.
inline constexpr std::uint64_t runs_at_once = 64;

/// False for handles that MPI would call an error, as far as their value shows it.
bool is_datatype(MPI_Datatype type) noexcept;

/// Predefined, with a name or without. Such a type is never freed.
bool is_predefined(MPI_Datatype type) noexcept;

/// The layout of `type`. It is not known if it has more than `run_limit` blocks, or if `type` is null, no
/// datatype, or not committed. The reference is valid until `type` is freed. Any thread may call between
/// MPI's start and its end. Raises no MPI error.
/// \throws std::bad_alloc
const Layout& layout_of(MPI_Datatype type, std::uint64_t run_limit);

namespace detail {
extern std::atomic<std::uint64_t> layout_generation;
/// The layout of a valid datatype. The time is proportional to the arguments of the constructors and to the
/// blocks, not to the elements.
Layout compute_layout(MPI_Datatype type, std::uint64_t run_limit);
}  // namespace detail

/// Changes when the answer for some type may change. A caller may keep an answer as long as the generation
/// is the one that it read *before* it asked.
inline std::uint64_t datatype_generation() noexcept {
    return detail::layout_generation.load(std::memory_order_acquire);
}

/// Replaces `out` by the blocks of `count` elements at `base`, in MPI's order. Adjacent blocks are merged.
/// \return false if the layout is not known, there are more than `run_limit` blocks, or an address overflows
/// \throws std::bad_alloc
bool flatten(const Layout& layout, std::int64_t base, std::uint64_t count, std::uint64_t run_limit,
             std::vector<LayoutRun>& out);

/// Makes the communicator by which layout_of() finds out whether a type is committed. Without it, every type
/// counts as committed. Call it once.
void start_type_checks() noexcept;
/// Call it while MPI is being finalized.
void end_type_checks() noexcept;

}  // namespace nearfetch
