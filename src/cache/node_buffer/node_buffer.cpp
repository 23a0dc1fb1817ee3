// SPDX-License-Identifier: Apache-2.0
#include "cache/node_buffer/node_buffer.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "base/assert.hpp"
#include "base/mixed.hpp"
#include "base/racy_copy.hpp"
#include "base/robust_lock.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t unit_bytes = 32;  // of a place in a log
constexpr std::uint64_t large_bytes = 512;
constexpr std::uint64_t slots_per_bucket = line_bytes / sizeof(std::uint64_t);
constexpr std::uint64_t log_bytes_per_bucket = slots_per_bucket * 64;
constexpr std::uint64_t shard_count = 64;
constexpr std::uint64_t least_shard_bytes = 4096;
constexpr unsigned tag_shift = 48;  // a slot: 16 bits of the hash, and a place
constexpr std::uint64_t place_mask = (std::uint64_t{1} << tag_shift) - 1;
constexpr std::uint64_t flight_count = 4096;
constexpr unsigned flight_shift = 8;  // a get in flight: 16 bits of the hash, and its time without these bits

constexpr std::uint64_t in_whole(std::uint64_t bytes, std::uint64_t pieces) noexcept {
    return (bytes + pieces - 1) / pieces * pieces;
}

std::uint64_t shard_bytes_of(std::uint64_t record_bytes) noexcept {
    return std::max(in_whole(record_bytes / shard_count, log_bytes_per_bucket), least_shard_bytes);
}

}  // namespace

struct alignas(line_bytes) NodeBuffer::Header {
    std::uint64_t shard_bytes;  // of its log

    std::uint64_t buckets() const noexcept { return shard_bytes / log_bytes_per_bucket; }
};

struct alignas(line_bytes) NodeBuffer::Shard {
    RobustLock writer;
    /// Where the log ends, in units. It is advanced before a record is written.
    alignas(line_bytes) Word head;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share them");

struct alignas(line_bytes) NodeBuffer::Bucket {
    std::array<Word, slots_per_bucket> slots;
};

/// Stands before the bytes.
struct NodeBuffer::Record {
    Key key;
    std::uint64_t begin;
    NodeTime issued;
    std::uint32_t size;
    Rank target;

    ByteRange range() const noexcept { return {begin, begin + size}; }
    bool is_of(Rank of, Key by) const noexcept { return key == by && target == of; }
};

/// The parts that a key's record is looked for in.
class NodeBuffer::Lookup {
  public:
    Lookup(const NodeBuffer& all, std::uint64_t hash) noexcept
        : shard(all.shards_[hash % shard_count]),
          bucket(all.buckets_[hash % shard_count * all.header_->buckets() +
                              bucket_of(hash, all.header_->buckets())]),
          log(all.logs_ + hash % shard_count * all.header_->shard_bytes),
          units(all.header_->shard_bytes / unit_bytes),
          tag(hash >> tag_shift) {}

    /// Whether a slot may be that of the key, and its record has not been overwritten.
    bool may_name(std::uint64_t slot) const noexcept {
        return slot != 0 && slot >> tag_shift == tag && holds(slot & place_mask);
    }
    /// Whether a record has not been overwritten, up to what was copied of it before.
    bool holds(std::uint64_t place) const noexcept {
        fence_after_racy_read();
        return age(place) <= units;
    }
    bool holds_for_long(std::uint64_t place) const noexcept { return age(place) <= units - units / 8; }
    std::byte* at(std::uint64_t place) const noexcept { return log + place % units * unit_bytes; }
    Record record_at(std::uint64_t place) const noexcept {
        Record record;
        copy_racy(reinterpret_cast<std::byte*>(&record), at(place), sizeof record);
        return record;
    }
    std::uint64_t bytes_to_end(std::uint64_t place) const noexcept {
        return (units - place % units) * unit_bytes;
    }

    Shard& shard;
    Bucket& bucket;
    std::byte* log;
    std::uint64_t units;
    std::uint64_t tag;

  private:
    /// By 32 bits of the hash that neither the shard nor the tag is made of.
    static std::uint64_t bucket_of(std::uint64_t hash, std::uint64_t buckets) noexcept {
        return (hash >> 8 & 0xffffffff) * buckets >> 32;
    }
    std::uint64_t age(std::uint64_t place) const noexcept {
        return shard.head.load(std::memory_order_relaxed) - place;
    }
};

std::uint64_t NodeBuffer::memory_bytes(std::uint64_t record_bytes) noexcept {
    const Header header{shard_bytes_of(record_bytes)};
    const std::uint64_t shard_bytes = sizeof(Shard) + header.buckets() * sizeof(Bucket) + header.shard_bytes;
    return sizeof(Header) + flight_count * sizeof(Word) + shard_count * shard_bytes;
}

std::uint64_t NodeBuffer::largest_bytes() const noexcept {
    return std::min<std::uint64_t>(header_->shard_bytes / 4 - sizeof(Record), ~std::uint32_t{0});
}

bool NodeBuffer::create(std::span<std::byte> memory, std::uint64_t record_bytes) noexcept {
    NF_EXPECT(memory.size() >= memory_bytes(record_bytes));
    auto* const header = new (memory.data()) Header{shard_bytes_of(record_bytes)};
    const NodeBuffer made(memory.data());
    for (std::uint64_t i = 0; i < shard_count; ++i) {
        // No record begins at 0: that is an empty slot.
        made.shards_[i].head.store(header->shard_bytes / unit_bytes, std::memory_order_relaxed);
        if (!RobustLock::create(&made.shards_[i].writer)) return false;
    }
    return true;
}

NodeBuffer::NodeBuffer(std::byte* memory) noexcept
    : header_(reinterpret_cast<Header*>(memory)),
      flights_(reinterpret_cast<Word*>(memory + sizeof(Header))),
      shards_(reinterpret_cast<Shard*>(flights_ + flight_count)),
      buckets_(reinterpret_cast<Bucket*>(shards_ + shard_count)),
      logs_(reinterpret_cast<std::byte*>(buckets_ + shard_count * header_->buckets())) {}

std::uint64_t NodeBuffer::hash_of(Rank target, Key key) noexcept {
    return mixed(key ^ mixed(static_cast<std::uint64_t>(target)));
}

NodeBuffer::Lookup NodeBuffer::locate(Rank target, Key key) const noexcept {
    return {*this, hash_of(target, key)};
}

NodeBuffer::Word& NodeBuffer::flight_of(std::uint64_t hash) const noexcept {
    return flights_[hash % flight_count];
}

void NodeBuffer::note_flight(Rank target, Key key, NodeTime issued) const noexcept {
    const std::uint64_t hash = hash_of(target, key);
    flight_of(hash).store(hash >> tag_shift << tag_shift | (issued >> flight_shift & place_mask),
                          std::memory_order_relaxed);
}

NodeTime NodeBuffer::last_flight(Rank target, Key key) const noexcept {
    const std::uint64_t hash = hash_of(target, key);
    const std::uint64_t word = flight_of(hash).load(std::memory_order_relaxed);
    return word >> tag_shift == hash >> tag_shift ? (word & place_mask) << flight_shift : 0;
}

NodeBuffer::Found NodeBuffer::find(Rank target, Key key, ByteRange range, NodeTime since, std::byte* to,
                                   NodeTime& issued) const noexcept {
    const Lookup lookup = locate(target, key);
    for (const Word& slot : lookup.bucket.slots) {
        const std::uint64_t word = slot.load(std::memory_order_acquire);
        if (!lookup.may_name(word)) continue;
        const std::uint64_t place = word & place_mask;
        const Record found = lookup.record_at(place);
        if (!found.is_of(target, key) || found.issued < since || !found.range().contains(range)) continue;
        const std::uint64_t skip = range.begin - found.begin;
        const std::uint64_t room = lookup.bytes_to_end(place) - sizeof found;
        if (range.size() > room || skip > room - range.size()) continue;  // it was overwritten meanwhile
        copy_racy(to, lookup.at(place) + sizeof found + skip, range.size());
        if (!lookup.holds(place)) return Found::nothing;
        issued = found.issued;
        return lookup.holds_for_long(place) ? Found::bytes : Found::soon_lost;
    }
    return Found::nothing;
}

bool NodeBuffer::offer(Rank target, Key key, ByteRange range, NodeTime issued,
                       const std::byte* from) noexcept {
    if (range.size() > largest_bytes()) return false;
    const Lookup lookup = locate(target, key);
    if (!lookup.shard.writer.try_lock()) return false;
    const Record record{key, range.begin, issued, static_cast<std::uint32_t>(range.size()), target};
    if (Word* const slot = slot_for(lookup, record)) append(lookup, record, from, *slot);
    lookup.shard.writer.unlock();
    return true;
}

/// The slot of the key, or else an empty one, or that of the oldest record. \return nullptr: what is there is
/// as good \pre this process is the shard's writer
NodeBuffer::Word* NodeBuffer::slot_for(const Lookup& lookup, const Record& record) noexcept {
    Word* chosen = nullptr;
    std::uint64_t oldest = ~std::uint64_t{0};
    for (Word& slot : lookup.bucket.slots) {
        const std::uint64_t word = slot.load(std::memory_order_relaxed);
        const std::uint64_t place = word & place_mask;
        if (lookup.may_name(word)) {
            const Record there = lookup.record_at(place);
            if (there.is_of(record.target, record.key)) {
                const bool is_as_good =
                    there.issued >= record.issued && there.range().contains(record.range());
                return is_as_good && lookup.holds_for_long(place) ? nullptr : &slot;
            }
        }
        // That of an empty slot is 0.
        if (place < oldest) {
            oldest = place;
            chosen = &slot;
        }
    }
    return chosen;
}

/// \pre this process is the shard's writer
void NodeBuffer::append(const Lookup& lookup, const Record& record, const std::byte* from,
                        Word& slot) noexcept {
    static_assert(sizeof record == unit_bytes && line_bytes == 2 * unit_bytes);
    const std::uint64_t bytes = in_whole(sizeof record + record.size, unit_bytes);
    // The bytes of a large one begin with a line, because wide moves are faster there.
    const bool is_large = record.size >= large_bytes;
    std::uint64_t place = lookup.shard.head.load(std::memory_order_relaxed);
    const std::uint64_t left = lookup.bytes_to_end(place);
    if (bytes + (is_large ? unit_bytes : 0) > left) place += left / unit_bytes;
    if (is_large) place |= 1;
    lookup.shard.head.store(place + bytes / unit_bytes, std::memory_order_relaxed);
    fence_before_racy_write();
    copy_racy(lookup.at(place), reinterpret_cast<const std::byte*>(&record), sizeof record);
    copy_racy(lookup.at(place) + sizeof record, from, record.size);
    slot.store(lookup.tag << tag_shift | place, std::memory_order_release);
}

}  // namespace nearfetch
