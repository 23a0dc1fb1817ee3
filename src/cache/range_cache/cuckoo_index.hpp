// SPDX-License-Identifier: Apache-2.0
#pragma once

// The index I_w (001, section III-C1): a cuckoo hash table from (target, offset) to an entry's number.
//
// There are p = 4 positions per key, and any table size. Slots hold the keys, 16 bytes each, so a lookup
// touches only the table. All positions come from one well mixed 64-bit hash. The published implementation's
// hash functions are linear in the displacement and collapse on strides.
//
// Insertion differs from the paper in two ways. The random walk only plans: it records the path of slots, and
// checks all positions of each occupant for an empty one. The caller then moves occupants along the path, or
// takes a slot of the path from its occupant. So an admission that fails changes nothing. And when the walk
// gives up, a bounded breadth-first search follows: near full load the walk alone misses some free slots.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "base/xorshift.hpp"

namespace nearfetch {

class CuckooIndex {
  public:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::uint32_t functions = 4;

    /// \param slots |I_w|; memory is allocated for a few, and for more when these are half full
    /// \param seed of the walks' random choices
    CuckooIndex(std::uint32_t slots, std::uint64_t seed);
    /// Allocates all slots, for policies that sample slots and count empty ones.
    /// \throws std::bad_alloc, and nothing has changed
    void take_all();

    /// The number stored under this key, or none.
    std::uint32_t find(Rank target, std::uint64_t offset) const noexcept {
        std::uint64_t hash = mix(target, offset);
        for (std::uint32_t round = 0; round < functions / 2; ++round) {
            const Slot& a = slots_[reduce(static_cast<std::uint32_t>(hash >> 32))];
            if (a.offset == offset && a.target == target) return a.id;
            const Slot& b = slots_[reduce(static_cast<std::uint32_t>(hash))];
            if (b.offset == offset && b.target == target) return b.id;
            hash = second_mix(hash);
        }
        return none;
    }

    /// Plans an insertion. \pre the key is not present
    /// \return true if there is a free slot: place(id) inserts. Else path() has the slots that could be
    /// taken.
    bool plan(Rank target, std::uint64_t offset);
    /// The occupied slots on the path of the last plan(), all reachable.
    std::span<const std::uint32_t> path() const noexcept { return path_; }
    /// Inserts the planned key under `id`, moving occupants. \pre the last plan() returned true
    void place(std::uint32_t id) noexcept { place_through(planned_, id); }
    /// Inserts the planned key through `slot`, which is on path() and has been erased since.
    void place_through(std::uint32_t slot, std::uint32_t id) noexcept;

    /// plan() and place(). \return false if there is no free slot
    bool insert(Rank target, std::uint64_t offset, std::uint32_t id);
    /// \return whether the key was present
    bool erase(Rank target, std::uint64_t offset) noexcept;
    void clear() noexcept;

    std::uint32_t slot_count() const noexcept { return most_slots_; }
    /// Slots that have memory; the others are empty.
    std::uint32_t slots_taken() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
    std::uint32_t used() const noexcept { return used_; }
    /// The number stored in a slot, or none.
    std::uint32_t at(std::uint32_t slot) const noexcept {
        return slot < slots_.size() ? slots_[slot].id : none;
    }
    /// 64 well mixed bits of a key.
    static std::uint64_t mix(Rank target, std::uint64_t offset) noexcept {
        std::uint64_t x = offset + 0x9e3779b97f4a7c15ull * (static_cast<std::uint32_t>(target) + 1ull);
        x = (x ^ (x >> 27)) * 0x3c79ac492ba7b653ull;
        x = (x ^ (x >> 33)) * 0x1c69b3f74ac4ae35ull;
        return x ^ (x >> 27);
    }

  private:
    struct Slot {
        std::uint64_t offset = 0;
        Rank target = no_target;
        std::uint32_t id = none;
    };
    static constexpr Rank no_target = -1;
    static constexpr std::uint32_t first_slots = 1024;
    static constexpr std::uint32_t growth = 4;

    CuckooIndex(std::uint32_t slots, std::uint32_t most_slots, std::uint64_t seed);

    static std::uint64_t second_mix(std::uint64_t hash) noexcept {
        const std::uint64_t x = (hash ^ (hash >> 32)) * 0xbf58476d1ce4e5b9ull;
        return x ^ (x >> 32);
    }
    std::uint32_t reduce(std::uint32_t hash) const noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{hash} * slots_.size()) >> 32);
    }
    std::array<std::uint32_t, functions> positions(Rank target, std::uint64_t offset) const noexcept;
    bool visit(std::uint32_t slot, std::uint32_t from);
    std::uint32_t walk(std::uint32_t current);
    std::uint32_t search();
    void take(std::uint32_t slots);
    void grow() noexcept;

    std::vector<Slot> slots_;
    std::uint32_t most_slots_;
    std::vector<std::uint32_t> reached_from_;  ///< per slot, for the last plan
    std::vector<std::uint32_t> visited_in_;    ///< per slot: number of the last plan that visited it
    std::vector<std::uint32_t> path_;
    std::uint32_t plan_number_ = 0;
    std::uint32_t planned_ = none;
    Slot newcomer_;
    std::uint32_t used_ = 0;
    std::uint32_t searched_;
    Xorshift random_;
};

}  // namespace nearfetch
