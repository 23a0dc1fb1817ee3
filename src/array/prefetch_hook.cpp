// SPDX-License-Identifier: Apache-2.0
//
// Does what the prefetch buffer's entries ask for: fetches them around the page cache, which would keep a
// second copy and forget something else for it (LAPPS, section 5.4), stamps them, and writes through to them.

#include <algorithm>
#include <nearfetch/array_prefetch.hpp>
#include <utility>

#include "core/prefetch_buffer/prefetch_buffer.hpp"
#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch {

using pgas::Context;

PrefetchStatistics prefetch_statistics() {
    const PrefetchBuffer& buffer = Context::here().runtime().prefetch_buffer();
    return {buffer.entries(), buffer.bytes(), buffer.updates(), buffer.updated_bytes()};
}

namespace detail {

namespace {

PrefetchBuffer& buffer() { return Context::here().runtime().prefetch_buffer(); }

PrefetchEntry& entry_of(PrefetchedSlice& slice) { return static_cast<PrefetchEntry&>(slice); }

/// While it lives nobody else changes the entry.
class Claim {
  public:
    Claim(PrefetchEntry& entry, Context& context) : entry_(&entry) {
        while (!entry.try_claim())
            context.transport().yield();
    }
    Claim(Claim&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
        if (entry_ != nullptr) entry_->unclaim();
    }

  private:
    PrefetchEntry* entry_;
};

// Consistent ones arrive in other memory first: readers see all of an update or nothing of it.
struct Arrival {
    explicit Arrival(PrefetchEntry& what) : entry(&what), bytes(what.consistent ? what.slice.bytes() : 0) {}
    std::byte* memory() { return bytes.empty() ? entry->data : bytes.data(); }

    PrefetchEntry* entry;
    std::vector<std::byte> bytes;
};

// \pre the consistent ones are claimed
void refresh(std::span<PrefetchEntry* const> entries, Context& context, Code pack) {
    for (const Packer packer : {Packer::requester, Packer::owner}) {
        std::vector<Arrival> arrivals;
        for (PrefetchEntry* const entry : entries)
            if (entry->packer == packer) arrivals.emplace_back(*entry);
        std::vector<SliceMove> moves;
        for (Arrival& arrival : arrivals)
            moves.push_back({arrival.entry->slice, arrival.memory()});
        const Stamp issued = context.runtime().clock().now();
        get_slices(moves, packer, true, pack);
        for (Arrival& arrival : arrivals) {
            buffer().count_update(arrival.entry->slice.bytes());
            if (arrival.entry->consistent) arrival.entry->publish(arrival.bytes.data(), issued);
        }
    }
}

}  // namespace

PrefetchHook::PrefetchHook() = default;

PrefetchHook::~PrefetchHook() { evict(); }

void PrefetchHook::requested(Code pack_code) { pack_ = pack_code; }

void PrefetchHook::request(const Slice& slice, std::span<const std::int64_t> first, const Prefetch& how) {
    if (slice.bytes() == 0) return;
    PrefetchEntry* const entry =
        buffer().add(this, slice, how.consistent, how.static_domain ? Packer::requester : Packer::owner);
    if (entry == nullptr) return;
    if (by_owner_.empty()) by_owner_.resize(static_cast<std::size_t>(ranks()));
    auto& same_owner = by_owner_[static_cast<std::size_t>(slice.owner)];
    if (std::find(same_owner.begin(), same_owner.end(), entry) != same_owner.end()) return;
    std::copy(first.begin(), first.end(), entry->first.end() - static_cast<std::ptrdiff_t>(first.size()));
    if (how.consistent && !any_consistent_) {
        any_consistent_ = true;
        last_ = nullptr;
    }
    same_owner.insert(how.consistent ? same_owner.begin() : same_owner.end(), entry);
}

void PrefetchHook::update(bool consistent_too) {
    if (!is_requested())
        throw Error("update_prefetch: nothing is prefetched",
                    "no pattern was called, or what it had brought was evicted", "call a pattern first");
    Context& context = Context::here();
    std::vector<PrefetchEntry*> wanted;
    std::vector<Claim> claims;
    for (const auto& same_owner : by_owner_)
        for (PrefetchedSlice* const slice : same_owner) {
            if (slice->consistent && !consistent_too) continue;
            PrefetchEntry& entry = entry_of(*slice);
            if (entry.consistent) {
                Claim claim(entry, context);
                if (entry.held_by_other(context.release_count())) continue;
                claims.push_back(std::move(claim));
            }
            wanted.push_back(&entry);
        }
    refresh(wanted, context, pack_);
}

void PrefetchHook::evict() {
    if (!by_owner_.empty()) buffer().evict(this);
    by_owner_.clear();
    last_ = nullptr;
    any_consistent_ = false;
    pack_ = nullptr;
}

bool read_prefetched(PrefetchedSlice& slice, Code pack, std::int64_t position, void* to) {
    Context& context = Context::here();
    PrefetchEntry& entry = entry_of(slice);
    const std::uint64_t size = slice.slice.element_bytes;
    const std::uint64_t offset = static_cast<std::uint64_t>(position) * size;
    if (entry.read(offset, to, size, context.acquired())) [[likely]]
        return true;
    const Claim claim(entry, context);
    if (!entry.fresh(context.acquired())) {
        if (entry.held_by_other(context.release_count())) return false;
        PrefetchEntry* const one = &entry;
        refresh(std::span(&one, 1), context, pack);
    }
    entry.copy(offset, to, size);
    return true;
}

void write_prefetched(PrefetchedSlice& slice, std::int64_t position, const void* from, std::int64_t count,
                      std::uint64_t address) {
    PrefetchEntry& entry = entry_of(slice);
    const std::uint64_t size = slice.slice.element_bytes * static_cast<std::uint64_t>(count);
    const std::uint64_t offset = slice.slice.element_bytes * static_cast<std::uint64_t>(position);
    if (!slice.consistent) {
        entry.write(offset, from, size);
        return;
    }
    Context& context = Context::here();
    const Claim claim(entry, context);
    entry.write(offset, from, size);
    if (context.release_count() == nullptr) return;  // the put was a message, and is done
    if (entry.held_by_other(context.release_count()))
        context.release(slice.slice.owner, {address, address + size});
    else
        entry.hold(context.release_count());
}

void check_table(std::size_t rows) {
    if (rows != static_cast<std::size_t>(ranks()))
        throw Error("prefetch_custom: a table of " + std::to_string(rows) + " rows",
                    "row r says what rank r needs, and the program has " + std::to_string(ranks()) + " ranks",
                    "use one for each");
}

void check_depth(std::int64_t depth) {
    if (depth < 1)
        throw Error("prefetch_stencil: depth " + std::to_string(depth), "a halo has cells",
                    "use a depth of at least 1");
}

}  // namespace detail

}  // namespace nearfetch
