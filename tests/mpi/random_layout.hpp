// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random places in a window or a buffer, and MPI datatypes that have exactly these places.

#include <algorithm>

#include "check.hpp"

namespace check {

/// What Open MPI 4.1 gets wrong by itself is left out there: in shared memory (osc rdma) Get_accumulate
/// through derived target types and resized or nested ones, over TCP (osc pt2pt) a flush_local, which may
/// hang.
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
constexpr bool open_mpi_4 = true;
#else
constexpr bool open_mpi_4 = false;
#endif

struct Block {
    int offset, bytes;
};
/// Places in a window or a buffer, in the order of the type map. All are multiples of 4 bytes.
using Layout = std::vector<Block>;

inline int total(const Layout& layout) {
    int sum = 0;
    for (const Block& b : layout)
        sum += b.bytes;
    return sum;
}

inline std::vector<unsigned char> gather(const unsigned char* from, const Layout& layout) {
    std::vector<unsigned char> out;
    for (const Block& b : layout)
        out.insert(out.end(), from + b.offset, from + b.offset + b.bytes);
    return out;
}

inline void scatter(unsigned char* to, const Layout& layout, const std::vector<unsigned char>& data) {
    std::size_t at = 0;
    for (const Block& b : layout) {
        std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), b.bytes, to + b.offset);
        at += static_cast<std::size_t>(b.bytes);
    }
}

/// A layout of exactly `ints` ints within `span` bytes, or of at most that many where they do not fit.
inline Layout random_layout(Random& random, int ints, int span) {
    const int room = span / 4;
    ints = std::min(ints, room);
    Layout layout;
    if (ints <= 1 || random.below(2) == 0)
        return {{4 * static_cast<int>(random.below(static_cast<std::uint64_t>(room - ints + 1))), 4 * ints}};
    // Blocks with gaps: the spare room is dealt out between them.
    int spare = room - ints, at = 0;
    while (ints > 0) {
        const int gap =
            spare > 0 ? static_cast<int>(random.below(static_cast<std::uint64_t>(std::min(spare, 6) + 1)))
                      : 0;
        const int length = random.between(1, std::min(ints, 9));
        at += gap;
        spare -= gap;
        layout.push_back({4 * at, 4 * length});
        at += length;
        ints -= length;
    }
    if (random.below(3) == 0) std::reverse(layout.begin(), layout.end());
    return layout;
}

/// An MPI type with these places, by one of several constructors; committed. Its address is that of offset 0.
inline MPI_Datatype make_type(Random& random, const Layout& layout) {
    MPI_Datatype type, inner;
    std::vector<int> lengths, places;
    std::vector<MPI_Aint> offsets;
    for (const Block& b : layout) {
        lengths.push_back(b.bytes / 4);
        places.push_back(b.offset / 4);
        offsets.push_back(b.offset);
    }
    const int n = static_cast<int>(layout.size());
    switch (random.below(open_mpi_4 ? 3 : 5)) {
        case 0:
            MPI_Type_indexed(n, lengths.data(), places.data(), MPI_INT32_T, &type);
            break;
        case 1:
            MPI_Type_create_hindexed(n, lengths.data(), offsets.data(), MPI_INT32_T, &type);
            break;
        case 2: {
            const std::vector<MPI_Datatype> members(lengths.size(), MPI_INT32_T);
            MPI_Type_create_struct(n, lengths.data(), offsets.data(), members.data(), &type);
            break;
        }
        case 3:
            MPI_Type_indexed(n, lengths.data(), places.data(), MPI_INT32_T, &inner);
            MPI_Type_create_resized(inner, -16, 4096, &type);
            MPI_Type_free(&inner);
            break;
        default: {
            std::vector<MPI_Datatype> members;
            for (const int length : lengths) {
                members.emplace_back();
                MPI_Type_contiguous(length, MPI_INT32_T, &members.back());
            }
            const std::vector<int> ones(lengths.size(), 1);
            MPI_Type_create_struct(n, ones.data(), offsets.data(), members.data(), &type);
            for (MPI_Datatype& member : members)
                MPI_Type_free(&member);
        }
    }
    CHECK_MPI(MPI_Type_commit(&type));
    return type;
}

}  // namespace check
