// SPDX-License-Identifier: Apache-2.0
#pragma once

// The index I_w (001, section III-C1): a cuckoo hash table from (target, offset) to an entry's number.
//
// There are p = 4 positions per key, and any table size. Slots hold the keys, 16 bytes each, so a lookup
// touches only the table. All positions come from one well mixed 64-bit hash. The published implementation's
// hash functions are linear in the displacement and collapse on strides.
//
// A table of another size is filled while it is used: keys move to it a few at a time, and until then are
// found in the one before. So no call takes long, whatever the size.
//
// Insertion differs from the paper in two ways. The random walk only plans: it records the path of slots, and
// checks all positions of each occupant for an empty one. The caller then moves occupants along the path, or
// takes a slot of the path from its occupant. So an admission that fails changes nothing. And when the walk
// gives up, a bounded breadth-first search follows: near full load the walk alone misses some free slots.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/growing_array.hpp"
#include "base/types.hpp"
#include "base/xorshift.hpp"

namespace nearfetch {

class CuckooIndex {
  public:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::uint32_t functions = 4;

    /// \param slots |I_w|
    /// \param seed of the walks' random choices
    /// \throws Error or std::bad_alloc when memory is exhausted
    CuckooIndex(std::uint32_t slots, std::uint64_t seed);

    /// The number stored under this key, or none.
    std::uint32_t find(Rank target, std::uint64_t offset) const noexcept {
        std::uint64_t hash = mix(target, offset);
        for (std::uint32_t round = 0; round < functions / 2; ++round) {
            const Slot& a = slots_[reduce(hash >> 32, slot_count_)];
            if (a.is(target, offset)) return ~a.not_id;
            const Slot& b = slots_[reduce(hash, slot_count_)];
            if (b.is(target, offset)) return ~b.not_id;
            hash = second_mix(hash);
        }
        return is_moving() ? find_before(target, offset) : none;
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

    /// Begins to move to a table of `slots`. \pre not is_moving()
    /// \return false, with nothing changed, when memory is exhausted
    bool begin_resize(std::uint32_t slots) noexcept;
    bool is_moving() const noexcept { return before_count_ != 0; }
    /// Moves the keys of a few slots. \pre is_moving()
    void move_some();
    /// Removes all keys, and has `slots` from now on.
    /// \return false, with nothing changed, when memory is exhausted
    bool restart(std::uint32_t slots) noexcept;

    std::uint32_t slot_count() const noexcept { return slot_count_; }
    std::uint32_t used() const noexcept { return used_; }
    /// The number stored in a slot, or none: what has not moved yet is in no slot. \pre slot < slot_count()
    std::uint32_t at(std::uint32_t slot) const noexcept { return ~slots_[slot].not_id; }
    /// 64 well mixed bits of a key.
    static std::uint64_t mix(Rank target, std::uint64_t offset) noexcept {
        std::uint64_t x = offset + 0x9e3779b97f4a7c15ull * (static_cast<std::uint32_t>(target) + 1ull);
        x = (x ^ (x >> 27)) * 0x3c79ac492ba7b653ull;
        x = (x ^ (x >> 33)) * 0x1c69b3f74ac4ae35ull;
        return x ^ (x >> 27);
    }

  private:
    /// New memory is of empty slots.
    struct Slot {
        std::uint64_t offset = 0;
        Rank not_target = 0;       ///< its complement; 0 for none
        std::uint32_t not_id = 0;  ///< its complement; 0 for none

        bool is_empty() const noexcept { return not_id == 0; }
        bool is(Rank target, std::uint64_t at) const noexcept {
            return offset == at && not_target == ~target;
        }
        Rank target() const noexcept { return ~not_target; }
    };
    /// Of a slot, in the last plan.
    struct Visit {
        std::uint32_t from = 0;
        std::uint32_t plan = 0;  ///< number of the last one that visited it
    };
    struct Table {
        explicit Table(std::uint32_t count) : slots(count), visits(count) {}
        GrowingArray<Slot> slots;
        GrowingArray<Visit> visits;
    };
    using Positions = std::array<std::uint32_t, functions>;

    static std::uint64_t second_mix(std::uint64_t hash) noexcept {
        const std::uint64_t x = (hash ^ (hash >> 32)) * 0xbf58476d1ce4e5b9ull;
        return x ^ (x >> 32);
    }
    static std::uint32_t reduce(std::uint64_t hash, std::uint32_t count) noexcept {
        return static_cast<std::uint32_t>(((hash & 0xffffffff) * count) >> 32);
    }
    static Positions positions_in(std::uint32_t count, Rank target, std::uint64_t offset) noexcept;
    static std::unique_ptr<Table> new_table(std::uint32_t slots) noexcept;
    /// Where a key is that has not moved, or nullptr.
    Slot* slot_before(Rank target, std::uint64_t offset) const noexcept;
    std::uint32_t find_before(Rank target, std::uint64_t offset) const noexcept;
    Positions positions(const Slot& key) const noexcept {
        return positions_in(slot_count_, key.target(), key.offset);
    }
    void use(std::unique_ptr<Table> table, std::uint32_t slots) noexcept;
    bool plan(const Slot& newcomer);
    bool visit(std::uint32_t slot, std::uint32_t from);
    std::uint32_t walk(std::uint32_t current);
    std::uint32_t search();

    Slot* slots_ = nullptr;
    std::uint32_t slot_count_ = 0;
    std::uint32_t before_count_ = 0;  ///< slots of the table before; 0 if all keys have moved
    Slot* before_ = nullptr;
    std::uint32_t unmoved_ = 0;  ///< its first slots, whose keys have not moved
    std::unique_ptr<Table> table_;
    std::unique_ptr<Table> table_before_;
    std::vector<std::uint32_t> path_;
    std::uint32_t plan_number_ = 0;
    std::uint32_t planned_ = none;
    Slot newcomer_;
    std::uint32_t used_ = 0;
    std::uint32_t searched_;
    Xorshift random_;
};

}  // namespace nearfetch
