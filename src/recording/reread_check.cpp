// SPDX-License-Identifier: Apache-2.0
#include "recording/reread_check.hpp"

#include <algorithm>
#include <cstring>

namespace nearfetch {

namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15ull;
    return x ^ x >> 29;
}

std::uint64_t owner_of(std::uint32_t window, Rank target) noexcept {
    const std::uint64_t pair = static_cast<std::uint64_t>(window) << 32 | static_cast<std::uint32_t>(target);
    return mixed(pair, 0x2545f4914f6cdd1dull);
}

}  // namespace

void RereadCheck::check(std::uint32_t window, Rank target, std::uint64_t offset,
                        std::span<const std::byte> bytes, AcquireCount acquires) {
    table_.resize(slots);
    Rereads& counts = of_windows_[window];
    const std::uint64_t owner = owner_of(window, target);
    const std::uint64_t one_of = bytes.size() < long_bytes ? share : share_of_long;
    const std::uint64_t end = offset + bytes.size();
    for (std::uint64_t at = offset; at < end;) {
        if (mixed(owner, at / block_bytes) % one_of != 0) {
            at = (at / block_bytes + 1) * block_bytes;
            continue;
        }
        const std::uint64_t next = std::min(end, (at / word_bytes + 1) * word_bytes);
        Slot now{mixed(owner, at << 4 | (next - at)) | 1, 0, acquires};
        std::memcpy(&now.word, bytes.data() + (at - offset), next - at);
        compare(counts, table_[mixed(owner, at / word_bytes) % slots], now);
        at = next;
    }
}

void RereadCheck::compare(Rereads& counts, Slot& before, const Slot& now) noexcept {
    if (before.place == now.place) {
        if (before.word == now.word)
            ++counts.same;
        else if (before.acquires.all == now.acquires.all)
            ++counts.changed_unordered;
        else if (before.acquires.others == now.acquires.others)
            ++counts.changed_by_locks;
        else
            ++counts.changed;
    }
    before = now;
}

void RereadCheck::forget(std::uint32_t window, Rank target, ByteRange range) noexcept {
    if (table_.empty() || range.begin >= range.end) return;
    if (range.size() > most_forgotten_bytes) {
        std::ranges::fill(table_, Slot{});
        return;
    }
    const std::uint64_t owner = owner_of(window, target);
    for (std::uint64_t word = range.begin / word_bytes; word <= (range.end - 1) / word_bytes; ++word)
        table_[mixed(owner, word) % slots] = {};
}

}  // namespace nearfetch
