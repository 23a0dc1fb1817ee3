// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/entry_storage.hpp"

#include <new>

#include "base/assert.hpp"
#include "base/copy.hpp"
#include "cache/range_cache/entry.hpp"
#include "cache/range_cache/storage_buffer.hpp"

namespace nearfetch {

/// Access to where entries lie.
class EntryPlace {
  public:
    static StorageBuffer::Region*& region(Entry& entry) noexcept { return entry.region_; }
    static const StorageBuffer::Region* region(const Entry& entry) noexcept { return entry.region_; }
    static std::uint32_t& record(Entry& entry) noexcept { return entry.record_; }
    static std::uint32_t record(const Entry& entry) noexcept { return entry.record_; }
    static std::uint32_t id(const Entry& entry) noexcept { return entry.id_; }
    static LogStorage::Payload payload(const Entry& entry) noexcept { return {entry.bytes, entry.skew_}; }
    static void set(Entry& entry, std::byte* data) noexcept {
        entry.storage_ = data;
        if (entry.served_ != nullptr) entry.served_ = data;
    }
    /// Bytes with the padding before them in the first line.
    static std::uint64_t padded_bytes(const Entry& entry) noexcept { return entry.bytes + entry.skew_; }
    static std::uint8_t skew(const Entry& entry) noexcept { return entry.skew_; }
};

namespace {

/// 001, sections III-C2 and C3.
class BestFit final : public EntryStorage {
  public:
    BestFit(std::uint64_t bytes, std::uint64_t bytes_max) : buffer_(bytes, bytes_max) {}

    bool fits(std::uint64_t bytes) const noexcept override { return buffer_.fits(bytes); }
    bool could_fit(std::uint64_t bytes) const noexcept override {
        return StorageBuffer::footprint(bytes) <= buffer_.size_bytes();
    }
    bool place(Entry& entry) noexcept override {
        try {
            return put(entry, buffer_.allocate(EntryPlace::padded_bytes(entry), &entry));
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    void release(Entry& entry) noexcept override { buffer_.release(EntryPlace::region(entry)); }

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
        const std::uint64_t bytes = StorageBuffer::footprint(EntryPlace::padded_bytes(entry));
        return region->owner == &entry && region->bytes == bytes ? bytes : 0;
    }
    void check_invariants() const override { buffer_.check_invariants(); }

  private:
    bool put(Entry& entry, StorageBuffer::Region* region) noexcept {
        if (region == nullptr) return false;
        EntryPlace::region(entry) = region;
        EntryPlace::set(entry, buffer_.data(region) + EntryPlace::skew(entry));
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
            if (put(entry, buffer_.allocate(EntryPlace::padded_bytes(entry), &entry, bytes))) {
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

    StorageBuffer buffer_;
};

class Log final : public EntryStorage, private LogStorage::Owners {
  public:
    Log(std::uint64_t bytes, std::uint64_t bytes_max, EntryPool& pool)
        : pool_(pool), log_(bytes, bytes_max, *this) {}

    bool fits(std::uint64_t bytes) const noexcept override { return log_.fits({bytes, 0}); }
    bool could_fit(std::uint64_t bytes) const noexcept override { return bytes <= log_.size_bytes(); }
    bool place(Entry& entry) noexcept override {
        const LogStorage::Place place = log_.append(EntryPlace::id(entry), EntryPlace::payload(entry));
        if (place.data == nullptr) return false;
        moved(EntryPlace::id(entry), place);
        return true;
    }
    void release(Entry& entry) noexcept override { log_.release(EntryPlace::record(entry)); }

    bool resize(std::uint64_t bytes, const std::function<void(Entry&)>& evict) override {
        return log_.resize(bytes, [&](std::uint32_t owner) { evict(pool_[owner]); });
    }
    std::uint64_t size_bytes() const noexcept override { return log_.size_bytes(); }
    std::uint64_t free_bytes() const noexcept override { return log_.free_bytes(); }
    LogStorage* log() noexcept override { return &log_; }
    std::uint64_t taken_bytes(const Entry& entry) const noexcept override {
        return log_.taken_bytes(EntryPlace::record(entry), EntryPlace::id(entry));
    }
    void check_invariants() const override { log_.check_invariants(); }

  private:
    LogStorage::Payload payload_of(std::uint32_t owner) const noexcept override {
        return EntryPlace::payload(pool_[owner]);
    }
    bool is_pinned(std::uint32_t owner) const noexcept override { return pool_[owner].is_pending(); }
    void moved(std::uint32_t owner, LogStorage::Place place) noexcept override {
        EntryPlace::record(pool_[owner]) = place.number;
        EntryPlace::set(pool_[owner], place.data);
    }

    EntryPool& pool_;
    LogStorage log_;
};

}  // namespace

std::unique_ptr<EntryStorage> make_entry_storage(std::string_view name, std::uint64_t bytes,
                                                 std::uint64_t bytes_max, EntryPool& pool) {
    if (name == "best_fit") return std::make_unique<BestFit>(bytes, bytes_max);
    NF_EXPECT(name == "log");
    return std::make_unique<Log>(bytes, bytes_max, pool);
}

}  // namespace nearfetch
