// SPDX-License-Identifier: Apache-2.0
//
// Entries in 001's buffer (storage_buffer.hpp). An admission evicts one victim, whose room has to suffice.

#include <new>

#include "base/copy.hpp"
#include "cache/range_cache/entry_storage.hpp"
#include "cache/range_cache/storage_buffer.hpp"

namespace nearfetch {

namespace {

class BestFit final : public EntryStorage {
  public:
    BestFit(std::uint64_t bytes, const RangeCacheConfig& config, EntryOwner& owner)
        : owner_(owner), buffer_(bytes, config.buffer_bytes_max) {}

    bool fits(std::uint64_t bytes) const noexcept override { return buffer_.fits(bytes); }
    bool place(Entry& entry) noexcept override {
        try {
            return put(entry, buffer_.allocate(padded_bytes(entry), &entry));
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    void release(Entry& entry) noexcept override { buffer_.release(EntryPlace::region(entry)); }

    bool make_room(Entry& newcomer, double) override {
        owner_.reap_stale(EntryOwner::most_reaped, newcomer.bytes);
        if (place(newcomer)) return true;
        Entry* const victim = owner_.sample_slots();
        if (victim == nullptr) return false;
        owner_.evict(*victim);
        return place(newcomer);
    }

    bool resize(std::uint64_t bytes, const std::function<void(Entry&)>& evict) override {
        bytes = bytes / StorageBuffer::line_bytes * StorageBuffer::line_bytes;
        if (bytes < buffer_.size_bytes() && !clear_tail(bytes, evict)) return false;
        return buffer_.resize(bytes);
    }
    std::uint64_t size_bytes() const noexcept override { return buffer_.size_bytes(); }
    std::uint64_t free_bytes() const noexcept override { return buffer_.free_bytes(); }
    std::uint64_t adjacent_free_bytes(const Entry& entry) const noexcept override {
        return EntryPlace::region(entry)->adjacent_free;
    }
    std::uint64_t taken_bytes(const Entry& entry) const noexcept override {
        const StorageBuffer::Region* const region = EntryPlace::region(entry);
        const std::uint64_t bytes = StorageBuffer::footprint(padded_bytes(entry));
        return region->owner == &entry && region->bytes == bytes ? bytes : 0;
    }
    void check_invariants() const override { buffer_.check_invariants(); }

  private:
    /// Bytes with the padding before them in the first line.
    static std::uint64_t padded_bytes(const Entry& entry) noexcept {
        const auto [bytes, skew] = EntryPlace::payload(entry);
        return bytes + skew;
    }
    bool put(Entry& entry, StorageBuffer::Region* region) noexcept {
        if (region == nullptr) return false;
        EntryPlace::region(entry) = region;
        EntryPlace::set(entry, buffer_.data(region) + EntryPlace::payload(entry).skew);
        return true;
    }
    /// Frees the buffer from `bytes` on. \return false, with nothing changed, if an entry in flight is there
    bool clear_tail(std::uint64_t bytes, const std::function<void(Entry&)>& evict) {
        const auto in_tail = [&](const StorageBuffer::Region* region) {
            return region != nullptr && region->offset + region->bytes > bytes;
        };
        for (StorageBuffer::Region* region = buffer_.last(); in_tail(region); region = region->previous)
            if (!region->is_free() && static_cast<const Entry*>(region->owner)->is_pending()) return false;
        for (StorageBuffer::Region* region = buffer_.last(); in_tail(region);) {
            if (region->is_free()) {
                region = region->previous;
                continue;
            }
            auto& entry = *static_cast<Entry*>(region->owner);
            const std::byte* const bytes_before = entry.data();
            if (put(entry, buffer_.allocate(padded_bytes(entry), &entry, bytes))) {
                copy_bytes(entry.data(), bytes_before, entry.size());
                buffer_.release(region);
            } else {
                evict(entry);
            }
            // The list has changed: restart from its end.
            region = buffer_.last();
        }
        return true;
    }

    EntryOwner& owner_;
    StorageBuffer buffer_;
};

}  // namespace

std::unique_ptr<EntryStorage> make_best_fit(std::uint64_t bytes, const RangeCacheConfig& config,
                                            EntryOwner& owner) {
    return std::make_unique<BestFit>(bytes, config, owner);
}

}  // namespace nearfetch
