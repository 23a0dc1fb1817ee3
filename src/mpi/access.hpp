// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a get and a put have in common: their arguments, and the bytes that these mean.

#include <mpi.h>

#include <cstdint>
#include <new>
#include <vector>

#include "mpi/flattener.hpp"
#include "mpi/library.hpp"

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

/// Bytes of `count` elements; 0 if there is nothing, or more than 64 bits can say.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t bytes_of(std::uint64_t element, Count count) noexcept {
    std::uint64_t size = 0;
    if (count <= 0 || __builtin_mul_overflow(element, static_cast<std::uint64_t>(count), &size)) return 0;
    return size;
}

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

/// \return false if the layouts are not known, or it is not one that could be cached: then it stays unseen
template <class Count>
bool find_pieces(const Window& window, const Access<Count>& access, std::vector<Piece>& pieces) noexcept try {
    if (const std::uint64_t size = run_bytes(access); size != 0) {
        const std::uint64_t offset = window.offset(access.target, access.displacement);
        pieces.assign(1, {offset, size, static_cast<std::byte*>(access.origin)});
    } else if (!make_pieces(window, access.origin, static_cast<std::uint64_t>(access.origin_count),
                            access.origin_type, access.target, access.displacement,
                            static_cast<std::uint64_t>(access.target_count), access.target_type, pieces)) {
        return false;
    }
    for (const Piece& piece : pieces)
        if (piece.offset + piece.size < piece.offset) return false;
    return !pieces.empty();
} catch (const std::bad_alloc&) {
    return false;
}

/// A get that is not one plain hit: from the cache what is there, the rest by the starter.
template <class Count>
int get_slowly(Window& window, const Access<Count>& access, RequestId request, GetStarter& starter,
               Begun& begun);

}  // namespace nearfetch
