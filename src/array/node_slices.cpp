// SPDX-License-Identifier: Apache-2.0
#include "array/node_slices.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

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
    NodeSharing::Name name(Rank rank, std::uint64_t bytes, std::uint64_t offset_in_page) const {
        return {rank, first_, second_ >> 1, bytes, offset_in_page};  // its end is no less
    }

  private:
    std::uint64_t first_ = 1;
    std::uint64_t second_ = 2;
};

NodeSharing::Name name_of(const SliceMove& move, std::uint64_t offset_in_page) {
    const Slice& slice = move.slice;
    Digest digest;
    digest.add(slice.address);
    digest.add(slice.element_bytes);
    for (std::size_t d = 0; d < 4; ++d)
        for (const std::int64_t word : {slice.part[d], slice.lower[d], slice.extent[d]})
            digest.add(static_cast<std::uint64_t>(word));
    digest.add(Runs::encoded_set_of(move));
    return digest.name(slice.owner, bytes_of(slice, move.only), offset_in_page);
}

/// One fetch of several slices.
class NodeFetch {
  public:
    NodeFetch(NodeSharing* near, Packer packer, const SlicePacking& packing)
        : near_(near), packer_(packer), packing_(packing) {}

    void add(WantedSlice& wanted) {
        const SliceMove move{wanted.slice, nullptr, wanted.only};
        const std::uint64_t bytes = bytes_of(move.slice, move.only);
        if (near_ == nullptr || bytes == 0 || move.slice.owner == rank() || !near_->serves(move.slice.owner))
            return fetch_alone(wanted);
        Share share{&wanted, name_of(move, wanted.offset_in_page)};
        if (bytes >= VersionStore::least_bytes) return take(share, NodeSharing::Wait::yes);
        share.own = wanted.own_memory();
        if (find(share)) return;
        if (near_->may_wait_until(share.name) != 0)
            expected_.push_back(share);
        else
            fetch_for_all(share);
    }
    std::uint64_t run(const OverlapWork& overlap_work) {
        fetch(overlap_work);
        for (Share& share : std::exchange(expected_, {}))
            if (share.own != nullptr)
                wait_for_small(share);
            else
                wait_for_version(share);
        fetch({});
        return found_bytes_;
    }

  private:
    /// A slice that ranks of the node share.
    struct Share {
        WantedSlice* wanted;
        NodeSharing::Name name;
        std::byte* own = nullptr;            ///< of a small slice: where its elements are to be
        VersionStore::Arrival arrival = {};  ///< of a large one that another rank is fetching
    };

    void fetch_alone(WantedSlice& wanted) {
        if (wanted.own_memory) moves_.push_back({wanted.slice, wanted.own_memory(), wanted.only});
    }
    void fetch_for_all(const Share& share) {
        std::byte* const to = share.own != nullptr ? share.own : share.wanted->version.data();
        moves_.push_back({share.wanted->slice, to, share.wanted->only});
        fetched_.push_back(share);
    }

    bool find(const Share& share) {
        if (!near_->find(share.name, share.own)) return false;
        found_bytes_ += share.name.bytes;
        return true;
    }
    /// Serves other ranks meanwhile, so that nobody waits for this one.
    void wait_for_small(const Share& share) {
        const NodeTime until = near_->may_wait_until(share.name);
        while (!find(share)) {
            if (steady_ns() >= until) return fetch_for_all(share);
            Context::here().transport().yield();
        }
    }

    void take(Share& share, NodeSharing::Wait wait) {
        VersionStore::Answer answer = near_->take(share.name, wait);
        if (answer.found == VersionStore::Found::nothing) return fetch_alone(*share.wanted);
        if (answer.found == VersionStore::Found::arriving) {
            share.arrival = answer.arrival;
            return expected_.push_back(share);
        }
        share.wanted->place = near_->file_place(answer.version);
        share.wanted->version = std::move(answer.version);
        if (answer.found == VersionStore::Found::begun) return fetch_for_all(share);
        found_bytes_ += share.name.bytes;
    }
    void wait_for_version(Share& share) {
        while (near_->is_awaited(share.arrival))
            Context::here().transport().yield();
        take(share, NodeSharing::Wait::no);
    }

    /// Fetches what is to be fetched, and hands it to the node.
    void fetch(const OverlapWork& overlap_work) {
        if (moves_.empty()) {
            if (overlap_work) overlap_work();
            return;
        }
        const NodeTime issued = steady_ns();
        for (const Share& share : fetched_)
            if (share.own != nullptr) near_->announce(share.name, issued);
        get_slices(moves_, packer_, true, packing_, overlap_work);
        if (near_ != nullptr) near_->took(steady_ns() - issued);
        for (const Share& share : fetched_)
            if (share.own != nullptr)
                near_->offer(share.name, issued, share.own);
            else
                near_->complete(share.wanted->version);
        fetched_.clear();
        moves_.clear();
    }

    NodeSharing* near_;  ///< nullptr: nothing is shared
    const Packer packer_;
    const SlicePacking& packing_;
    std::vector<SliceMove> moves_;  ///< to be fetched
    std::vector<Share> fetched_;    ///< of these: what others may use
    std::vector<Share> expected_;   ///< what other ranks are fetching
    std::uint64_t found_bytes_ = 0;
};

}  // namespace

std::uint64_t get_node_slices(std::span<WantedSlice> wanted, Packer packer, const SlicePacking& packing,
                              const OverlapWork& overlap_work) {
    NodeFetch fetch(Context::here().node_sharing(), packer, packing);
    for (WantedSlice& each : wanted)
        fetch.add(each);
    return fetch.run(overlap_work);
}

}  // namespace nearfetch::detail
