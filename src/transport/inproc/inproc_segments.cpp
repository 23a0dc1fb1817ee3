// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/inproc_segments.hpp"

#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/node_memory.hpp"

namespace nearfetch {

InprocSegments::InprocSegments(Rank ranks, std::uint64_t first_bytes)
    : ranks_(static_cast<std::size_t>(ranks)), calls_(ranks_) {
    if (first_bytes == 0) return;
    if (const AddedSegment added = add_for_all(first_bytes); !added.refused.empty())
        throw Error("segments of " + std::to_string(first_bytes) + " bytes for each of " +
                        std::to_string(ranks) + " ranks cannot be allocated",
                    added.refused, "use a smaller segment or fewer ranks");
}

std::span<std::byte> InprocSegments::at(Rank rank, std::uint64_t address) const noexcept {
    const Segment* const segment = table_.find(address);
    if (segment == nullptr) return {};
    const std::uint64_t offset = table_.offset(address);
    return {segment->memories[static_cast<std::size_t>(rank)]->data() + offset,
            static_cast<std::size_t>(segment->size_bytes - offset)};
}

template <class Body>
AddedSegment InprocSegments::once(Rank rank, const Body& body) {
    const std::lock_guard lock(mutex_);
    const std::size_t call = calls_[static_cast<std::size_t>(rank)]++;
    if (call == outcomes_.size()) outcomes_.push_back(body());
    return outcomes_[call];
}

AddedSegment InprocSegments::add(Rank rank, std::uint64_t bytes) {
    return once(rank, [&] {
        const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / ranks_;
        const std::uint64_t all_bytes =
            bytes > most ? std::numeric_limits<std::uint64_t>::max() : bytes * ranks_;
        std::string refused = why_no_memory({all_bytes, all_bytes, all_bytes});
        return refused.empty() ? add_for_all(bytes) : AddedSegment{0, std::move(refused)};
    });
}

AddedSegment InprocSegments::add_for_all(std::uint64_t bytes) {
    if (bytes >= table_.reach_bytes) return {0, "no segment may be that large"};
    if (table_.is_full()) return {0, "there are " + std::to_string(table_.most) + " segments already"};
    auto segment = std::make_unique<Segment>();
    segment->size_bytes = bytes;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        try {
            segment->memories.push_back(std::make_shared<ReservedMemory>(bytes));
        } catch (const Error&) {
            return {0, "address space is exhausted"};
        }
        if (!segment->memories.back()->resize(bytes)) return {0, "the system has no memory for it"};
        segment->memories.back()->prefer_large_pages(0, bytes);
    }
    return {table_.add(std::move(segment)), ""};
}

void InprocSegments::remove(Rank rank, std::uint64_t address) {
    once(rank, [&] {
        table_.remove(address);
        return AddedSegment{};
    });
}

std::shared_ptr<void> InprocSegments::keep(Rank rank, const std::byte* place) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void> kept;
    table_.for_each([&](std::uint64_t, const Segment& segment) {
        const auto& memory = segment.memories[static_cast<std::size_t>(rank)];
        const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory->data());
        if (reinterpret_cast<std::uintptr_t>(place) - begin < segment.size_bytes) kept = memory;
    });
    return kept;
}

}  // namespace nearfetch
