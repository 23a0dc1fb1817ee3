// SPDX-License-Identifier: Apache-2.0
#include "pgas/node_sharing.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace nearfetch::pgas {

namespace {

constexpr std::uint64_t barrier_slots = 64;
constexpr std::uint64_t interval = 64;  // offers
constexpr std::uint64_t first_pause = 1024;
constexpr std::uint64_t longest_pause = 1 << 16;
constexpr std::uint64_t unknown_fetch_ns = 1'000'000;

}  // namespace

/// Stands before the node buffer.
struct alignas(64) NodeSharing::Shared {
    /// When the first rank has left a barrier, by its number modulo their count; 0: none has yet.
    std::array<std::atomic<NodeTime>, barrier_slots> left;
    std::atomic<std::uint64_t> found;  ///< by all ranks of the node
    std::uint64_t store_offset;        ///< of the versions, behind the node buffer

    static std::uint64_t store_offset_for(std::uint64_t record_bytes) noexcept {
        const std::uint64_t unit = VersionStore::unit_bytes;
        return (sizeof(Shared) + NodeBuffer::memory_bytes(record_bytes) + unit - 1) / unit * unit;
    }
};

std::uint64_t NodeSharing::memory_bytes(const Sizes& sizes) noexcept {
    return Shared::store_offset_for(sizes.record_bytes) + VersionStore::memory_bytes(sizes.version_bytes);
}

bool NodeSharing::create(std::span<std::byte> memory, const Sizes& sizes) noexcept {
    auto* const shared = new (memory.data()) Shared{};
    shared->store_offset = Shared::store_offset_for(sizes.record_bytes);
    return NodeBuffer::create(memory.subspan(sizeof(Shared)), sizes.record_bytes) &&
           VersionStore::create(memory.subspan(shared->store_offset), sizes.version_bytes);
}

NodeSharing::NodeSharing(const NodeMemory& memory) noexcept
    : memory_(memory),
      shared_(*std::launder(reinterpret_cast<Shared*>(memory.data))),
      buffer_(memory.data + sizeof(Shared)),
      store_(memory.data + shared_.store_offset),
      since_(steady_ns()),
      fetch_ns_(unknown_fetch_ns),
      pause_(first_pause) {}

void NodeSharing::raise(NodeTime when) noexcept {
    NodeTime before = since_.load(std::memory_order_relaxed);
    while (before < when && !since_.compare_exchange_weak(before, when, std::memory_order_acq_rel)) {
    }
}

// No rank has left this barrier, and all have left the one before. So nobody needs the opposite slot.
void NodeSharing::reaches_barrier(std::uint64_t number) noexcept {
    shared_.left[(number + barrier_slots / 2) % barrier_slots].store(0);
}

void NodeSharing::left_barrier(std::uint64_t number) noexcept {
    NodeTime first = 0;
    const NodeTime now = steady_ns();
    raise(shared_.left[number % barrier_slots].compare_exchange_strong(first, now) ? now : first);
}

bool NodeSharing::serves(Rank rank) noexcept {
    if (memory_.is_here[static_cast<std::size_t>(rank)]) return false;
    if (paused_.load(std::memory_order_relaxed) == 0) return true;
    paused_.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

bool NodeSharing::find(const Name& name, std::byte* to) noexcept {
    NodeTime issued = 0;
    const ByteRange range{name.begin, name.begin + name.bytes};
    const NodeBuffer::Found found = buffer_.find(name.rank, name.key, range, earliest(), to, issued);
    if (found == NodeBuffer::Found::nothing) return false;
    shared_.found.fetch_add(1, std::memory_order_relaxed);
    if (found == NodeBuffer::Found::soon_lost) buffer_.offer(name.rank, name.key, range, issued, to);
    return true;
}

void NodeSharing::offer(const Name& name, NodeTime issued, const std::byte* from) noexcept {
    buffer_.offer(name.rank, name.key, {name.begin, name.begin + name.bytes}, issued, from);
    count_offer();
}

void NodeSharing::count_offer() noexcept {
    if (offers_.fetch_add(1, std::memory_order_relaxed) % interval != interval - 1) return;
    const std::uint64_t found = shared_.found.load(std::memory_order_relaxed);
    if (found_before_.exchange(found, std::memory_order_relaxed) != found) {
        pause_.store(first_pause, std::memory_order_relaxed);
        return;
    }
    const std::uint64_t pause = pause_.load(std::memory_order_relaxed);
    paused_.store(pause, std::memory_order_relaxed);
    pause_.store(std::min(2 * pause, longest_pause), std::memory_order_relaxed);
}

NodeTime NodeSharing::may_wait_until(const Name& name) const noexcept {
    const NodeTime issued = buffer_.last_flight(name.rank, name.key);
    if (issued < earliest()) return 0;
    const NodeTime end = issued + wait_limit_ns();
    return end > steady_ns() ? end : 0;
}

VersionStore::Answer NodeSharing::take(const Name& name, Wait wait) noexcept {
    const NodeTime now = steady_ns();
    const NodeTime expected = wait == Wait::yes ? now - std::min(now, wait_limit_ns()) : now + 1;
    VersionStore::Answer answer = store_.take(name, earliest(), expected, now);
    if (answer.found == VersionStore::Found::complete) shared_.found.fetch_add(1, std::memory_order_relaxed);
    return answer;
}

bool NodeSharing::is_awaited(const VersionStore::Arrival& arrival) const noexcept {
    return store_.is_arriving(arrival) && steady_ns() < arrival.issued + wait_limit_ns();
}

void NodeSharing::complete(const VersionStore::Version& version) noexcept {
    version.complete();
    count_offer();
}

FilePlace NodeSharing::file_place(const VersionStore::Version& version) const noexcept {
    return {memory_.descriptor, shared_.store_offset + version.offset()};
}

void NodeSharing::took(std::uint64_t ns) noexcept {
    const std::uint64_t before = fetch_ns_.load(std::memory_order_relaxed);
    fetch_ns_.store(std::max(ns, before / 8 * 7), std::memory_order_relaxed);
}

}  // namespace nearfetch::pgas
