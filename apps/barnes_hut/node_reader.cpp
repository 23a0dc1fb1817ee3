// SPDX-License-Identifier: Apache-2.0
#include "barnes_hut/node_reader.hpp"

#include <algorithm>
#include <cstring>

namespace nearfetch::barnes_hut {

NodeReader::NodeReader(int rank, const CacheOptions& cache, bool tell_first_gets)
    : rank_(rank), cache_(cache), tell_first_gets_(tell_first_gets) {
    if (!cache.enabled) return;
    tags_.resize(cache.capacity_bytes / cache.block_bytes);
    slots_.resize(tags_.size() * cache.block_bytes);
}

std::uint64_t NodeReader::window_bytes(std::uint64_t nodes) const {
    const std::uint64_t bytes = nodes * sizeof(Node);
    if (!cache_.enabled) return bytes;
    const std::uint64_t blocks = (bytes + cache_.block_bytes - 1) / cache_.block_bytes;
    // MPI may place the next rank's window directly behind this one, and its nodes have to be aligned too.
    return (blocks * cache_.block_bytes + alignof(Node) - 1) / alignof(Node) * alignof(Node);
}

void NodeReader::begin_phase(const apps::Window& window, std::uint64_t window_bytes) {
    window_ = window.handle();
    own_ = static_cast<const Node*>(window.memory());
    blocks_per_rank_ = window_bytes / cache_.block_bytes;
    std::fill(tags_.begin(), tags_.end(), 0);
    seen_.clear();
    ideal_.invalidate();
}

void NodeReader::get(void* buffer, std::size_t bytes, int target, std::uint64_t offset_bytes) {
    const auto count = static_cast<int>(bytes);
    watch_.start();
    MPI_Get(buffer, count, MPI_BYTE, target, static_cast<MPI_Aint>(offset_bytes), count, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
    watch_.stop();
    ++counts_.remote_gets;
    counts_.remote_bytes += bytes;
}

void NodeReader::get_node(Ref ref) {
    const double before = watch_.seconds();
    get(&remote_, sizeof(Node), ref.rank, ref.index * sizeof(Node));
    if (!tell_first_gets_) return;
    const std::uint64_t range = static_cast<std::uint64_t>(ref.rank) << 32 | ref.index;
    if (seen_.insert(range).second) {
        ++counts_.first_gets;
    } else {
        const double seconds = watch_.seconds() - before;
        repeated_seconds_ += seconds;
        ideal_.add_repeated(range, sizeof(Node), seconds);
    }
}

const std::byte* NodeReader::block(int target, std::uint64_t number) {
    const std::uint64_t global = static_cast<std::uint64_t>(target) * blocks_per_rank_ + number;
    const std::size_t slot = global % tags_.size();
    std::byte* data = slots_.data() + slot * cache_.block_bytes;
    if (tags_[slot] == global + 1) {
        ++counts_.block_hits;
    } else {
        ++counts_.block_misses;
        get(data, cache_.block_bytes, target, number * cache_.block_bytes);
        tags_[slot] = global + 1;
    }
    return data;
}

void NodeReader::read_through_cache(Ref ref) {
    auto* out = reinterpret_cast<std::byte*>(&remote_);
    std::uint64_t offset = ref.index * sizeof(Node);
    // A node may span two blocks.
    for (std::uint64_t left = sizeof(Node); left != 0;) {
        const std::uint64_t within = offset % cache_.block_bytes;
        const std::uint64_t part = std::min(left, cache_.block_bytes - within);
        std::memcpy(out, block(ref.rank, offset / cache_.block_bytes) + within, part);
        out += part;
        offset += part;
        left -= part;
    }
}

}  // namespace nearfetch::barnes_hut
