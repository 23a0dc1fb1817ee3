// SPDX-License-Identifier: Apache-2.0
#include "recording/reread_check.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace nearfetch {

namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15ull;
    return x ^ x >> 29;
}

std::uint64_t name_of(std::uint32_t window, Rank target, std::uint64_t granule) noexcept {
    const std::uint64_t owner = static_cast<std::uint64_t>(window) << 32 | static_cast<std::uint32_t>(target);
    return mixed(mixed(owner, 0x2545f4914f6cdd1dull), granule);
}

}  // namespace

void RereadCheck::check(std::uint32_t window, Rank target, std::uint64_t offset,
                        std::span<const std::byte> bytes, AcquireCount acquires) {
    table_.resize(slots);
    Rereads& counts = of_windows_[window];
    const std::uint64_t end = offset + bytes.size();
    const std::uint64_t last = std::min(end, (offset / granule_bytes + most_granules) * granule_bytes);
    for (std::uint64_t begin = offset; begin < last;) {
        const std::uint64_t granule = begin / granule_bytes;
        const std::uint64_t to = std::min(end, (granule + 1) * granule_bytes);
        const std::uint64_t name = name_of(window, target, granule);
        const auto* const text = reinterpret_cast<const char*>(bytes.data() + (begin - offset));
        if (name % share == 0) {
            const Slot now{mixed(name, begin % granule_bytes << 8 | (to - begin)),
                           std::hash<std::string_view>{}({text, to - begin}), acquires};
            Slot& before = table_[name / share % slots];
            if (before.place == now.place) {
                if (before.content == now.content)
                    ++counts.same;
                else if (before.acquires.all == acquires.all)
                    ++counts.changed_unordered;
                else if (before.acquires.others == acquires.others)
                    ++counts.changed_by_locks;
                else
                    ++counts.changed;
            }
            before = now;
        }
        begin = to;
    }
}

void RereadCheck::forget(std::uint32_t window, Rank target, ByteRange range) noexcept {
    if (table_.empty() || range.begin >= range.end) return;
    const std::uint64_t first = range.begin / granule_bytes, last = (range.end - 1) / granule_bytes;
    if (last - first >= most_granules) {
        std::ranges::fill(table_, Slot{});
        return;
    }
    for (std::uint64_t granule = first; granule <= last; ++granule) {
        const std::uint64_t name = name_of(window, target, granule);
        if (name % share == 0) table_[name / share % slots] = {};
    }
}

}  // namespace nearfetch
