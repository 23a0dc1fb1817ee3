// SPDX-License-Identifier: Apache-2.0
#include "array/node_slices.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "array/fragments.hpp"
#include "array/runs.hpp"
#include "base/mixed.hpp"
#include "pgas/context.hpp"
#include "pgas/node_sharing.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;
using pgas::NodeSharing;

namespace {

/// Two hashes of the same words.
class Digest {
  public:
    void add(std::uint64_t word) {
        first_ = mixed(first_ ^ word);
        second_ = mixed(second_ + word);
    }
    void add(std::span<const std::byte> bytes) {
        for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(8, bytes.size()))) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data(), std::min<std::size_t>(8, bytes.size()));
            add(word);
        }
    }
    NodeSharing::Name name(Rank rank, std::uint64_t bytes) const {
        return {rank, first_, second_ >> 1, bytes};  // its end is no less
    }

  private:
    std::uint64_t first_ = 1;
    std::uint64_t second_ = 2;
};

NodeSharing::Name name_of(const SliceMove& move) {
    const Slice& slice = move.slice;
    Digest digest;
    digest.add(slice.address);
    digest.add(slice.element_bytes);
    for (std::size_t d = 0; d < 4; ++d)
        for (const std::int64_t word : {slice.part[d], slice.lower[d], slice.extent[d]})
            digest.add(static_cast<std::uint64_t>(word));
    digest.add(Runs::encoded_set_of(move));
    return digest.name(slice.owner, bytes_of(slice, move.only));
}

struct Fragment {
    SliceMove move;
    NodeSharing::Name name;
};

/// A slice, and some of its fragments.
struct Share {
    SliceMove whole;
    std::size_t fragments = 0;  ///< how many it has
    std::vector<Fragment> some = {};
};

/// One fetch of several slices.
class NodeFetch {
  public:
    NodeFetch(NodeSharing& near, Packer packer, const SlicePacking& packing)
        : near_(near), packer_(packer), packing_(packing) {}

    void add(const SliceMove& move) {
        if (!is_shared(move)) return moves_.push_back(move);
        Share missing{move}, expected{move};
        for_each_fragment(move, [&](const SliceMove& one) {
            const Fragment fragment{one, name_of(one)};
            ++missing.fragments;
            ++expected.fragments;
            if (find(fragment)) return;
            (near_.may_wait_until(fragment.name) != 0 ? expected : missing).some.push_back(fragment);
        });
        want(missing);
        missing_.push_back(std::move(missing));
        expected_.push_back(std::move(expected));
    }
    std::uint64_t run(const OverlapWork& overlap_work) {
        const NodeTime issued = steady_ns();
        for_each_missing([&](const Fragment& fragment) { near_.announce(fragment.name, issued); });
        fetch(overlap_work);
        for_each_missing(
            [&](const Fragment& fragment) { near_.offer(fragment.name, issued, fragment.move.packed); });
        moves_.clear();
        for (Share& share : expected_) {
            std::erase_if(share.some, [&](const Fragment& fragment) { return wait_for(fragment); });
            want(share);
        }
        fetch({});
        return found_bytes_;
    }

  private:
    bool is_shared(const SliceMove& move) {
        const std::uint64_t bytes = bytes_of(move.slice, move.only);
        return bytes != 0 && move.slice.owner != rank() && near_.serves(move.slice.owner) &&
               (move.only == nullptr || bytes <= near_.largest_bytes());
    }
    bool find(const Fragment& fragment) {
        if (!near_.find(fragment.name, fragment.move.packed)) return false;
        found_bytes_ += fragment.name.bytes;
        return true;
    }
    /// In as few messages as without the others, where they have none of it.
    void want(const Share& share) {
        if (share.some.size() == share.fragments) return moves_.push_back(share.whole);
        for (const Fragment& fragment : share.some)
            moves_.push_back(fragment.move);
    }
    void fetch(const OverlapWork& overlap_work) {
        if (moves_.empty()) {
            if (overlap_work) overlap_work();
            return;
        }
        const NodeTime begin = steady_ns();
        get_slices(moves_, packer_, true, packing_, overlap_work);
        near_.took(steady_ns() - begin);
    }
    template <class Visit>
    void for_each_missing(const Visit& visit) {
        for (const Share& share : missing_)
            std::ranges::for_each(share.some, visit);
    }
    /// Serves other ranks meanwhile, so that nobody waits for this one.
    bool wait_for(const Fragment& fragment) {
        const NodeTime until = near_.may_wait_until(fragment.name);
        while (!find(fragment)) {
            if (steady_ns() >= until) return false;
            Context::here().transport().yield();
        }
        return true;
    }

    NodeSharing& near_;
    const Packer packer_;
    const SlicePacking& packing_;
    std::vector<SliceMove> moves_;  ///< to be fetched
    std::vector<Share> missing_;    ///< fragments that are fetched and offered
    std::vector<Share> expected_;   ///< fragments that another rank is fetching
    std::uint64_t found_bytes_ = 0;
};

}  // namespace

std::uint64_t get_node_slices(std::span<const SliceMove> moves, Packer packer, const SlicePacking& packing,
                              const OverlapWork& overlap_work) {
    NodeSharing* const near = Context::here().node_sharing();
    if (near == nullptr) {
        get_slices(moves, packer, true, packing, overlap_work);
        return 0;
    }
    NodeFetch fetch(*near, packer, packing);
    for (const SliceMove& move : moves)
        fetch.add(move);
    return fetch.run(overlap_work);
}

}  // namespace nearfetch::detail
