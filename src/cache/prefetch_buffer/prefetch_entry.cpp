// SPDX-License-Identifier: Apache-2.0
#include "cache/prefetch_buffer/prefetch_entry.hpp"

#include <cstring>
#include <utility>

namespace nearfetch {

namespace {

// Copies whole words: a reader sees each word either old or new.
template <class Word>
void load_words(const std::byte* from, void* to, std::uint64_t size_bytes) noexcept {
    for (std::uint64_t at = 0; at < size_bytes; at += sizeof(Word)) {
        // atomic_ref needs a mutable type; the word is only read.
        auto* const word = reinterpret_cast<Word*>(const_cast<std::byte*>(from + at));
        const Word value = std::atomic_ref<Word>(*word).load(std::memory_order_acquire);
        std::memcpy(static_cast<std::byte*>(to) + at, &value, sizeof(Word));
    }
}
template <class Word>
void store_words(std::byte* to, const void* from, std::uint64_t size_bytes) noexcept {
    for (std::uint64_t at = 0; at < size_bytes; at += sizeof(Word)) {
        Word value;
        std::memcpy(&value, static_cast<const std::byte*>(from) + at, sizeof(Word));
        std::atomic_ref<Word>(*reinterpret_cast<Word*>(to + at)).store(value, std::memory_order_release);
    }
}

}  // namespace

PrefetchEntry::PrefetchEntry(const detail::Slice& what, bool is_consistent, detail::Packer who_packs,
                             std::unique_ptr<const detail::IndexSet> which, const EntryLocation& location)
    : memory(location.strategy_selector == nullptr ? bytes_of(what, which.get()) : what.bytes(),
             location.data) {
    NF_EXPECT(location.strategy_selector == nullptr || (which != nullptr && location.data != nullptr));
    slice = what;
    only = std::move(which);
    consistent = is_consistent;
    packer = who_packs;
    strategy_selector = location.strategy_selector;
    data = memory.data();
}

// Uses the largest word that divides an element.
template <class Use>
void PrefetchEntry::by_words(Use&& use) const noexcept {
    if (slice.element_bytes % 8 == 0)
        use(detail::WordOf<8>{});
    else if (slice.element_bytes % 4 == 0)
        use(detail::WordOf<4>{});
    else if (slice.element_bytes % 2 == 0)
        use(detail::WordOf<2>{});
    else
        use(detail::WordOf<1>{});
}

bool PrefetchEntry::read(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes,
                         Stamp acquired) const noexcept {
    NF_EXPECT(offset_bytes + size_bytes <= data_bytes());
    const std::uint64_t before = sequence.load(std::memory_order_acquire);
    if (before % 2 != 0 || !is_fresh(acquired)) return false;
    copy(offset_bytes, to, size_bytes);
    return sequence.load(std::memory_order_relaxed) == before;
}

void PrefetchEntry::copy(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes) const noexcept {
    by_words([&](auto word) { load_words<decltype(word)>(data + offset_bytes, to, size_bytes); });
}

void PrefetchEntry::write(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept {
    if (pending_transfers.load(std::memory_order_relaxed) != 0)
        writes.fetch_add(1, std::memory_order_relaxed);
    store(offset_bytes, from, size_bytes);
}

void PrefetchEntry::store(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept {
    NF_EXPECT(offset_bytes + size_bytes <= data_bytes());
    by_words([&](auto word) { store_words<decltype(word)>(data + offset_bytes, from, size_bytes); });
}

void PrefetchEntry::publish(const std::byte* packed, Stamp issued) noexcept {
    NF_EXPECT(issued >= stamp.load(std::memory_order_relaxed));
    begin_update();
    publish_packed(packed);
    memory.own();
    mark_fetched(issued);
    end_update();
}

void PrefetchEntry::publish_packed(const std::byte* packed) noexcept {
    if (strategy_selector == nullptr) return store(0, packed, bytes());
    by_words([&](auto word) {
        only->for_each_run([&](std::int64_t number, std::int64_t count) {
            const std::uint64_t run_bytes = static_cast<std::uint64_t>(count) * slice.element_bytes;
            store_words<decltype(word)>(data + static_cast<std::uint64_t>(number) * slice.element_bytes,
                                        packed, run_bytes);
            packed += run_bytes;
        });
    });
}

void PrefetchEntry::begin_update() noexcept {
    // The words are stored with release: who sees one of them sees the odd sequence number.
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void PrefetchEntry::end_update() noexcept {
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool PrefetchEntry::publish_unread(Stamp acquired) noexcept {
    if (was_used()) return is_fresh(acquired);
    mark_fetched(unread_);
    return is_fresh(acquired);
}

void PrefetchEntry::hold(const Releases& by, std::uint64_t epoch) {
    held_since_ = by->load(std::memory_order_relaxed);
    if (holder_ != by) holder_ = by;  // copying a shared_ptr is the most expensive step
    put_in.store(epoch, std::memory_order_relaxed);
}

bool PrefetchEntry::is_held_by_other(const Releases& me) const noexcept {
    return holder_ != nullptr && holder_ != me && holder_->load(std::memory_order_acquire) == held_since_;
}

}  // namespace nearfetch
