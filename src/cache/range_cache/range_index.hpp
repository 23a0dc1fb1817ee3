// SPDX-License-Identifier: Apache-2.0
#pragma once

// The entries in the order of (target, offset): a B+-tree.
//
// The paper's index I_w (001, section III-C1) is not ordered, so a get inside an entry or across two misses.
// Such gets ask this index: which entry begins last at or before a byte, and which follow. A binary tree of
// entries would read one entry per step and mispredict half of its branches. Here sorted keys stand in nodes:
// - A key is one 128-bit number, the target above the offset.
// - A node has 63 keys, padded with the largest number. A search takes six branchless steps, so that
// consecutive lookups overlap in the processor.
// - Leaves keep the entries' numbers and sizes apart from the keys, and are linked both ways.
// - Separators of inner nodes need not be present keys, so erasing never changes them.
//
// A full leaf splits in half; but where keys are appended it stays full. A node below a third of its room
// joins a neighbour if both together fill at most two thirds, so that alternating insertions and erasures do
// not thrash. Empty nodes are removed.
//
// The last search is remembered: a miss searches for one position up to four times.
//
// insert() allocates before it changes anything. After reserve() the next insert() needs no memory.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "base/types.hpp"

namespace nearfetch {

class RangeIndex {
  private:
    struct Leaf;
    static constexpr std::uint32_t unknown_bytes = 0xffffffff;

  public:
    /// A position in the order: an entry, or the end. Valid until the next insert, erase or clear.
    class Position {
      public:
        explicit operator bool() const noexcept { return leaf_ != nullptr; }
        /// The entry's number and key. \pre not the end
        inline std::uint32_t id() const noexcept;
        inline Rank target() const noexcept;
        inline std::uint64_t offset() const noexcept;
        /// Whether the entry may have this byte of its target: false only if it ends before.
        inline bool may_reach(std::uint64_t offset) const noexcept;
        /// The next position. \pre not the end
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

    /// The last entry that begins at or before this byte in the order of (target, offset), perhaps of another
    /// target; or the end. \pre target >= 0
    inline Position floor(Rank target, std::uint64_t offset) const noexcept;
    /// The first entry that begins after this byte, or the end. \pre target >= 0
    inline Position above(Rank target, std::uint64_t offset) const noexcept;
    /// The first entry, or the end.
    Position begin() const noexcept { return {first_, 0}; }

    /// \pre the key is not present, target >= 0
    /// \throws std::bad_alloc, and nothing has changed
    /// \param bytes of the entry; for may_reach()
    void insert(Rank target, std::uint64_t offset, std::uint32_t id, std::uint64_t bytes = unknown_bytes);
    /// Allocates what the next insert() may need.
    /// \throws std::bad_alloc, and nothing has changed
    void reserve();
    /// \pre the key is present
    void erase(Rank target, std::uint64_t offset) noexcept;
    void clear() noexcept;

    std::uint64_t size() const noexcept { return size_; }
    /// Bytes of all nodes, including those of reserve().
    std::uint64_t memory_bytes() const noexcept;
    /// Checks everything. \return a description of a fault, or nullptr
    const char* fault() const noexcept;

  private:
    __extension__ using Key = unsigned __int128;
    static constexpr std::uint32_t room = 63;  ///< keys per node
    static constexpr std::uint32_t few = room / 3;
    static constexpr std::uint32_t joined_at_most = room * 2 / 3;
    static constexpr std::uint32_t height_max = 16;  ///< never reached with 32-bit numbers
    static constexpr Key beyond_all = ~Key{0};

    struct Block {
        Key keys[room];
        std::uint32_t count = 0;  ///< keys
    };
    struct Value {
        std::uint32_t id;
        std::uint32_t bytes;
    };
    struct Leaf : Block {
        Value values[room];
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
    /// The result of a search: a leaf, and how many of its keys are at most the key.
    struct Cursor {
        Leaf* leaf;
        std::uint32_t rank;
    };

    static Key key_of(Rank target, std::uint64_t offset) noexcept {
        return Key{static_cast<std::uint32_t>(target)} << 64 | offset;
    }
    /// How many keys of the node are at most `key`.
    static std::uint32_t rank_in(const Block& block, Key key) noexcept {
        const Key* base = block.keys;
        for (const std::uint32_t half : {32u, 16u, 8u, 4u, 2u, 1u})
            base += std::size_t{half} & -static_cast<std::size_t>(base[half - 1] <= key);
        return static_cast<std::uint32_t>(base - block.keys);
    }
    inline Cursor search(Key key) const noexcept;
    inline Position at_or_before(Cursor cursor) const noexcept;

    Leaf* descend(Key key, Path& path) const noexcept;
    Leaf* new_leaf() noexcept;
    Inner* new_inner() noexcept;
    void release(Leaf* leaf) noexcept;
    void release(Inner* inner) noexcept;
    static void put(Leaf& leaf, std::uint32_t slot, Key key, Value value) noexcept;
    static void put(Inner& inner, std::uint32_t slot, Key separator, Block* right) noexcept;
    void split_and_put(Key key, Value value) noexcept;
    void raise(const Path& path, std::uint32_t level, Key separator, Block* right, bool at_end) noexcept;
    void shrink(Key key) noexcept;
    void remove_child(const Path& path, std::uint32_t level, std::uint32_t child) noexcept;
    static bool join(Inner& parent, std::uint32_t child, bool leaves, std::uint32_t& gone) noexcept;
    void free_below(Block* block, std::uint32_t levels) noexcept;
    struct Walk;
    const char* fault_below(const Block* block, std::uint32_t levels, Key least, Key limit,
                            Walk& walk) const noexcept;

    Block* root_ = nullptr;
    std::uint32_t levels_ = 0;  ///< of inner nodes
    std::uint64_t size_ = 0;
    Leaf* first_ = nullptr;
    Leaf* last_ = nullptr;
    struct Remembered {
        Key key = beyond_all;  ///< beyond_all: nothing
        Cursor cursor = {nullptr, 0};
    };
    mutable Remembered remembered_;
    Leaf* spare_leaf_ = nullptr;
    Inner* spare_inners_ = nullptr;  ///< linked through children[0]
    std::uint32_t spare_inner_count_ = 0;
    std::uint64_t leaves_ = 0;
    std::uint64_t inners_ = 0;
};

inline std::uint32_t RangeIndex::Position::id() const noexcept { return leaf_->values[slot_].id; }

inline Rank RangeIndex::Position::target() const noexcept {
    return static_cast<Rank>(static_cast<std::uint32_t>(leaf_->keys[slot_] >> 64));
}

inline std::uint64_t RangeIndex::Position::offset() const noexcept {
    return static_cast<std::uint64_t>(leaf_->keys[slot_]);
}

inline bool RangeIndex::Position::may_reach(std::uint64_t byte) const noexcept {
    const std::uint32_t bytes = leaf_->values[slot_].bytes;
    return bytes == unknown_bytes || byte - offset() < bytes;
}

inline RangeIndex::Position RangeIndex::Position::next() const noexcept {
    if (slot_ + 1 < leaf_->count) return {leaf_, slot_ + 1};
    return {leaf_->next, 0};
}

// \pre not empty
inline RangeIndex::Cursor RangeIndex::search(Key key) const noexcept {
    if (remembered_.key == key) return remembered_.cursor;
    Block* block = root_;
    for (std::uint32_t level = 0; level < levels_; ++level)
        block = static_cast<Inner*>(block)->children[rank_in(*block, key)];
    const Cursor cursor{static_cast<Leaf*>(block), rank_in(*block, key)};
    remembered_ = {key, cursor};
    return cursor;
}

// A separator may be less than all keys right of it. Then the entry is at the end of the previous leaf.
inline RangeIndex::Position RangeIndex::at_or_before(Cursor cursor) const noexcept {
    if (cursor.rank > 0) return {cursor.leaf, cursor.rank - 1};
    const Leaf* before = cursor.leaf->previous;
    if (before == nullptr) return {};
    return {before, before->count - 1};
}

inline RangeIndex::Position RangeIndex::floor(Rank target, std::uint64_t offset) const noexcept {
    NF_EXPECT(target >= 0);
    if (size_ == 0) return {};
    return at_or_before(search(key_of(target, offset)));
}

inline RangeIndex::Position RangeIndex::above(Rank target, std::uint64_t offset) const noexcept {
    NF_EXPECT(target >= 0);
    if (size_ == 0) return {};
    const Cursor cursor = search(key_of(target, offset));
    if (cursor.rank < cursor.leaf->count) return {cursor.leaf, cursor.rank};
    return {cursor.leaf->next, 0};
}

}  // namespace nearfetch
