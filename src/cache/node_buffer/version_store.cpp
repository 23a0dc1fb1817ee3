// SPDX-License-Identifier: Apache-2.0
#include "cache/node_buffer/version_store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include "base/assert.hpp"
#include "base/mixed.hpp"
#include "base/private_pages.hpp"
#include "base/robust_lock.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t ways = 16;  // slots of a bucket
constexpr std::uint64_t buckets = 1024;
constexpr std::uint64_t bits_per_word = 64;

/// A slot's word: what is there, and when its fetch was issued.
enum class State : std::uint8_t { empty, arriving, complete };
constexpr unsigned state_bits = 2;

constexpr std::uint64_t word_of(State state, NodeTime issued) noexcept {
    return issued << state_bits | static_cast<std::uint64_t>(state);
}
constexpr State state_of(std::uint64_t word) noexcept {
    return static_cast<State>(word & ((1 << state_bits) - 1));
}
constexpr NodeTime issued_of(std::uint64_t word) noexcept { return word >> state_bits; }

constexpr std::uint64_t in_whole(std::uint64_t bytes, std::uint64_t whole) noexcept {
    return (bytes + whole - 1) / whole;
}
constexpr std::uint64_t units_of(std::uint64_t bytes) noexcept {
    return in_whole(bytes, VersionStore::unit_bytes);
}
constexpr std::uint64_t units_of(const VersionStore::Name& name) noexcept {
    return units_of(name.offset_in_page + name.bytes);
}

}  // namespace

struct alignas(64) VersionStore::Slot {
    std::atomic<std::uint64_t> word;  ///< written last
    Name name;
    std::uint64_t first_unit;
    std::uint64_t users;
};

struct alignas(64) VersionStore::Header {
    RobustLock lock;
    std::uint64_t units;

    std::uint64_t words() const noexcept { return in_whole(units, bits_per_word); }
    static std::uint64_t bytes_before_units(std::uint64_t of) noexcept {
        const std::uint64_t taken = in_whole(in_whole(of, bits_per_word) * sizeof(std::uint64_t), 64) * 64;
        return units_of(sizeof(Header) + buckets * ways * sizeof(Slot) + taken) * unit_bytes;
    }
    Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }
    std::uint64_t* taken() noexcept { return reinterpret_cast<std::uint64_t*>(slots() + buckets * ways); }
    std::uint64_t offset_of(std::uint64_t unit) const noexcept {
        return bytes_before_units(units) + unit * unit_bytes;
    }
    std::byte* at(std::uint64_t unit) noexcept {
        return reinterpret_cast<std::byte*>(this) + offset_of(unit);
    }
    void mark(std::uint64_t first, std::uint64_t count, bool is_taken) noexcept {
        for (std::uint64_t unit = first; unit < first + count; ++unit) {
            std::uint64_t& word = taken()[unit / bits_per_word];
            const std::uint64_t bit = std::uint64_t{1} << unit % bits_per_word;
            word = is_taken ? word | bit : word & ~bit;
        }
    }

    class Locked {
      public:
        explicit Locked(Header& header) noexcept : header_(header), is_(header.lock.lock()) {}
        ~Locked() {
            if (is_) header_.lock.unlock();
        }
        Locked(const Locked&) = delete;
        Locked& operator=(const Locked&) = delete;
        explicit operator bool() const noexcept { return is_; }

      private:
        Header& header_;
        bool is_;
    };
};

std::uint64_t VersionStore::memory_bytes(std::uint64_t version_bytes) noexcept {
    const std::uint64_t units = units_of(version_bytes);
    return Header::bytes_before_units(units) + units * unit_bytes;
}

bool VersionStore::create(std::span<std::byte> memory, std::uint64_t version_bytes) noexcept {
    NF_EXPECT(memory.size() >= memory_bytes(version_bytes));
    auto* const header = new (memory.data()) Header{};
    header->units = units_of(version_bytes);
    header->mark(header->units, header->words() * bits_per_word - header->units, true);
    return RobustLock::create(&header->lock);
}

VersionStore::Slot* VersionStore::bucket_of(const Name& name) const noexcept {
    const std::uint64_t hash = mixed(name.key ^ mixed(name.begin + static_cast<std::uint64_t>(name.rank)));
    return header_->slots() + hash % buckets * ways;
}

/// The first of so many free units in a row; if there are none, the number of units.
std::uint64_t VersionStore::find_room(std::uint64_t count) const noexcept {
    const std::uint64_t* const taken = header_->taken();
    std::uint64_t run = 0;
    for (std::uint64_t unit = 0; unit < header_->units;) {
        const std::uint64_t here = taken[unit / bits_per_word] >> unit % bits_per_word;
        const std::uint64_t left = bits_per_word - unit % bits_per_word;
        const bool is_taken = (here & 1) != 0;
        const auto same =
            static_cast<std::uint64_t>(is_taken ? std::countr_one(here) : std::countr_zero(here));
        const std::uint64_t step = std::min(same, left);
        run = is_taken ? 0 : run + step;
        unit += step;
        if (run >= count) return unit - run;
    }
    return header_->units;
}

VersionStore::Answer VersionStore::take(const Name& name, NodeTime since, NodeTime expected_since,
                                        NodeTime now) const noexcept {
    const Header::Locked locked(*header_);
    if (!locked) return {};
    Slot* empty = nullptr;
    Arrival expected;
    for (Slot& slot : std::span(bucket_of(name), ways)) {
        const std::uint64_t word = slot.word.load(std::memory_order_acquire);
        const NodeTime issued = issued_of(word);
        if (state_of(word) == State::empty) {
            if (empty == nullptr) empty = &slot;
        } else if (slot.name != name || issued < since) {
            continue;
        } else if (state_of(word) == State::complete) {
            ++slot.users;
            return {Found::complete, Version(header_, &slot)};
        } else if (issued >= expected_since) {
            expected = {issued, &slot};
        }
    }
    if (expected.slot != nullptr) return {Found::arriving, {}, expected};
    if (empty == nullptr) return {};
    return begin(*empty, name, now);
}

/// \pre locked
VersionStore::Answer VersionStore::begin(Slot& slot, const Name& name, NodeTime now) const noexcept {
    const std::uint64_t first = find_room(units_of(name));
    if (first == header_->units) return {};
    slot.name = name;
    slot.first_unit = first;
    slot.users = 1;
    header_->mark(first, units_of(name), true);
    slot.word.store(word_of(State::arriving, now), std::memory_order_release);
    return {Found::begun, Version(header_, &slot)};
}

bool VersionStore::is_arriving(const Arrival& arrival) const noexcept {
    const std::uint64_t word = static_cast<const Slot*>(arrival.slot)->word.load(std::memory_order_acquire);
    return word == word_of(State::arriving, arrival.issued);
}

std::uint64_t VersionStore::used_bytes() const noexcept {
    const Header::Locked locked(*header_);
    std::uint64_t units = 0;
    for (const std::uint64_t word : std::span(header_->taken(), header_->words()))
        units += static_cast<std::uint64_t>(std::popcount(word));
    return (units - (header_->words() * bits_per_word - header_->units)) * unit_bytes;
}

std::uint64_t VersionStore::Version::offset() const noexcept {
    return header_->offset_of(slot_->first_unit) + slot_->name.offset_in_page;
}

std::byte* VersionStore::Version::data() const noexcept {
    return header_->at(slot_->first_unit) + slot_->name.offset_in_page;
}

void VersionStore::Version::complete() const noexcept {
    const std::uint64_t word = slot_->word.load(std::memory_order_relaxed);
    slot_->word.store(word_of(State::complete, issued_of(word)), std::memory_order_release);
}

// Its units are free at last: until then nobody writes there.
void VersionStore::Version::give_up(Memory memory) noexcept {
    Slot* const slot = std::exchange(slot_, nullptr);
    if (slot == nullptr) return;
    std::uint64_t first = 0, count = 0;
    {
        const Header::Locked locked(*header_);
        if (!locked || --slot->users != 0) return;
        first = slot->first_unit;
        count = units_of(slot->name);
        slot->word.store(word_of(State::empty, 0), std::memory_order_release);
        if (memory == Memory::kept) return header_->mark(first, count, false);
    }
    return_file_pages({header_->at(first), count * unit_bytes});
    if (const Header::Locked locked(*header_); locked) header_->mark(first, count, false);
}

}  // namespace nearfetch
