// SPDX-License-Identifier: Apache-2.0
//
// Scattered elements on their way (nearfetch/detail/array/scattered.hpp): each owner's distinct ones are
// packed in the order of its part.

#include <nearfetch/detail/array/scattered.hpp>
#include <string>

#include "base/copy.hpp"

namespace nearfetch::detail {

void check_steps(const char* what, std::span<const std::int64_t> steps) {
    for (const std::int64_t step : steps)
        if (step < 1)
            throw Error(std::string(what) + ": a step of " + std::to_string(step),
                        "indices are named in ascending order", "use a step of at least 1");
}

std::vector<SliceMove> ScatteredElements::prepare(const PartOf& part_of) {
    std::vector<SliceMove> moves;
    for (auto& [owner, part] : parts_) {
        part.set.complete();
        part.packed.resize(static_cast<std::size_t>(part.set.size()) * element_bytes_);
        moves.push_back({part_of(owner), part.packed.data(), &part.set, true});
        charge_copy(part.packed.size());  // each goes once between there and the request
    }
    return moves;
}

void ScatteredElements::get(const PartOf& part_of, std::byte* to, Code pack) {
    get_slices(prepare(part_of), Packer::owner, false, pack);
    for (const auto& [owner, part] : parts_)
        for (const auto& [position, at] : part.places)
            copy_bytes(
                to + at * element_bytes_,
                part.packed.data() + static_cast<std::uint64_t>(part.set.position(position)) * element_bytes_,
                element_bytes_);
}

void ScatteredElements::put(const PartOf& part_of, const std::byte* from, Code unpack) {
    const std::vector<SliceMove> moves = prepare(part_of);
    for (auto& [owner, part] : parts_)
        for (const auto& [position, at] : part.places)
            copy_bytes(
                part.packed.data() + static_cast<std::uint64_t>(part.set.position(position)) * element_bytes_,
                from + at * element_bytes_, element_bytes_);
    put_slices(moves, unpack);
}

void ScatteredElements::combine(const PartOf& part_of, const std::byte* from, const Combining& combining) {
    const std::vector<SliceMove> moves = prepare(part_of);
    for (auto& [owner, part] : parts_) {
        std::vector<bool> is_there(static_cast<std::size_t>(part.set.size()));
        for (const auto& [position, at] : part.places) {
            const auto place = static_cast<std::size_t>(part.set.position(position));
            std::byte* const packed = part.packed.data() + place * element_bytes_;
            if (is_there[place])
                combining.combine(packed, from + at * element_bytes_, 1);
            else
                copy_bytes(packed, from + at * element_bytes_, element_bytes_);
            is_there[place] = true;
        }
    }
    combine_slices(moves, combining.many);
}

}  // namespace nearfetch::detail
