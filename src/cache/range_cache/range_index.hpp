// SPDX-License-Identifier: Apache-2.0
#pragma once

// The entries in the order of (target, offset): a B+-tree of our own.
//
// The paper's index I_w (001, section III-C1) knows where entries begin and nothing of their order, so a get
// inside an entry, or across two, misses there. Here such gets are asked a second time, of this index: which
// entry begins last at or before a byte, and which come after it. A binary tree through the entries answers
// that, too, but each of its steps reads another entry, far from the one before, and branches on what it
// read, which the processor guesses wrong every other time. So the keys stand here, sorted, in blocks:
//  - A key is one 128-bit number, the target above the offset: one comparison, one order.
//  - A block has room for 63 keys and fills the rest with a number above all keys. A search always takes the
//    same six steps, whatever the block holds, and no step branches: lookups that follow each other overlap
//    in the processor. 1000 entries take two blocks of search, 100,000 three.
//  - Leaves keep the entries' numbers (32 bits) apart from the keys and are linked both ways.
//  - Inner blocks have separators: all keys below child i are less than separator i, those below child i + 1
//    are not. They need not be keys that are there, so erasing never touches them.
//
// A full leaf splits in two halves; but where keys are appended, at the very end or at the end of a target's
// keys when a leaf ends there, the full one stays full. An erased key leaves a hole that closes at once; a
// block that falls below a third of its room joins a neighbour when both together fill no more than two
// thirds, so that insertions and erasures in turn do not split and join all the time, and an empty block goes
// whatever its neighbours are. No leaf is ever empty.
//
// The last search is remembered: a miss asks for the same place four times (find, survey, occupied,
// insertion), with nothing but an eviction in between.
//
// Memory: insert() allocates before it changes anything. Those who must not fail halfway call reserve()
// first: the next insert() then needs no memory, whatever is erased in between.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "base/types.hpp"

namespace nearfetch {

class RangeIndex {
  private:
    struct Leaf;

  public:
    /// A place in the order; names an entry, or nothing (the end). Valid until the next insert, erase or
    /// clear.
    class Position {
      public:
        explicit operator bool() const noexcept { return leaf_ != nullptr; }
        /// The entry's number and key. \pre not the end
        inline std::uint32_t id() const noexcept;
        inline Rank target() const noexcept;
        inline std::uint64_t offset() const noexcept;
        /// The following entry's place. \pre not the end
        inline Position next() const noexcept;

      private:
        friend class RangeIndex;
        Position() = default;
        Position(const Leaf* leaf, std::uint32_t slot) noexcept : leaf_(leaf), slot_(slot) {}
        const Leaf* leaf_ = nullptr;
        std::uint32_t slot_ = 0;
    };

    RangeIndex() = default;
    ~RangeIndex();
    RangeIndex(const RangeIndex&) = delete;
    RangeIndex& operator=(const RangeIndex&) = delete;

    /// The last entry that begins at or before this byte, in the order of (target, offset): perhaps one of
    /// another target. The end when there is none. \pre target >= 0
    inline Position floor(Rank target, std::uint64_t offset) const noexcept;
    /// The first entry that begins after this byte, or the end. \pre target >= 0
    inline Position above(Rank target, std::uint64_t offset) const noexcept;
    /// The first entry of all, or the end.
    Position begin() const noexcept { return {first_, 0}; }

    /// \pre the key is not there, target >= 0
    /// \throws std::bad_alloc, and nothing has changed
    void insert(Rank target, std::uint64_t offset, std::uint32_t id);
    /// Gets the memory that the next insert() may need.
    /// \throws std::bad_alloc, and nothing has changed
    void reserve();
    /// \pre the key is there
    void erase(Rank target, std::uint64_t offset) noexcept;
    void clear() noexcept;

    std::uint64_t size() const noexcept { return size_; }
    /// Memory in blocks, in bytes, with those set aside by reserve().
    std::uint64_t memory_bytes() const noexcept;
    /// Walks everything. \return what is not as it should be, or nullptr
    const char* fault() const noexcept;

  private:
    __extension__ using Key = unsigned __int128;
    static constexpr std::uint32_t room = 63;  ///< keys per block
    static constexpr std::uint32_t few = room / 3;
    static constexpr std::uint32_t joined_at_most = room * 2 / 3;
    static constexpr std::uint32_t height_max = 16;  ///< never reached with 32-bit numbers
    static constexpr Key beyond_all = ~Key{0};

    struct Block {
        Key keys[room];
        std::uint32_t count = 0;  ///< keys
    };
    struct Leaf : Block {
        std::uint32_t ids[room];
        Leaf* next = nullptr;
        Leaf* previous = nullptr;
    };
    struct Inner : Block {
        Block* children[room + 1];  ///< count + 1
    };
    struct Step {
        Inner* inner;
        std::uint32_t child;
    };
    using Path = std::array<Step, height_max>;
    /// Where a search ended: a leaf, and how many of its keys are not above the key.
    struct Place {
        Leaf* leaf;
        std::uint32_t rank;
    };

    static Key key_of(Rank target, std::uint64_t offset) noexcept {
        return Key{static_cast<std::uint32_t>(target)} << 64 | offset;
    }
    /// How many keys of the block are not above `key`.
    static std::uint32_t rank_in(const Block& block, Key key) noexcept {
        const Key* base = block.keys;
        for (const std::uint32_t half : {32u, 16u, 8u, 4u, 2u, 1u})
            base += std::size_t{half} & -static_cast<std::size_t>(base[half - 1] <= key);
        return static_cast<std::uint32_t>(base - block.keys);
    }
    inline Place place_of(Key key) const noexcept;
    inline Position at_or_before(Place place) const noexcept;

    Leaf* descend(Key key, Path& path) const noexcept;
    Leaf* new_leaf() noexcept;
    Inner* new_inner() noexcept;
    void release(Leaf* leaf) noexcept;
    void release(Inner* inner) noexcept;
    static void put(Leaf& leaf, std::uint32_t slot, Key key, std::uint32_t id) noexcept;
    static void put(Inner& inner, std::uint32_t slot, Key separator, Block* right) noexcept;
    void split_and_put(Key key, std::uint32_t id) noexcept;
    void raise(const Path& path, std::uint32_t level, Key separator, Block* right, bool at_end) noexcept;
    void shrink(Key key) noexcept;
    void remove_child(const Path& path, std::uint32_t level, std::uint32_t child) noexcept;
    static bool join(Inner& parent, std::uint32_t child, bool leaves, std::uint32_t& gone) noexcept;
    void free_below(Block* block, std::uint32_t levels) noexcept;
    struct Walk;
    const char* fault_below(const Block* block, std::uint32_t levels, Key least, Key limit,
                            Walk& walk) const noexcept;

    Block* root_ = nullptr;
    std::uint32_t levels_ = 0;  ///< of inner blocks
    std::uint64_t size_ = 0;
    Leaf* first_ = nullptr;
    Leaf* last_ = nullptr;
    struct Remembered {
        Key key = beyond_all;  ///< beyond_all: nothing
        Place place = {nullptr, 0};
    };
    mutable Remembered remembered_;
    Leaf* spare_leaf_ = nullptr;
    Inner* spare_inners_ = nullptr;  ///< linked through children[0]
    std::uint32_t spare_inner_count_ = 0;
    std::uint64_t leaves_ = 0;
    std::uint64_t inners_ = 0;
};

inline std::uint32_t RangeIndex::Position::id() const noexcept { return leaf_->ids[slot_]; }

inline Rank RangeIndex::Position::target() const noexcept {
    return static_cast<Rank>(static_cast<std::uint32_t>(leaf_->keys[slot_] >> 64));
}

inline std::uint64_t RangeIndex::Position::offset() const noexcept {
    return static_cast<std::uint64_t>(leaf_->keys[slot_]);
}

inline RangeIndex::Position RangeIndex::Position::next() const noexcept {
    if (slot_ + 1 < leaf_->count) return {leaf_, slot_ + 1};
    return {leaf_->next, 0};
}

// \pre not empty
inline RangeIndex::Place RangeIndex::place_of(Key key) const noexcept {
    if (remembered_.key == key) return remembered_.place;
    Block* block = root_;
    for (std::uint32_t level = 0; level < levels_; ++level)
        block = static_cast<Inner*>(block)->children[rank_in(*block, key)];
    const Place place{static_cast<Leaf*>(block), rank_in(*block, key)};
    remembered_ = {key, place};
    return place;
}

// Separators may be less than what is right of them: then the entry stands at the end of the leaf before.
inline RangeIndex::Position RangeIndex::at_or_before(Place place) const noexcept {
    if (place.rank > 0) return {place.leaf, place.rank - 1};
    const Leaf* before = place.leaf->previous;
    if (before == nullptr) return {};
    return {before, before->count - 1};
}

inline RangeIndex::Position RangeIndex::floor(Rank target, std::uint64_t offset) const noexcept {
    NF_EXPECT(target >= 0);
    if (size_ == 0) return {};
    return at_or_before(place_of(key_of(target, offset)));
}

inline RangeIndex::Position RangeIndex::above(Rank target, std::uint64_t offset) const noexcept {
    NF_EXPECT(target >= 0);
    if (size_ == 0) return {};
    const Place place = place_of(key_of(target, offset));
    if (place.rank < place.leaf->count) return {place.leaf, place.rank};
    return {place.leaf->next, 0};
}

}  // namespace nearfetch
