// SPDX-License-Identifier: Apache-2.0
#pragma once

// The index I_w (001, section III-C1): a cuckoo hash table from (target, offset) to an entry's number.
//
// p = 4 positions per key, any table size. Keys stand in the slots, 16 bytes each, so a lookup touches the
// table and nothing else. All four positions come from one well mixed 64-bit hash: the published
// implementation's hash functions are linear in the displacement and collapse on strides.
//
// Insertion differs from the paper in one way: the random walk only *plans*. It records the slots it visits,
// each with the slot it was reached from, and looks at all positions of a visited occupant for an empty one
// before it walks on. Whoever calls then either moves occupants along the way to the empty slot, or takes one
// of the visited slots (the insertion path) from its occupant. Until then nothing has moved, so an admission
// that fails leaves no trace.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

class CuckooIndex {
  public:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::uint32_t functions = 4;

    /// \param slots |I_w|  \param seed of the walks' random choices
    CuckooIndex(std::uint32_t slots, std::uint64_t seed);

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

    /// Looks for a way to insert the key. \pre the key is not there
    /// \return true when there is one: place(id) takes it. Otherwise path() has the slots it could take.
    bool plan(Rank target, std::uint64_t offset);
    /// The occupied slots that the last plan() visited, in order: all are reachable.
    std::span<const std::uint32_t> path() const noexcept { return path_; }
    /// Inserts the planned key under `id`, moving occupants. \pre the last plan() returned true
    void place(std::uint32_t id) noexcept { place_through(planned_, id); }
    /// Inserts the planned key by way of `slot`, which is on path() and has been erased since.
    void place_through(std::uint32_t slot, std::uint32_t id) noexcept;

    /// plan() and place(). \return false when there was no way
    bool insert(Rank target, std::uint64_t offset, std::uint32_t id);
    /// \return whether it was there
    bool erase(Rank target, std::uint64_t offset) noexcept;
    void clear() noexcept;

    std::uint32_t slot_count() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
    std::uint32_t used() const noexcept { return used_; }
    /// The number stored in a slot, or none.
    std::uint32_t at(std::uint32_t slot) const noexcept { return slots_[slot].id; }
    /// 64 well mixed bits of a key.
    static std::uint64_t mix(Rank target, std::uint64_t offset) noexcept {
        std::uint64_t x = offset + 0x9e3779b97f4a7c15ull * (static_cast<std::uint32_t>(target) + 1ull);
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
        return x ^ (x >> 32);
    }

  private:
    struct Slot {
        std::uint64_t offset = 0;
        Rank target = no_target;
        std::uint32_t id = none;
    };
    static constexpr Rank no_target = -1;

    static std::uint64_t second_mix(std::uint64_t hash) noexcept {
        return (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ull ^ (hash >> 32);
    }
    std::uint32_t reduce(std::uint32_t hash) const noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{hash} * slots_.size()) >> 32);
    }
    std::array<std::uint32_t, functions> positions(Rank target, std::uint64_t offset) const noexcept;
    bool visit(std::uint32_t slot, std::uint32_t from);
    std::uint32_t random(std::uint32_t bound) noexcept;

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> reached_from_;  ///< per slot, for the last plan
    std::vector<std::uint32_t> visited_in_;    ///< per slot: number of the plan that visited it last
    std::vector<std::uint32_t> path_;
    std::uint32_t plan_number_ = 0;
    std::uint32_t planned_ = none;
    Slot newcomer_;
    std::uint32_t used_ = 0;
    std::uint64_t random_state_;
};

}  // namespace nearfetch
