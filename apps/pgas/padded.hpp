// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a programmer writes by hand in place of a distributed array and a stencil's prefetch: a block of plain
// memory in each rank, with a ghost of each element around it. Only faces are moved, one message for each
// neighbour. Each rank packs its faces in its segment, and its neighbours get them from there.

#include <array>
#include <nearfetch/array.hpp>
#include <vector>

namespace nearfetch::programs {

/// A box and a layer of ghosts around it.
template <std::size_t N>
Box<N> with_ghosts(Box<N> box) {
    for (std::size_t d = 0; d < N; ++d) {
        --box.lower[d];
        ++box.upper[d];
    }
    return box;
}

/// This rank's elements, dealt out as a BlockArray's are, and a layer of ghosts.
template <class T, std::size_t N>
class PaddedBlock {
  public:
    /// Zero. Collective. \param corners whether ghosts may differ from own elements in several indices
    PaddedBlock(const Box<N>& bounds, bool corners) : layout_(bounds, balanced_grid<N>(ranks())) {
        const Index<N> shape = layout_.local_shape(rank());
        if (Box<N>({}, shape).size() != 0) own_.lower = layout_.global(rank(), {});
        for (std::size_t d = 0; d < N; ++d)
            own_.upper[d] = own_.lower[d] + shape[d];
        all_ = with_ghosts(own_);
        view_ = View<T, N>(nullptr, all_.shape());
        elements_.resize(static_cast<std::size_t>(all_.size()));
        find_faces(corners);
    }

    const Layout<N>& layout() const { return layout_; }
    const Box<N>& own() const { return own_; }
    /// Own elements and ghosts.
    const Box<N>& all() const { return all_; }
    /// Of one index to the next, in each dimension.
    const Index<N>& strides() const { return view_.strides(); }
    T* at(const Index<N>& i) { return elements_.data() + position(i); }
    const T* at(const Index<N>& i) const { return elements_.data() + position(i); }

    /// Brings all ghosts. Collective, with a barrier. A block may be exchanged again after another barrier.
    void exchange() {
        T* const packed = faces_.local();
        for (const Face& face : sent_)
            copy_face(face.box, packed + face.place, [](T& here, T& there) { there = here; });
        barrier();
        std::vector<Transfer> transfers;
        for (const Face& face : received_)
            transfers.push_back(start_get(faces_.at_rank(face.rank) + face.place, buffer_of(face)));
        for (Transfer& transfer : transfers)
            transfer.wait();
        for (const Face& face : received_)
            copy_face(face.box, buffer_of(face).data(), [](T& here, T& there) { here = there; });
    }

  private:
    struct Face {
        Rank rank;  ///< its owner
        Box<N> box;
        std::ptrdiff_t place;  ///< among the packed faces of a rank
    };

    std::int64_t position(const Index<N>& i) const {
        std::int64_t sum = 0;
        for (std::size_t d = 0; d < N; ++d)
            sum += (i[d] - all_.lower[d]) * view_.strides()[d];
        return sum;
    }
    std::span<T> buffer_of(const Face& face) {
        return std::span(buffer_).subspan(static_cast<std::size_t>(face.place),
                                          static_cast<std::size_t>(face.box.size()));
    }
    /// Calls copy(here, there) for each element of a face and its place in a packed one. Charged as what
    /// arrays copy.
    template <class Copy>
    void copy_face(const Box<N>& box, T* there, const Copy& copy) {
        Box<N> rows = box;
        rows.upper[N - 1] = rows.lower[N - 1] + 1;
        for_each_index(rows, [&](const Index<N>& first) {
            T* const here = at(first);
            for (std::int64_t k = 0; k < box.extent(N - 1); ++k)
                copy(here[k], *there++);
        });
        const auto row_bytes = sizeof(T) * static_cast<std::uint64_t>(box.extent(N - 1));
        detail::charge_copy(static_cast<std::uint64_t>(rows.size()) * detail::whole_lines(row_bytes));
    }

    /// Faces have the same places in all ranks. Blocks beside each other are as long as each other.
    void find_faces(bool corners) {
        const Index<N> largest = layout_.local_shape(0);
        std::ptrdiff_t place = 0;
        std::size_t directions = 1;
        for (std::size_t d = 0; d < N; ++d)
            directions *= 3;
        for (std::size_t number = 0; number < directions; ++number) {
            Box<N> ghosts = own_, edge = own_;
            std::ptrdiff_t most = 1;  // elements of any rank's
            std::size_t differ = 0;
            std::size_t rest = number;
            for (std::size_t d = 0; d < N; ++d, rest /= 3) {
                if (rest % 3 == 0) {
                    most *= largest[d];
                    continue;
                }
                ++differ;
                const bool before = rest % 3 == 1;
                ghosts.lower[d] = before ? own_.lower[d] - 1 : own_.upper[d];
                ghosts.upper[d] = ghosts.lower[d] + 1;
                // The one that the rank on the other side wants.
                edge.lower[d] = before ? own_.upper[d] - 1 : own_.lower[d];
                edge.upper[d] = edge.lower[d] + 1;
            }
            if (differ == 0 || (differ > 1 && !corners)) continue;
            if (!own_.empty()) {
                sent_.push_back({rank(), edge, place});
                if (layout_.bounds().contains(ghosts))
                    received_.push_back({layout_.owner(ghosts.lower), ghosts, place});
            }
            place += most;
        }
        faces_ = allocate<T>(static_cast<std::size_t>(place));
        buffer_.resize(static_cast<std::size_t>(place));
    }

    Layout<N> layout_;
    Box<N> own_;
    Box<N> all_;
    View<T, N> view_;  ///< for its strides
    std::vector<T> elements_;
    std::vector<Face> sent_, received_;
    GlobalPtr<T> faces_;
    std::vector<T> buffer_;  ///< of packed faces that came
};

}  // namespace nearfetch::programs
