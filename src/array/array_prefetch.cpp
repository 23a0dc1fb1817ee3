// SPDX-License-Identifier: Apache-2.0
//
// An array's side of the prefetch buffer: requests and their location, write-through, and asynchronous
// transfers. Synchronous fetches are in refresh.cpp.

#include <algorithm>
#include <bit>
#include <iterator>
#include <nearfetch/detail/array/prefetch.hpp>
#include <utility>

#include "array/entry_lock.hpp"
#include "array/refresh.hpp"
#include "cache/prefetch_buffer/prefetch_buffer.hpp"
#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch {

using pgas::Context;

PrefetchStatistics prefetch_statistics() {
    const PrefetchBuffer& buffer = Context::here().runtime().prefetch_buffer();
    return {buffer.entries(),       buffer.bytes(),           buffer.updates(),     buffer.updated_bytes(),
            buffer.replica_reads(), buffer.bytes_from_node(), buffer.shared_bytes()};
}

// Fetched data waits in a staging buffer until wait(), so that elements read before are complete. An entry
// written meanwhile is left stale, or fetched again under manual consistency, where nobody would notice. An
// entry fetched meanwhile is kept.
class [[gnu::visibility("hidden")]] PrefetchTransfer::State {
  public:
    explicit State(detail::ArrayPrefetch& array);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();
    bool test();
    void wait();
    /// The entry is about to be evicted: what arrives for it is dropped.
    void leave_out(const PrefetchEntry& entry);
    /// All entries are.
    void drop() { dropped_ = true; }

  private:
    struct Arrival {
        PrefetchEntry* entry;  ///< nullptr: evicted
        std::vector<std::byte> bytes;
        std::uint64_t writes;
    };
    void install(Arrival& arrival, Context& context);

    detail::ArrayPrefetch& array_prefetch_;
    std::uint64_t writes_;
    bool dropped_ = false;
    std::vector<Arrival> arrivals_;
    Stamp issued_ = 0;
    std::vector<Transfer> transfers_;  ///< declared last: ended before their buffers
};

namespace detail {

namespace {

PrefetchBuffer& buffer() { return Context::here().runtime().prefetch_buffer(); }

/// Empty stand-in for the slice used last.
class None : public PrefetchedSlice {
  public:
    None() { slice.extent = {}; }
} none;

/// The smallest box of a part that covers a set.
Box<4> box_around(const Slice& part, const IndexSet& set) {
    if (set.size() == 0) return {};
    Box<4> box({}, {});
    box.lower = part.part;
    const auto include = [&](std::int64_t number) {
        for (std::size_t d = 4; d-- > 0; number /= part.part[d]) {
            box.lower[d] = std::min(box.lower[d], number % part.part[d]);
            box.upper[d] = std::max(box.upper[d], number % part.part[d] + 1);
        }
    };
    set.for_each_run([&](std::int64_t first, std::int64_t count) {
        include(first);
        include(first + count - 1);
        // A run that continues in the next row covers a range of the outer dimensions, so the inner ones are
        // complete.
        std::int64_t row = 1;
        for (std::size_t d = 4; d-- > 0;) {
            row *= part.part[d];
            if (first / row == (first + count - 1) / row) break;
            box.lower[d] = 0;
            box.upper[d] = part.part[d];
        }
    });
    return box;
}

}  // namespace

ArrayPrefetch::ArrayPrefetch() { reset_last_used(); }

ArrayPrefetch::~ArrayPrefetch() { evict(); }

PrefetchPattern ArrayPrefetch::begin(const SlicePacking& packing, PrefetchPattern again) {
    packing_ = packing;
    current_ = again == PrefetchPattern{} ? PrefetchPattern{++begun_} : again;
    if (std::ranges::find(patterns_, current_) == patterns_.end()) patterns_.push_back(current_);
    return current_;
}

void ArrayPrefetch::request(const Slice& slice, std::unique_ptr<const IndexSet> only,
                            std::span<const std::int64_t> first, const Prefetch& how) {
    if (slice.bytes() == 0 || (only != nullptr && only->size() == 0)) return;
    EntryLocation location{location_in_replica(slice, first)};
    if (location.data != nullptr && only != nullptr)
        location.strategy_selector = &replica_->strategy_selector();
    PrefetchEntry* const entry =
        buffer().add(this, slice, how.consistent, how.static_domain ? Packer::requester : Packer::owner,
                     std::move(only), location);
    if (entry == nullptr) return;
    if (const auto number = static_cast<std::uint64_t>(current_);
        std::ranges::find(entry->requested_by, number) == entry->requested_by.end())
        entry->requested_by.push_back(number);
    if (by_owner_.empty()) by_owner_.resize(static_cast<std::size_t>(ranks()));
    const auto shown = of(slice.owner);
    if (std::find(shown.begin(), shown.end(), entry) != shown.end()) return;
    // It may be an earlier entry that covers this slice.
    if (entry->slice == slice) {
        std::copy(first.begin(), first.end(), entry->first.end() - static_cast<std::ptrdiff_t>(first.size()));
        if (how.consistent) entry->acquires = &Context::here().runtime().clock().now();
        extend_bounds(*entry);
    }
    if (how.consistent || !how.later)
        make_visible(entry);
    else if (std::find(pending_.begin(), pending_.end(), entry) == pending_.end()) {
        pending_.push_back(entry);
        one_slice_per_owner_ = false;
    }
}

void ArrayPrefetch::make_replica(std::int64_t lower, std::int64_t elements, std::uint64_t element_bytes) {
    if (replica_ != nullptr) return;
    try {
        replica_ = std::make_unique<Replica>(lower, elements, element_bytes);
    } catch (const std::bad_alloc&) {
        // Slices then have memory of their own.
    }
}

/// Address in the replica, which holds one slice per owner; else nullptr.
std::byte* ArrayPrefetch::location_in_replica(const Slice& slice, std::span<const std::int64_t> first) const {
    const auto is_owners = [&](const PrefetchedSlice* other) { return other->slice.owner == slice.owner; };
    if (replica_ == nullptr || !of(slice.owner).empty() ||
        std::any_of(pending_.begin(), pending_.end(), is_owners))
        return nullptr;
    return replica_->at(first[0]);
}

void ArrayPrefetch::request_set(const Slice& part, IndexSet set, std::span<const std::int64_t> first,
                                const Prefetch& how) {
    set.complete();
    const Box<4> box = box_around(part, set);
    if (box.size() != set.size()) {
        request(part, std::make_unique<const IndexSet>(std::move(set)), first, how);
        return;
    }
    Slice slice = part;
    slice.lower = box.lower;
    slice.extent = box.shape();
    std::vector<std::int64_t> first_of_box(first.begin(), first.end());
    for (std::size_t d = 0; d < first.size(); ++d)
        first_of_box[d] += box.lower[4 - first.size() + d];
    request(slice, nullptr, first_of_box, how);
}

void ArrayPrefetch::make_visible(PrefetchedSlice* slice) {
    auto& same_owner = by_owner_[static_cast<std::size_t>(slice->slice.owner)];
    if (slice->consistent && !any_consistent_) {
        any_consistent_ = true;
        reset_last_used();
    }
    same_owner.insert(slice->consistent ? same_owner.begin() : same_owner.end(), slice);
    std::erase(pending_, slice);
    any_owner_has_several_ = any_owner_has_several_ || same_owner.size() > 1;
    one_slice_per_owner_ = !any_owner_has_several_ && pending_.empty();
    if (replica_ != nullptr) replica_->changed();
}

void ArrayPrefetch::reset_last_used() {
    for (std::atomic<PrefetchedSlice*>& slice : last_)
        slice = &none;
}

void ArrayPrefetch::extend_bounds(const PrefetchedSlice& slice) {
    const bool is_first = std::ranges::find(bounds_extent_, 0) != bounds_extent_.end();
    const Box<4> box =
        slice.only == nullptr ? Box<4>({}, slice.slice.extent) : box_around(slice.slice, *slice.only);
    for (std::size_t d = 0; d < 4; ++d) {
        std::int64_t lower = slice.first[d] + box.lower[d];
        std::int64_t upper = slice.first[d] + box.upper[d];
        if (!is_first) {
            lower = std::min(lower, bounds_lower_[d]);
            upper = std::max(upper, bounds_lower_[d] + static_cast<std::int64_t>(bounds_extent_[d]));
        }
        block_bits_[d] =
            static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(slice.slice.part[d])) - 1);
        bounds_lower_[d] = lower;
        bounds_extent_[d] = static_cast<std::uint64_t>(upper - lower);
    }
}

void ArrayPrefetch::require_request() const {
    if (!is_requested())
        throw Error("update_prefetch: nothing is prefetched",
                    "no pattern was called, or its data was evicted", "call a pattern first");
}

void ArrayPrefetch::update(bool consistent_too) {
    require_request();
    bool any_manual = false;
    try {
        Context& context = Context::here();
        std::vector<PrefetchEntry*> wanted;
        std::vector<EntryLock> locks;
        // The others are on their way, and become visible at the end of their transfers.
        std::vector<PrefetchedSlice*> asked_for;
        std::ranges::copy_if(pending_, std::back_inserter(asked_for), [](const PrefetchedSlice* slice) {
            return slice->pending_transfers.load(std::memory_order_relaxed) == 0;
        });
        for (const auto& same_owner : by_owner_)
            for (PrefetchedSlice* const slice : same_owner) {
                if (slice->consistent && !consistent_too) continue;
                PrefetchEntry& entry = entry_of(*slice);
                if (entry.consistent) {
                    EntryLock lock(entry, context);
                    if (entry.is_held_by_other(context.sync().release_count)) continue;
                    locks.push_back(std::move(lock));
                }
                any_manual = any_manual || !entry.consistent;
                wanted.push_back(&entry);
            }
        for (PrefetchedSlice* const slice : asked_for)
            wanted.push_back(&entry_of(*slice));
        any_manual = any_manual || !asked_for.empty();
        refresh(wanted, context, packing_);
        std::ranges::for_each(asked_for, [&](PrefetchedSlice* slice) { make_visible(slice); });
    } catch (...) {
        // A manual entry that was fetched in part would be read without notice. Consistent ones are stale.
        if (any_manual) evict();
        throw;
    }
}

void ArrayPrefetch::evict_all() {
    for (PrefetchTransfer::State* const transfer : transfers_)
        transfer->drop();
    patterns_.clear();
    if (!by_owner_.empty()) buffer().evict(this);
    replica_.reset();
    by_owner_.clear();
    pending_.clear();
    ++evictions_;
    reset_last_used();
    bounds_extent_ = {};
    any_consistent_ = any_owner_has_several_ = false;
    one_slice_per_owner_ = true;
    packing_ = {};
}

void ArrayPrefetch::evict(std::optional<PrefetchPattern> pattern) {
    if (!pattern) return evict_all();
    if (std::erase(patterns_, *pattern) == 0) return;
    if (patterns_.empty()) return evict_all();
    std::vector<PrefetchedSlice*> leaving;
    const auto withdraw = [&](PrefetchedSlice* slice) {
        PrefetchEntry& entry = entry_of(*slice);
        if (std::erase(entry.requested_by, static_cast<std::uint64_t>(*pattern)) == 0) return;
        if (entry.requested_by.empty()) leaving.push_back(slice);
    };
    for (const auto& same_owner : by_owner_)
        std::ranges::for_each(same_owner, withdraw);
    std::ranges::for_each(pending_, withdraw);
    const auto leaves = [&](const PrefetchedSlice* slice) {
        return std::ranges::find(leaving, slice) != leaving.end();
    };
    if (leaving.empty()) return;
    for (auto& same_owner : by_owner_)
        std::erase_if(same_owner, leaves);
    std::erase_if(pending_, leaves);
    for (PrefetchTransfer::State* const transfer : transfers_)
        for (PrefetchedSlice* const slice : leaving)
            transfer->leave_out(entry_of(*slice));
    buffer().evict(this, [&](PrefetchEntry& entry) { return leaves(&entry); });
    ++evictions_;
    review_slices();
}

/// After slices have left.
void ArrayPrefetch::review_slices() {
    reset_last_used();
    any_consistent_ = any_owner_has_several_ = false;
    for (const auto& same_owner : by_owner_) {
        any_owner_has_several_ = any_owner_has_several_ || same_owner.size() > 1;
        any_consistent_ = any_consistent_ || (!same_owner.empty() && same_owner.front()->consistent);
    }
    one_slice_per_owner_ = !any_owner_has_several_ && pending_.empty();
    if (replica_ != nullptr) replica_->changed();
}

PrefetchTransfer ArrayPrefetch::start_update() {
    require_request();
    return PrefetchTransfer(std::make_unique<PrefetchTransfer::State>(*this));
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
    const EntryLock lock(entry, context);
    entry.write(offset, from, size);
    if (context.sync().release_count == nullptr) return;  // the put was a message, and is complete
    if (entry.is_held_by_other(context.sync().release_count))
        context.release(slice.slice.owner, {address, address + size});
    else
        entry.hold(context.sync().release_count, put_epoch);
}

std::uint64_t check_resize(std::span<const std::uint64_t> states) {
    std::uint64_t all = 0;
    for (std::size_t r = 0; r < states.size(); ++r) {
        const std::string who = "resize: rank " + std::to_string(r);
        if ((states[r] & ResizeState::static_domain) != 0)
            throw Error(who + " has something prefetched with static_domain",
                        "that promises that the array keeps its bounds",
                        "evict_prefetch() first, or do not promise it");
        if ((states[r] & ResizeState::contributions) != 0)
            throw Error(who + " has contributions to elements of others", "they would be lost",
                        "accumulate_ghosts() first");
        all |= states[r];
    }
    return all;
}

void check_table(std::size_t rows) {
    if (rows != static_cast<std::size_t>(ranks()))
        throw Error("prefetch_custom: a table of " + std::to_string(rows) + " rows",
                    "row r says what rank r needs, and the program has " + std::to_string(ranks()) + " ranks",
                    "use one for each");
}

}  // namespace detail

PrefetchTransfer::PrefetchTransfer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PrefetchTransfer::PrefetchTransfer(PrefetchTransfer&&) noexcept = default;
PrefetchTransfer::~PrefetchTransfer() = default;
bool PrefetchTransfer::test() { return state_ == nullptr || state_->test(); }
void PrefetchTransfer::wait() {
    if (const std::unique_ptr<State> state = std::move(state_)) state->wait();
}

PrefetchTransfer::State::State(detail::ArrayPrefetch& array)
    : array_prefetch_(array), writes_(array.writes_) {
    Context& context = Context::here();
    const auto add = [&](detail::PrefetchedSlice* slice) {
        PrefetchEntry& entry = detail::entry_of(*slice);
        const detail::EntryLock lock(entry, context);
        if (entry.is_held_by_other(context.sync().release_count)) return;
        arrivals_.push_back({&entry, std::vector<std::byte>(slice->bytes()), entry.writes});
        ++entry.pending_transfers;
    };
    for (const auto& same_owner : array.by_owner_)
        std::for_each(same_owner.begin(), same_owner.end(), add);
    std::for_each(array.pending_.begin(), array.pending_.end(), add);
    std::vector<detail::SliceMove> moves;
    for (Arrival& arrival : arrivals_)
        moves.push_back({arrival.entry->slice, arrival.bytes.data(), arrival.entry->only.get()});
    issued_ = context.runtime().clock().issue();
    transfers_ = detail::start_get_slices(moves);
    array.transfers_.push_back(this);
}

PrefetchTransfer::State::~State() {
    std::erase(array_prefetch_.transfers_, this);
    if (dropped_) return;
    for (const Arrival& arrival : arrivals_)
        if (arrival.entry != nullptr) --arrival.entry->pending_transfers;
}

void PrefetchTransfer::State::leave_out(const PrefetchEntry& entry) {
    for (Arrival& arrival : arrivals_)
        if (arrival.entry == &entry) arrival.entry = nullptr;
}

bool PrefetchTransfer::State::test() {
    return std::all_of(transfers_.begin(), transfers_.end(),
                       [](Transfer& transfer) { return transfer.test(); });
}

void PrefetchTransfer::State::wait() {
    for (Transfer& transfer : transfers_)
        transfer.wait();
    if (dropped_)
        throw Error("prefetch: the pending transfer was dropped",
                    "evict_prefetch() or resize() was called before wait()", "wait first");
    for (Arrival& arrival : arrivals_)
        if (arrival.entry != nullptr) install(arrival, Context::here());
}

void PrefetchTransfer::State::install(Arrival& arrival, Context& context) {
    PrefetchEntry& entry = *arrival.entry;
    const bool hidden = std::find(array_prefetch_.pending_.begin(), array_prefetch_.pending_.end(), &entry) !=
                        array_prefetch_.pending_.end();
    {
        const detail::EntryLock lock(entry, context);
        const bool newer = entry.fetched() > issued_;
        const bool written = entry.writes != arrival.writes || (hidden && array_prefetch_.writes_ != writes_);
        if (!newer && !written) {
            entry.publish(arrival.bytes.data(), issued_);
            context.runtime().prefetch_buffer().count_update(arrival.bytes.size());
        } else if (!newer && !entry.consistent) {
            PrefetchEntry* const one = &entry;
            detail::refresh(std::span(&one, 1), context, array_prefetch_.packing());
        }
    }
    if (hidden) array_prefetch_.make_visible(&entry);
}

}  // namespace nearfetch
