// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/range_index.hpp"

#include <algorithm>

namespace nearfetch {

RangeIndex::~RangeIndex() {
    clear();
    delete spare_leaf_;
    while (spare_inners_ != nullptr) {
        Inner* inner = spare_inners_;
        spare_inners_ = static_cast<Inner*>(inner->children[0]);
        delete inner;
    }
}

// One leaf, one inner node per level, and one for a new root.
void RangeIndex::reserve() {
    if (spare_leaf_ == nullptr) {
        spare_leaf_ = new Leaf;
        ++leaves_;
    }
    while (spare_inner_count_ <= levels_) {
        auto* inner = new Inner;
        ++inners_;
        release(inner);
    }
}

RangeIndex::Leaf* RangeIndex::new_leaf() noexcept {
    NF_EXPECT(spare_leaf_ != nullptr);
    Leaf* leaf = spare_leaf_;
    spare_leaf_ = nullptr;
    leaf->next = leaf->previous = nullptr;
    leaf->count = 0;
    std::fill_n(leaf->keys, room, beyond_all);
    return leaf;
}

RangeIndex::Inner* RangeIndex::new_inner() noexcept {
    NF_EXPECT(spare_inner_count_ > 0);
    Inner* inner = spare_inners_;
    spare_inners_ = static_cast<Inner*>(inner->children[0]);
    --spare_inner_count_;
    inner->count = 0;
    std::fill_n(inner->keys, room, beyond_all);
    return inner;
}

void RangeIndex::release(Leaf* leaf) noexcept {
    if (spare_leaf_ == nullptr) {
        spare_leaf_ = leaf;
        return;
    }
    delete leaf;
    --leaves_;
}

void RangeIndex::release(Inner* inner) noexcept {
    if (spare_inner_count_ > levels_) {
        delete inner;
        --inners_;
        return;
    }
    inner->children[0] = spare_inners_;
    spare_inners_ = inner;
    ++spare_inner_count_;
}

std::uint64_t RangeIndex::memory_bytes() const noexcept {
    return leaves_ * sizeof(Leaf) + inners_ * sizeof(Inner);
}

RangeIndex::Leaf* RangeIndex::descend(Key key, Path& path) const noexcept {
    Block* block = root_;
    for (std::uint32_t level = 0; level < levels_; ++level) {
        auto* inner = static_cast<Inner*>(block);
        path[level] = {inner, rank_in(*inner, key)};
        block = inner->children[path[level].child];
    }
    return static_cast<Leaf*>(block);
}

void RangeIndex::put(Leaf& leaf, std::uint32_t slot, Key key, Value value) noexcept {
    std::copy_backward(leaf.keys + slot, leaf.keys + leaf.count, leaf.keys + leaf.count + 1);
    std::copy_backward(leaf.values + slot, leaf.values + leaf.count, leaf.values + leaf.count + 1);
    leaf.keys[slot] = key;
    leaf.values[slot] = value;
    ++leaf.count;
}

// `right` becomes the child after `slot`.
void RangeIndex::put(Inner& inner, std::uint32_t slot, Key separator, Block* right) noexcept {
    std::copy_backward(inner.keys + slot, inner.keys + inner.count, inner.keys + inner.count + 1);
    std::copy_backward(inner.children + slot + 1, inner.children + inner.count + 1,
                       inner.children + inner.count + 2);
    inner.keys[slot] = separator;
    inner.children[slot + 1] = right;
    ++inner.count;
}

void RangeIndex::insert(Rank target, std::uint64_t offset, std::uint32_t id, std::uint64_t bytes) {
    NF_EXPECT(target >= 0);
    const Value value{id, static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, unknown_bytes))};
    const Key key = key_of(target, offset);
    if (root_ == nullptr) {
        reserve();
        root_ = first_ = last_ = new_leaf();
    }
    const Cursor cursor = search(key);
    NF_EXPECT(cursor.rank == 0 || cursor.leaf->keys[cursor.rank - 1] != key);
    if (cursor.leaf->count < room) {
        put(*cursor.leaf, cursor.rank, key, value);
    } else {
        reserve();
        split_and_put(key, value);
    }
    ++size_;
    remembered_.key = beyond_all;
}

// The key's leaf is full.
void RangeIndex::split_and_put(Key key, Value value) noexcept {
    Path path;
    Leaf* left = descend(key, path);
    Leaf* right = new_leaf();
    right->next = left->next;
    right->previous = left;
    (left->next == nullptr ? last_ : left->next->previous) = right;
    left->next = right;
    const bool at_end = right->next == nullptr;
    const std::uint32_t slot = rank_in(*left, key);
    if (slot == room && (at_end || right->next->keys[0] >> 64 != key >> 64)) {
        put(*right, 0, key, value);
    } else {
        constexpr std::uint32_t kept = (room + 1) / 2;
        std::copy(left->keys + kept, left->keys + room, right->keys);
        std::copy(left->values + kept, left->values + room, right->values);
        std::fill(left->keys + kept, left->keys + room, beyond_all);
        right->count = room - kept;
        left->count = kept;
        if (slot <= kept)
            put(*left, slot, key, value);
        else
            put(*right, slot - kept, key, value);
    }
    raise(path, levels_, right->keys[0], right, at_end && right->count == 1);
}

// A node below `level` was split: inserts its right half into the parent, which may be full too. `at_end`:
// appended at the end of the index, so full nodes stay full.
void RangeIndex::raise(const Path& path, std::uint32_t level, Key separator, Block* right,
                       bool at_end) noexcept {
    while (level-- > 0) {
        Inner* left = path[level].inner;
        const std::uint32_t slot = path[level].child;
        if (left->count < room) {
            put(*left, slot, separator, right);
            return;
        }
        Inner* other = new_inner();
        Key middle = separator;
        if (at_end && slot == room) {
            other->children[0] = right;
        } else {
            constexpr std::uint32_t kept = room / 2;
            middle = left->keys[kept];
            std::copy(left->keys + kept + 1, left->keys + room, other->keys);
            std::copy(left->children + kept + 1, left->children + room + 1, other->children);
            std::fill(left->keys + kept, left->keys + room, beyond_all);
            other->count = room - kept - 1;
            left->count = kept;
            if (slot <= kept)
                put(*left, slot, separator, right);
            else
                put(*other, slot - kept - 1, separator, right);
        }
        separator = middle;
        right = other;
    }
    Inner* root = new_inner();
    root->children[0] = root_;
    put(*root, 0, separator, right);
    root_ = root;
    ++levels_;
    NF_ENSURE(levels_ < height_max);
}

void RangeIndex::erase(Rank target, std::uint64_t offset) noexcept {
    NF_EXPECT(target >= 0 && size_ > 0);
    const Key key = key_of(target, offset);
    // The last search stays valid: evictions come between a miss and its insertion.
    const Remembered kept = remembered_;
    const Cursor cursor = search(key);
    remembered_ = kept;
    Leaf* leaf = cursor.leaf;
    NF_EXPECT(cursor.rank > 0 && leaf->keys[cursor.rank - 1] == key);
    const std::uint32_t slot = cursor.rank - 1;
    std::copy(leaf->keys + slot + 1, leaf->keys + leaf->count, leaf->keys + slot);
    std::copy(leaf->values + slot + 1, leaf->values + leaf->count, leaf->values + slot);
    leaf->keys[--leaf->count] = beyond_all;
    --size_;
    if (remembered_.cursor.leaf == leaf && slot < remembered_.cursor.rank) --remembered_.cursor.rank;
    if (leaf->count < few) shrink(key);
}

// The key's leaf has few keys left.
void RangeIndex::shrink(Key key) noexcept {
    Path path;
    Leaf* leaf = descend(key, path);
    if (levels_ == 0) {
        if (leaf->count > 0) return;
        remembered_ = {};
        root_ = first_ = last_ = nullptr;
        release(leaf);
        return;
    }
    Inner& parent = *path[levels_ - 1].inner;
    std::uint32_t gone = path[levels_ - 1].child;
    if (leaf->count > 0 && !join(parent, path[levels_ - 1].child, true, gone)) return;
    remembered_ = {};
    auto* empty = static_cast<Leaf*>(parent.children[gone]);
    (empty->previous == nullptr ? first_ : empty->previous->next) = empty->next;
    (empty->next == nullptr ? last_ : empty->next->previous) = empty->previous;
    release(empty);
    remove_child(path, levels_ - 1, gone);
}

// Merges `child` with a neighbour into the left one of the two, if they have few keys. \param gone the number
// of the child to remove
bool RangeIndex::join(Inner& parent, std::uint32_t child, bool leaves, std::uint32_t& gone) noexcept {
    for (const std::uint32_t at : {child, child + 1}) {  // of the pair (at - 1, at)
        if (at == 0 || at > parent.count) continue;
        Block* left = parent.children[at - 1];
        Block* right = parent.children[at];
        if (left->count + right->count + (leaves ? 0 : 1) > joined_at_most) continue;
        if (leaves) {
            std::copy_n(static_cast<Leaf*>(right)->values, right->count,
                        static_cast<Leaf*>(left)->values + left->count);
        } else {
            std::copy_n(static_cast<Inner*>(right)->children, right->count + 1,
                        static_cast<Inner*>(left)->children + left->count + 1);
            left->keys[left->count++] = parent.keys[at - 1];
        }
        std::copy_n(right->keys, right->count, left->keys + left->count);
        left->count += right->count;
        gone = at;
        return true;
    }
    return false;
}

// Removes the freed child. Its parent may then have few children, or none, and so on up to the root.
void RangeIndex::remove_child(const Path& path, std::uint32_t level, std::uint32_t child) noexcept {
    for (;; --level) {
        Inner& inner = *path[level].inner;
        const bool empty = inner.count == 0;
        NF_ENSURE(!empty || level > 0);  // the root has at least two children
        if (!empty) {
            const std::uint32_t key = child == 0 ? 0 : child - 1;
            std::copy(inner.keys + key + 1, inner.keys + inner.count, inner.keys + key);
            std::copy(inner.children + child + 1, inner.children + inner.count + 1, inner.children + child);
            inner.keys[--inner.count] = beyond_all;
        }
        if (level == 0) break;
        if (inner.count >= few) return;
        Inner& parent = *path[level - 1].inner;
        child = path[level - 1].child;
        if (!empty && !join(parent, child, false, child)) return;
        release(static_cast<Inner*>(parent.children[child]));
    }
    while (levels_ > 0 && root_->count == 0) {
        auto* root = static_cast<Inner*>(root_);
        root_ = root->children[0];
        --levels_;
        release(root);
    }
}

void RangeIndex::free_below(Block* block, std::uint32_t levels) noexcept {
    if (levels == 0) {
        release(static_cast<Leaf*>(block));
        return;
    }
    auto* inner = static_cast<Inner*>(block);
    for (std::uint32_t i = 0; i <= inner->count; ++i)
        free_below(inner->children[i], levels - 1);
    release(inner);
}

void RangeIndex::clear() noexcept {
    if (root_ != nullptr) free_below(root_, levels_);
    root_ = first_ = last_ = nullptr;
    levels_ = 0;
    size_ = 0;
    remembered_ = {};
}

/// State of fault().
struct RangeIndex::Walk {
    const Leaf* before = nullptr;
    std::uint64_t keys = 0;
    std::uint64_t leaves = 0;
    std::uint64_t inners = 0;
};

const char* RangeIndex::fault_below(const Block* block, std::uint32_t levels, Key least, Key limit,
                                    Walk& walk) const noexcept {
    if (block->count > room) return "block with too many keys";
    for (std::uint32_t i = 0; i < room; ++i) {
        if (i >= block->count) {
            if (block->keys[i] != beyond_all) return "key where none should be";
        } else if (block->keys[i] < (i == 0 ? least : block->keys[i - 1] + 1) || block->keys[i] >= limit) {
            return "keys out of order";
        }
    }
    if (levels == 0) {
        const auto* leaf = static_cast<const Leaf*>(block);
        if (leaf->count == 0) return "empty leaf";
        if (leaf->previous != walk.before) return "leaf with another before it";
        if ((walk.before == nullptr ? first_ : walk.before->next) != leaf) return "leaf that is not next";
        walk.before = leaf;
        walk.keys += leaf->count;
        ++walk.leaves;
        return nullptr;
    }
    const auto* inner = static_cast<const Inner*>(block);
    ++walk.inners;
    for (std::uint32_t i = 0; i <= inner->count; ++i) {
        const char* found = fault_below(inner->children[i], levels - 1, i == 0 ? least : inner->keys[i - 1],
                                        i == inner->count ? limit : inner->keys[i], walk);
        if (found != nullptr) return found;
    }
    return nullptr;
}

const char* RangeIndex::fault() const noexcept {
    Walk walk;
    if (root_ != nullptr) {
        if (const char* found = fault_below(root_, levels_, 0, beyond_all, walk)) return found;
        if (levels_ > 0 && root_->count == 0) return "root with one child";
    } else if (levels_ > 0 || first_ != nullptr) {
        return "levels without a root";
    }
    if (walk.before != last_ || (last_ != nullptr && last_->next != nullptr)) return "last leaf";
    if (walk.keys != size_) return "keys are miscounted";
    if (walk.leaves + (spare_leaf_ != nullptr ? 1 : 0) != leaves_) return "leaves are miscounted";
    if (walk.inners + spare_inner_count_ != inners_) return "inner blocks are miscounted";
    if (remembered_.key == beyond_all) return nullptr;
    Path path;
    const Leaf* leaf = descend(remembered_.key, path);
    if (leaf != remembered_.cursor.leaf || rank_in(*leaf, remembered_.key) != remembered_.cursor.rank)
        return "what is remembered is wrong";
    return nullptr;
}

}  // namespace nearfetch
