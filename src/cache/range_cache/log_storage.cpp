// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/log_storage.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t line_bytes = 64;
// From this size on payloads have the wanted offset in a CPU cache line: copies are faster, and little is
// lost.
constexpr std::uint64_t least_aligned_bytes = 2048;
// A program may have many windows, and use little of each one's cache: that takes small pages.
constexpr std::uint64_t small_use_bytes = 4 << 20;

std::uint64_t whole_units(std::uint64_t bytes) noexcept {
    return (bytes + LogStorage::unit_bytes - 1) / LogStorage::unit_bytes * LogStorage::unit_bytes;
}

}  // namespace

LogStorage::LogStorage(std::uint64_t bytes, std::uint64_t bytes_max, Owners& owners)
    : owners_(owners), memory_(std::max(bytes, bytes_max)) {
    size_ = wanted_ = gap_ = bytes / unit_bytes * unit_bytes;
    NF_EXPECT(size_ > 0);
    if (!memory_.resize(size_))
        throw Error("no memory for a cache buffer of " + std::to_string(bytes) + " bytes",
                    "the system refused it", "lower buffer_bytes");
}

std::uint64_t LogStorage::padding(std::uint64_t at, Payload payload) noexcept {
    const std::uint64_t alignment = payload.bytes < least_aligned_bytes ? unit_bytes : line_bytes;
    return (payload.skew - at) % alignment;
}

std::uint64_t LogStorage::record_bytes(std::uint64_t at, Payload payload) noexcept {
    return whole_units(padding(at, payload) + payload.bytes);
}

// The record begins at the gap. \throws std::bad_alloc, and nothing has changed
void LogStorage::push(std::uint32_t owner, std::uint64_t bytes) {
    records_.push_back({owner, static_cast<std::uint32_t>(bytes / unit_bytes)});
    head_ += bytes;
    gap_ -= bytes;
    if (owner == none) return;
    live_bytes_ += bytes;
    ++live_;
}

LogStorage::Place LogStorage::append(std::uint32_t owner, Payload payload) noexcept {
    if (!fits(payload)) return {};
    const std::uint64_t at = head_ + padding(head_, payload);
    try {
        push(owner, record_bytes(head_, payload));
    } catch (const std::bad_alloc&) {
        return {};
    }
    // Touched while the network is busy, not when the data arrives.
    memory_.populate(head_);
    return {memory_.data() + at, first_number_ + static_cast<std::uint32_t>(records_.size() - 1)};
}

void LogStorage::release(std::uint32_t number) noexcept {
    Record& record = records_[number - first_number_];
    NF_EXPECT(record.owner != none);
    record.owner = none;
    live_bytes_ -= record.units * unit_bytes;
    if (--live_ == 0) return restart();
    // The newest ones end at the gap.
    while (records_.back().owner == none && head_ > 0) {
        const std::uint64_t bytes = records_.back().units * unit_bytes;
        head_ -= bytes;
        gap_ += bytes;
        records_.pop_back();
    }
    collect();
}

// What is free before the oldest payload joins the gap, up to the ring's end.
void LogStorage::collect() noexcept {
    while (records_.front().owner == none && gap_end() == tail_)
        pop_oldest();
}

// Nothing is there.
void LogStorage::restart() noexcept {
    first_number_ += static_cast<std::uint32_t>(records_.size());
    records_.clear();
    size_ = gap_ = wanted_;
    head_ = tail_ = 0;
}

// The oldest record's space joins the gap.
void LogStorage::pop_oldest() noexcept {
    const std::uint64_t bytes = records_.front().units * unit_bytes;
    records_.pop_front();
    ++first_number_;
    gap_ += bytes;
    tail_ += bytes;
    if (tail_ < size_) return;
    tail_ = 0;
    gap_ += wanted_ - size_;
    size_ = wanted_;
}

// Where the gap ends at the ring's end, it goes on at its beginning. \return false when memory is exhausted
bool LogStorage::cross_end() noexcept {
    if (tail_ != 0 || gap_end() != size_) return true;
    try {
        if (gap_ > 0) push(none, gap_);
    } catch (const std::bad_alloc&) {
        return false;
    }
    head_ = 0;
    memory_.prefer_large_pages(small_use_bytes, size_);
    return true;
}

std::uint32_t LogStorage::oldest() noexcept {
    if (live_ == 0 || !cross_end()) return none;
    collect();
    return gap_end() == tail_ ? records_.front().owner : ring_end;
}

bool LogStorage::keep_oldest() noexcept {
    const Record record = records_.front();
    NF_EXPECT(record.owner != none && gap_end() == tail_);
    const Payload payload = owners_.payload_of(record.owner);
    const bool stays = owners_.is_pinned(record.owner);
    const std::uint64_t old_bytes = record.units * unit_bytes;
    const std::uint64_t from = tail_ + padding(tail_, payload);
    try {
        if (stays && gap_ > 0) push(none, gap_);
        records_.push_back({record.owner, 0});
    } catch (const std::bad_alloc&) {
        return false;
    }
    // The record takes the gap's beginning, and gives its own space to the gap's end. The two may overlap.
    const std::uint64_t to = head_ + padding(head_, payload);
    const std::uint64_t bytes = stays ? old_bytes : record_bytes(head_, payload);
    records_.back().units = static_cast<std::uint32_t>(bytes / unit_bytes);
    head_ += bytes;
    gap_ -= bytes;
    live_bytes_ += bytes - old_bytes;
    pop_oldest();
    std::byte* const data = memory_.data() + to;
    if (to != from) std::memmove(data, memory_.data() + from, payload.bytes);
    owners_.moved(record.owner, {data, first_number_ + static_cast<std::uint32_t>(records_.size() - 1)});
    return true;
}

std::uint32_t LogStorage::at_random(Xorshift& random) const noexcept {
    const std::uint64_t at = random.below(records_.size());
    return records_.empty() ? none : records_[at].owner;
}

bool LogStorage::resize(std::uint64_t bytes, const std::function<void(std::uint32_t owner)>& evict) {
    const std::uint64_t wanted = std::max(bytes / unit_bytes, std::uint64_t{1}) * unit_bytes;
    if (wanted < wanted_) return shrink(wanted, evict);
    if (wanted > memory_.reserved_bytes() || !memory_.resize(wanted)) return false;
    wanted_ = wanted;
    if (gap_end() == size_) {
        gap_ += wanted - size_;
        size_ = wanted;
    }
    return true;
}

// All live payloads move to the beginning, in the order of their addresses.
bool LogStorage::shrink(std::uint64_t wanted, const std::function<void(std::uint32_t owner)>& evict) {
    // What is in flight is among the newest.
    const auto is_pinned = [this](const Record& each) {
        return each.owner != none && owners_.is_pinned(each.owner);
    };
    if (std::any_of(records_.rbegin(), records_.rend(), is_pinned)) return false;
    // Each payload may need other padding than now.
    const auto most_bytes = [this] { return live_bytes_ + live_bytes_ / least_aligned_bytes * line_bytes; };
    while (live_ > 0 && most_bytes() > wanted) {
        const std::uint32_t owner = oldest();
        if (owner == none) return false;
        if (owner != ring_end) evict(owner);
    }
    struct Live {
        std::uint64_t at;
        std::uint32_t owner;
    };
    std::vector<Live> payloads;
    std::uint64_t at = tail_;
    for (const Record& record : records_) {
        if (record.owner != none) payloads.push_back({at, record.owner});
        at += record.units * unit_bytes;
        if (at == size_) at = 0;
    }
    std::sort(payloads.begin(), payloads.end(), [](const Live& a, const Live& b) { return a.at < b.at; });
    std::deque<Record> records(payloads.size());
    records_.swap(records);
    head_ = tail_ = live_bytes_ = 0;
    for (std::size_t n = 0; n < payloads.size(); ++n) {
        const auto [was_at, owner] = payloads[n];
        const Payload payload = owners_.payload_of(owner);
        const std::uint64_t record = record_bytes(head_, payload);
        const std::uint64_t to = head_ + padding(head_, payload);
        std::memmove(memory_.data() + to, memory_.data() + was_at + padding(was_at, payload), payload.bytes);
        records_[n] = {owner, static_cast<std::uint32_t>(record / unit_bytes)};
        owners_.moved(owner, {memory_.data() + to, first_number_ + static_cast<std::uint32_t>(n)});
        head_ += record;
        live_bytes_ += record;
    }
    size_ = wanted_ = wanted;
    gap_ = size_ - head_;
    (void)memory_.resize(wanted);
    return true;
}

void LogStorage::check_invariants() const {
    const auto ensure = [](bool holds, const char* what) { require_invariant(holds, "log storage", what); };
    std::uint64_t bytes = 0, live_bytes = 0, live = 0, at = tail_;
    for (const Record& record : records_) {
        ensure(record.units > 0, "an empty record");
        ensure(at + record.units * unit_bytes <= size_, "a record across the end");
        if (record.owner != none) {
            ++live;
            live_bytes += record.units * unit_bytes;
            const Payload payload = owners_.payload_of(record.owner);
            ensure(record_bytes(at, payload) <= record.units * unit_bytes, "a payload beyond its record");
        }
        bytes += record.units * unit_bytes;
        at += record.units * unit_bytes;
        if (at == size_) at = 0;
    }
    ensure(bytes + gap_ == size_ && size_ <= wanted_, "space is miscounted");
    ensure(live == live_ && live_bytes == live_bytes_, "payloads are miscounted");
    ensure(at % size_ == head_ % size_, "the log does not end at the gap");
    ensure(gap_end() == size_ || gap_end() == tail_, "the gap does not end at the oldest");
    ensure(live > 0 || records_.empty(), "a log of nothing");
}

}  // namespace nearfetch
