// SPDX-License-Identifier: Apache-2.0
#include "array/fragments.hpp"

#include <algorithm>
#include <utility>

namespace nearfetch::detail {

namespace {

/// Limit of outstanding fragments of a slice.
constexpr std::size_t most_fragments = 4;

}  // namespace

void for_each_fragment(const SliceMove& move, const std::function<void(const SliceMove&)>& visit) {
    if (move.only != nullptr || move.slice.bytes() <= fragment_bytes) {
        visit(move);
        return;
    }
    std::size_t d = 0;
    while (d < 3 && move.slice.extent[d] == 1)
        ++d;
    const std::int64_t extent = move.slice.extent[d];
    const std::uint64_t row_bytes = move.slice.bytes() / static_cast<std::uint64_t>(extent);
    const std::int64_t step = move.steps ? (*move.steps)[d] : static_cast<std::int64_t>(row_bytes);
    const std::int64_t rows =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(fragment_bytes / row_bytes));
    for (std::int64_t row = 0; row < extent; row += rows) {
        SliceMove fragment = move;
        fragment.slice.lower[d] += row;
        fragment.slice.extent[d] = std::min(rows, extent - row);
        if (fragment.packed != nullptr) fragment.packed += row * step;
        if (row_bytes > fragment_bytes && d < 3)
            for_each_fragment(fragment, visit);
        else
            visit(fragment);
    }
}

FragmentGets::FragmentGets(const SliceMove& move, TakeFragment take) : take_(std::move(take)) {
    std::uint64_t at = 0;
    for_each_fragment(move, [&](const SliceMove& fragment) {
        fragments_.push_back({fragment, at, {}, {}});
        at += fragment.slice.bytes();
    });
    start_some();
}

void FragmentGets::start_some() {
    for (; started_ < std::min(fragments_.size(), most_fragments); ++started_) {
        Fragment& fragment = fragments_[started_];
        fragment.memory = std::make_unique_for_overwrite<std::byte[]>(fragment.move.slice.bytes());
        const SliceMove staged{fragment.move.slice, fragment.memory.get()};
        fragment.transfers = start_get_slices(std::span(&staged, 1));
    }
}

void FragmentGets::finish() {
    for (; !fragments_.empty(); start_some()) {
        Fragment& first = fragments_.front();
        for (Transfer& transfer : first.transfers)
            transfer.wait();
        take_(first.move, first.at, {first.memory.get(), first.move.slice.bytes()});
        fragments_.pop_front();
        --started_;
    }
}

}  // namespace nearfetch::detail
