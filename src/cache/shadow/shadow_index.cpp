// SPDX-License-Identifier: Apache-2.0
#include "cache/shadow/shadow_index.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "cache/range_cache/cuckoo_index.hpp"

namespace nearfetch {

namespace {

/// A bit for each byte of the range in that line.
std::uint64_t mask_of(std::uint64_t line, ByteRange range) noexcept {
    const std::uint64_t base = line * ShadowIndex::line_bytes;
    const std::uint64_t begin = std::max(range.begin, base) - base;
    const std::uint64_t size = std::min(range.end - base, ShadowIndex::line_bytes) - begin;
    const std::uint64_t ones = size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
    return ones << begin;
}

}  // namespace

std::size_t ShadowIndex::Hash::operator()(const Key& key) const noexcept {
    return CuckooIndex::mix(key.target, key.number);
}

bool ShadowIndex::is_sampled(const Key& key) const noexcept {
    return halvings_ == 0 || Hash{}(key) >> (64 - halvings_) == 0;
}

ShadowIndex::Past ShadowIndex::past_of(Rank target, ByteRange range) const {
    NF_EXPECT(!range.empty());
    const Key key{target, range.begin / line_bytes};
    if (!is_sampled(key)) return {};
    Past past{.weight = weight()};
    const auto found = lines_.find(key);
    if (found == lines_.end()) return past;
    const Line& line = found->second;
    const std::uint64_t bytes = mask_of(key.number, range);
    if ((bytes & ~line.ever) != 0) return past;
    past.was_fetched = true;
    past.fetched = (bytes & ~line.last) == 0 ? line.fetched : line.fetched_before;
    past.fate = line.fate;
    return past;
}

template <class Visit>
void ShadowIndex::for_each_sampled(Rank target, ByteRange range, const Visit& visit) const {
    const std::uint64_t end = range.begin + std::min(range.size(), most_noted_bytes);
    for (std::uint64_t number = range.begin / line_bytes; number * line_bytes < end; ++number)
        if (const Key key{target, number}; is_sampled(key)) visit(key, mask_of(number, {range.begin, end}));
}

void ShadowIndex::fetch(Rank target, ByteRange range, Stamp now, Fate fate) {
    for_each_sampled(target, range, [&](const Key& key, std::uint64_t bytes) {
        Line& line = lines_[key];
        if (line.fetched != now) {
            line.fetched_before = line.fetched;
            line.fetched = now;
            line.last = 0;
        }
        line.ever |= bytes;
        line.last |= bytes;
        line.fate = fate;
    });
    while (lines_.size() > most_lines_ && halvings_ < 63)
        halve();
}

void ShadowIndex::overwrite(Rank target, ByteRange range) noexcept {
    for_each_sampled(target, range, [&](const Key& key, std::uint64_t) {
        if (const auto found = lines_.find(key); found != lines_.end())
            found->second.fate = Fate::overwritten;
    });
}

void ShadowIndex::halve() noexcept {
    ++halvings_;
    std::erase_if(lines_, [this](const auto& entry) { return !is_sampled(entry.first); });
}

std::uint64_t ShadowIndex::distinct_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& [key, line] : lines_)
        bytes += static_cast<std::uint64_t>(std::popcount(line.ever));
    return bytes * weight();
}

}  // namespace nearfetch
