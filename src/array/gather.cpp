// SPDX-License-Identifier: Apache-2.0
#include <nearfetch/gather.hpp>
#include <string>
#include <vector>

#include "array/strategy_timer.hpp"
#include "base/copy.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

DistinctIndices::DistinctIndices(std::span<const std::int64_t> indices, std::int64_t lower,
                                 std::int64_t extent)
    : indices_(indices), lower_(lower) {
    constexpr std::int64_t most_each = 8;  // entries of the table for each index
    if (extent / most_each > static_cast<std::int64_t>(indices.size())) return;
    table_.assign(static_cast<std::size_t>(extent), absent);
    for (const std::int64_t i : indices)
        slot(i) = 0;
}

void check_gathered(std::uint64_t elements) {
    if (elements > std::uint64_t{1} << 32)
        throw Error("Gather: " + std::to_string(elements) + " distinct elements", "positions have 32 bits",
                    "gather for a part of the indices at a time");
}

void gathered_is_resized() {
    throw Error("Gather: the array was resized",
                "who has its elements, and which there are, was looked up before",
                "make another Gather for the new bounds");
}

std::shared_ptr<StrategySelector> make_strategy_selector() { return std::make_shared<StrategySelector>(); }

std::uint64_t GatherPart::complete(std::uint64_t first, std::uint64_t element_bytes) {
    begin_ = first;
    set_.complete();
    const std::int64_t around = last_ + 1 - first_;
    keeps_owner_layout_ = 4 * set_.size() >= around;
    if (keeps_owner_layout_) return static_cast<std::uint64_t>(around);
    // A run costs more than a few bytes.
    set_.close_gaps(static_cast<std::int64_t>(most_closed_bytes / element_bytes));
    return static_cast<std::uint64_t>(set_.size());
}

Slice GatherPart::covering_slice(Slice part) const {
    part.lower[3] += first_;
    part.extent[3] = last_ + 1 - first_;
    return part;
}

void GatherPart::unpack(const std::byte* packed, std::byte* elements, std::uint64_t element_bytes) const {
    std::byte* const to = elements_in(elements, element_bytes);
    set_.for_each_run([&](std::int64_t position, std::int64_t count) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(count) * element_bytes;
        copy_bytes(to + static_cast<std::uint64_t>(position - first_) * element_bytes, packed, bytes);
        packed += bytes;
    });
}

void gather(const std::map<Rank, GatherPart>& parts, const std::function<Slice(Rank)>& part_of,
            std::byte* elements, StrategySelector& selector, Code pack) {
    struct Packed {
        const GatherPart& part;
        std::unique_ptr<std::byte[]> elements;
    };
    pgas::Context& context = pgas::Context::here();
    const Rank self = context.runtime().job().rank();
    const auto has_strategy = [&](Rank owner, const GatherPart& part) {
        return owner != self && part.keeps_owner_layout() && part.set().runs() > 1;
    };
    std::uint64_t strategy_bytes = 0;
    for (const auto& [owner, part] : parts)
        if (has_strategy(owner, part)) strategy_bytes += bytes_of(part_of(owner), &part.set());
    const StrategyTimer timer(strategy_bytes > 0 ? &selector : nullptr, strategy_bytes, context);

    std::uint64_t element_bytes = 0;
    std::vector<SliceMove> moves;
    std::vector<Packed> packed;
    for (const auto& [owner, part] : parts) {
        const Slice all = part_of(owner);
        element_bytes = all.element_bytes;
        std::byte* const here = part.elements_in(elements, element_bytes);
        if (!part.keeps_owner_layout()) {
            moves.push_back({all, here, &part.set()});
        } else if (timer.strategy() == StrategySelector::Strategy::whole || !has_strategy(owner, part)) {
            moves.push_back({part.covering_slice(all), here});
        } else {
            packed.push_back({part, std::make_unique_for_overwrite<std::byte[]>(bytes_of(all, &part.set()))});
            moves.push_back({all, packed.back().elements.get(), &part.set()});
        }
    }
    get_slices(moves, Packer::requester, true, pack);
    for (const auto& [part, packed_elements] : packed) {
        part.unpack(packed_elements.get(), elements, element_bytes);
        charge_copy(element_bytes * static_cast<std::uint64_t>(part.set().size()));
    }
    timer.end();
}

}  // namespace nearfetch::detail
