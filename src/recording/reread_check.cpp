// SPDX-License-Identifier: Apache-2.0
#include "recording/reread_check.hpp"

#include <algorithm>
#include <cstring>

#include "recording/hash.hpp"

namespace nearfetch {

void RereadCheck::check(std::uint32_t window, Rank target, std::uint64_t offset,
                        std::span<const std::byte> bytes, AcquireCount acquires) {
    table_.resize(slots);
    const std::uint64_t memory = memory_of(window, target);
    const std::uint64_t one_of = bytes.size() < long_bytes ? share : share_of_long;
    const std::uint64_t end = offset + bytes.size();
    for (std::uint64_t at = offset; at < end;) {
        if (mixed(memory + at / block_bytes) % one_of != 0) {
            at = (at / block_bytes + 1) * block_bytes;
            continue;
        }
        const std::uint64_t next = std::min(end, (at / word_bytes + 1) * word_bytes);
        const std::uint64_t hash = mixed(~memory + at / word_bytes);
        const std::uint64_t which = at % word_bytes * (word_bytes + 1) + (next - at);
        Slot now{(hash & ~extents) | which, 0, acquires};
        std::memcpy(&now.word, bytes.data() + (at - offset), next - at);
        compare(slot(hash), now);
        at = next;
    }
}

void RereadCheck::compare(Slot& before, const Slot& now) noexcept {
    if (before.place == now.place) {
        if (before.word == now.word)
            ++seen_.same;
        else if (before.acquires.all == now.acquires.all)
            ++seen_.changed_unordered;
        else if (before.acquires.others == now.acquires.others)
            ++seen_.changed_by_locks;
        else
            ++seen_.changed;
    }
    before = now;
}

void RereadCheck::forget(std::uint32_t window, Rank target, ByteRange range) noexcept {
    if (table_.empty() || range.begin >= range.end) return;
    if (range.size() > most_forgotten_bytes) {
        std::ranges::fill(table_, Slot{});
        return;
    }
    const std::uint64_t memory = memory_of(window, target);
    for (std::uint64_t word = range.begin / word_bytes; word <= (range.end - 1) / word_bytes; ++word)
        slot(mixed(~memory + word)) = {};
}

}  // namespace nearfetch
