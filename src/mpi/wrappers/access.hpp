// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a get and a put have in common: their arguments, and the bytes that these mean.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "mpi/datatypes/datatype.hpp"
#include "mpi/lookups.hpp"
#include "mpi/requests/request_table.hpp"

namespace nearfetch {

/// The arguments of a get or a put, for int and MPI_Count alike. A put only reads from its origin.
template <class Count>
struct Access {
    void* origin;
    Count origin_count;
    MPI_Datatype origin_type;
    int target;
    MPI_Aint displacement;
    Count target_count;
    MPI_Datatype target_type;
    MPI_Win win;
};

/// Bytes that `count` elements carry; 0 where the library cannot say.
inline std::uint64_t target_bytes(MPI_Datatype type, MPI_Count count) noexcept {
    if (const std::uint64_t element = element_bytes(type); element != 0) return bytes_of(element, count);
    // What is none is for the library's own call to refuse: by the window's error handler.
    if (!is_datatype(type) || count <= 0) return 0;
    MPI_Count size = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
    return bytes_of(static_cast<std::uint64_t>(size), count);
}

/// Bytes of the access if it is one run on both sides, else 0.
template <class Count>
std::uint64_t run_bytes(const Access<Count>& access) noexcept {
    const std::uint64_t size = bytes_of(dense_bytes(access.target_type), access.target_count);
    if (access.origin_type == access.target_type && access.origin_count == access.target_count) return size;
    return bytes_of(dense_bytes(access.origin_type), access.origin_count) == size ? size : 0;
}

/// A get as the hot paths see it.
template <class Count>
RangeGet range_get_of(const Window& window, const Access<Count>& call, RequestId request = 0) noexcept {
    // Where nobody says when a request has ended, its buffer must not be looked at.
    const bool is_seen = run_bytes(call) != 0 && (request == 0 || RequestTable::sees_completions());
    return {.target = call.target,
            .offset = window.offset(call.target, call.displacement),
            .size = target_bytes(call.target_type, call.target_count),
            .origin = is_seen ? static_cast<std::byte*>(call.origin) : nullptr,
            .request = request};
}

/// So many runs at least, as far as these go: `run_limit` + 1 stands for any number above.
/// \throws std::bad_alloc
inline std::uint64_t least_runs(MPI_Datatype type, MPI_Count count, std::uint64_t run_limit) {
    const Layout& layout = layout_of(type, run_limit);
    const std::uint64_t many = run_limit + 1;
    if (!layout.known) return many;
    if (layout.blocks.empty() || count <= 0) return 0;
    const LayoutRun &first = layout.blocks.front(), &last = layout.blocks.back();
    const bool joined = first.offset + layout.extent == last.offset + static_cast<std::int64_t>(last.size);
    const std::uint64_t each = layout.blocks.size() - (joined ? 1 : 0);
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(each, static_cast<std::uint64_t>(count), &all)) return many;
    return std::min(all + (joined ? 1 : 0), many);
}
template <class Count>
std::uint64_t least_runs(const Access<Count>& access, std::uint64_t run_limit) noexcept try {
    return std::max(least_runs(access.origin_type, access.origin_count, run_limit),
                    least_runs(access.target_type, access.target_count, run_limit));
} catch (const std::bad_alloc&) {
    return run_limit + 1;
}

/// All addresses between which the bytes of an access lie at its origin; any where the library cannot say.
template <class Count>
ByteRun origins_of(const Access<Count>& access) noexcept {
    constexpr ByteRun any{0, ~std::uint64_t{0}, nullptr};
    MPI_Count first = 0, bytes = 0, lower = 0, extent = 0, to_last = 0;
    if (PMPI_Type_get_true_extent_x(access.origin_type, &first, &bytes) != MPI_SUCCESS ||
        PMPI_Type_get_extent_x(access.origin_type, &lower, &extent) != MPI_SUCCESS ||
        __builtin_mul_overflow(extent, MPI_Count{access.origin_count} - 1, &to_last))
        return any;
    const auto begin = reinterpret_cast<std::uintptr_t>(access.origin) +
                       static_cast<std::uintptr_t>(first + std::min<MPI_Count>(to_last, 0));
    const auto size = static_cast<std::uint64_t>(bytes) + static_cast<std::uint64_t>(std::abs(to_last));
    return {0, size, reinterpret_cast<std::byte*>(begin)};
}

/// \return false if the layouts are not known, or it is not one that could be cached: then it is not cached
template <class Count>
bool find_runs(const Window& window, const Access<Count>& access, std::vector<ByteRun>& runs) noexcept try {
    if (const std::uint64_t size = run_bytes(access); size != 0) {
        const std::uint64_t offset = window.offset(access.target, access.displacement);
        runs.assign(1, {offset, size, static_cast<std::byte*>(access.origin)});
    } else if (!make_runs(window, access.origin, static_cast<std::uint64_t>(access.origin_count),
                          access.origin_type, access.target, access.displacement,
                          static_cast<std::uint64_t>(access.target_count), access.target_type, runs)) {
        return false;
    }
    for (const ByteRun& run : runs)
        if (run.offset + run.size < run.offset) return false;
    return !runs.empty();
} catch (const std::bad_alloc&) {
    return false;
}

/// A get that is not one plain hit: from the cache what is there, the rest by the starter.
template <class Count>
int get_slowly(Window& window, const Access<Count>& access, RequestId request, GetStarter& starter,
               Begun& begun);

}  // namespace nearfetch
