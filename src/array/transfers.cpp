// SPDX-License-Identifier: Apache-2.0
//
// Transfers of slices (nearfetch/detail/array/slices.hpp). They overlap: GETs are started first, then owners
// are asked to pack, a few at a time, then the GETs are waited for. Own parts are copied while GETs are
// outstanding.
//
// One GET covers several runs if the gaps between them are small: a network moves a small gap faster than it
// starts another GET. An owner packs if GETs would be many, or would move many unwanted bytes. An owner that
// is to stay passive packs only if these numbers are very large.

#include <algorithm>
#include <cstring>
#include <deque>
#include <nearfetch/detail/array/slices.hpp>

#include "array/fragments.hpp"
#include "array/runs.hpp"
#include "base/copy.hpp"
#include "pgas/ordered.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

// Up to so many GETs or PUTs and unwanted bytes are cheaper than an interruption of the owner.
struct Limits {
    std::int64_t messages;
    std::uint64_t unwanted_bytes;
};
// About one round trip.
constexpr Limits active_owner_limits{4, 8 * 1024};
// For moves of few messages: no more than a request and its answer.
constexpr Limits few_messages_limits{2, 8 * 1024};
// For owners that should stay passive: beyond these, GETs take several times as long.
constexpr Limits passive_owner_limits{16, 16 * 1024};
// Limit of outstanding transfers per thread.
constexpr std::size_t most_outstanding = 64;
// Limits of outstanding pack requests. A larger slice is requested in fragments, and the next request is sent
// before the last answer has come. So the network stays busy with small staging buffers.
constexpr std::size_t most_asked = 8;
constexpr std::uint64_t most_asked_bytes = 256 * 1024;
constexpr std::uint64_t fragment_bytes = 64 * 1024;
// Outstanding GETs when a slice is fetched in fragments.
constexpr std::size_t most_fragments = most_asked_bytes / fragment_bytes;
// Limit of one answer; larger slices are fetched by runs.
constexpr std::uint64_t most_answer_bytes = std::uint64_t{1} << 30;
// Limits of a GET that covers several runs: each gap, and its size.
constexpr std::uint64_t most_gap_bytes = 1024;
constexpr std::uint64_t most_covering_bytes = 16 * 1024;

std::uint64_t bytes_of(const SliceMove& move) { return detail::bytes_of(move.slice, move.only); }

/// A GET that covers several runs, and scatters them when it is complete.
class CoveringGet final : public Transfer::State {
  public:
    CoveringGet(std::vector<Run> runs, std::byte* packed, std::vector<std::byte> covered, Transfer transfer)
        : runs_(std::move(runs)),
          packed_(packed),
          covered_(std::move(covered)),
          transfer_(std::move(transfer)) {}

    bool test() override {
        if (!transfer_.test()) return false;
        take_runs();
        return true;
    }
    int wait() override {
        transfer_.wait();
        take_runs();
        return 0;
    }

  private:
    void take_runs() {
        for (const Run& run : runs_)
            copy_bytes(packed_ + run.packed_offset,
                       covered_.data() + (run.part_offset - runs_.front().part_offset), run.bytes);
        runs_.clear();  // only once
    }

    std::vector<Run> runs_;
    std::byte* packed_;
    std::vector<std::byte> covered_;
    Transfer transfer_;
};

/// Calls visit(runs) for the runs of each GET: one run, or several with small gaps.
template <class Visit>
void for_each_covering_get(const Runs& all, const Visit& visit) {
    std::vector<Run> runs;
    all.for_each([&](const Run& run) {
        if (!runs.empty() &&
            (run.part_offset - runs.back().part_offset - runs.back().bytes > most_gap_bytes ||
             run.part_offset + run.bytes - runs.front().part_offset > most_covering_bytes)) {
            visit(std::span<const Run>(runs));
            runs.clear();
        }
        runs.push_back(run);
    });
    if (!runs.empty()) visit(std::span<const Run>(runs));
}

/// \param begin begin(address, memory, bytes) starts a GET \param add add(transfer)
template <class Begin, class Add>
void start_gets(const SliceMove& move, const Begin& begin, const Add& add) {
    for_each_covering_get(Runs(move), [&](std::span<const Run> runs) {
        const std::uint64_t address = move.slice.address + runs.front().part_offset;
        if (runs.size() == 1) {
            add(begin(address, move.packed + runs.front().packed_offset, runs.front().bytes));
            return;
        }
        std::vector<std::byte> covered(runs.back().part_offset + runs.back().bytes -
                                       runs.front().part_offset);
        Transfer transfer = begin(address, covered.data(), covered.size());
        add(Transfer(std::make_unique<CoveringGet>(std::vector<Run>(runs.begin(), runs.end()), move.packed,
                                                   std::move(covered), std::move(transfer))));
    });
}

/// Outstanding transfers, the oldest first.
class OutstandingTransfers {
  public:
    void add(Transfer transfer) {
        if (transfers_.size() == most_outstanding) wait_for_oldest();
        transfers_.push_back(std::move(transfer));
    }
    void wait_for_all() {
        while (!transfers_.empty())
            wait_for_oldest();
    }

  private:
    void wait_for_oldest() {
        Transfer oldest = std::move(transfers_.front());
        transfers_.pop_front();
        oldest.wait();
    }
    std::deque<Transfer> transfers_;
};

void pack(const Slice& slice, const Runs& runs, std::byte* packed) {
    const std::byte* const part = own_part(slice);
    runs.for_each(
        [&](const Run& run) { copy_bytes(packed + run.packed_offset, part + run.part_offset, run.bytes); });
}

void unpack(const Slice& slice, const Runs& runs, const std::byte* packed) {
    std::byte* const part = own_part(slice);
    runs.for_each(
        [&](const Run& run) { copy_bytes(part + run.part_offset, packed + run.packed_offset, run.bytes); });
}

bool may_ask(Context& context, const SliceMove& move) {
    return bytes_of(move) <= most_answer_bytes && context.runtime().job().threads();
}

const Limits& limits_of(const SliceMove& move) {
    return move.few_messages ? few_messages_limits : active_owner_limits;
}

/// Whether the distribution has a packing of its own for this.
bool packs_own_way(const SlicePacking& packing, const SliceMove& move) {
    return packing.bytes != nullptr && move.only == nullptr;
}

/// Calls that have fragments packed, and take their elements.
class PackCalls {
  public:
    PackCalls(Context& context, const SlicePacking& packing) : context_(context), packing_(packing) {}

    /// \param take called with the elements; without it they go to `packed`
    void add(const SliceMove& fragment, pgas::RemoteCall::Take take = {}) {
        const Slice& slice = fragment.slice;
        std::uint64_t bytes = bytes_of(fragment);
        std::span<const std::byte> travels_along;
        if (packs_own_way(packing_, fragment)) {
            take = [this, fragment, take = std::move(take)](std::span<const std::byte> message) {
                unpack(fragment, message.data(), take);
            };
            bytes = packing_.bytes(packing_.context, slice);
            if (bytes == 0) return take({});
            travels_along = packing_.context;
        } else if (!take) {
            take = pgas::RemoteCall::copy_to(fragment.packed);
        }
        messages_.push_back(make_pack_message(slice, Runs::encoded_set_of(fragment), travels_along));
        calls_.push_back({slice.owner, context_.runtime().code_offset(packing_.pack), messages_.back(), bytes,
                          std::move(take), true});
    }
    void run() {
        // Ranks start with different owners, to spread the load.
        std::stable_partition(calls_.begin(), calls_.end(),
                              [self = context_.runtime().job().rank()](const pgas::RemoteCall& call) {
                                  return call.rank > self;
                              });
        pgas::call(context_, calls_, std::memory_order_release, {most_asked, most_asked_bytes});
    }

  private:
    void unpack(const SliceMove& fragment, const std::byte* from, const pgas::RemoteCall::Take& take) const {
        const std::uint64_t bytes = fragment.slice.bytes();
        std::vector<std::byte> staged(take ? bytes : 0);
        std::byte* const to = take ? staged.data() : fragment.packed;
        packing_.unpack(packing_.context, fragment.slice, from, to);
        if (take) take({to, bytes});
    }

    Context& context_;
    const SlicePacking& packing_;
    std::deque<std::vector<std::byte>> messages_;
    std::vector<pgas::RemoteCall> calls_;
};

/// Whether the owner should pack: there would be many GETs, or many unwanted bytes.
bool owner_packs(Context& context, const SliceMove& move, Packer packer, const SlicePacking& packing) {
    if (packs_own_way(packing, move) && packer == Packer::owner && may_ask(context, move)) return true;
    const Limits& most = packer != Packer::owner ? passive_owner_limits : limits_of(move);
    std::int64_t gets = 0;
    std::uint64_t bytes = 0;
    for_each_covering_get(Runs(move), [&](std::span<const Run> runs) {
        ++gets;
        bytes += runs.back().part_offset + runs.back().bytes - runs.front().part_offset;
    });
    return (gets > most.messages || bytes - bytes_of(move) > most.unwanted_bytes) && may_ask(context, move);
}

/// Whether the owner should unpack: there would be many PUTs.
bool owner_unpacks(Context& context, const SliceMove& move) {
    std::int64_t puts = 0;
    Runs(move).for_each([&](const Run&) { ++puts; });
    return puts > limits_of(move).messages && may_ask(context, move);
}

/// Calls that have owners write elements, a few at a time.
class UpdateCalls {
  public:
    UpdateCalls(Context& context, Code code)
        : context_(context), code_(context.runtime().code_offset(code)) {}

    /// Without a run() it is lost.
    void add(const SliceMove& move) {
        const std::uint64_t bytes = bytes_of(move);
        messages_.push_back(make_pack_message(move.slice, Runs::encoded_set_of(move), {move.packed, bytes}));
        calls_.push_back({move.slice.owner, code_, messages_.back(), 0, {}, true});
        moves_.push_back(move);
        bytes_ += bytes;
        if (bytes_ >= most_together_bytes) run();
    }
    void run() {
        if (calls_.empty()) return;
        pgas::call(context_, calls_, std::memory_order_release, {most_asked, most_asked_bytes});
        // The cache's copies of these bytes are stale now.
        for (const SliceMove& move : moves_)
            for_each_covering_get(Runs(move), [&](std::span<const Run> runs) {
                const std::uint64_t address = move.slice.address;
                context_.forget(move.slice.owner, {address + runs.front().part_offset,
                                                   address + runs.back().part_offset + runs.back().bytes});
            });
        messages_.clear();
        calls_.clear();
        moves_.clear();
        bytes_ = 0;
    }

  private:
    static constexpr std::uint64_t most_together_bytes = std::uint64_t{1} << 20;

    Context& context_;
    std::int64_t code_;
    std::deque<std::vector<std::byte>> messages_;
    std::vector<pgas::RemoteCall> calls_;
    std::vector<SliceMove> moves_;
    std::uint64_t bytes_ = 0;
};

}  // namespace

void for_each_fragment(const SliceMove& move, const std::function<void(const SliceMove&)>& visit) {
    if (move.only != nullptr || move.slice.bytes() <= fragment_bytes) {
        visit(move);
        return;
    }
    std::size_t d = 0;
    while (d < 3 && move.slice.extent[d] == 1)
        ++d;
    const std::int64_t extent = move.slice.extent[d];
    const std::uint64_t row_bytes = move.slice.bytes() / static_cast<std::uint64_t>(extent);
    const std::int64_t rows =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(fragment_bytes / row_bytes));
    for (std::int64_t row = 0; row < extent; row += rows) {
        SliceMove fragment = move;
        fragment.slice.lower[d] += row;
        fragment.slice.extent[d] = std::min(rows, extent - row);
        if (fragment.packed != nullptr) fragment.packed += static_cast<std::uint64_t>(row) * row_bytes;
        if (row_bytes > fragment_bytes && d < 3)
            for_each_fragment(fragment, visit);
        else
            visit(fragment);
    }
}

AskedSlice asked_slice(const void* closure) {
    const auto* const request = static_cast<const PackRequest*>(closure);
    const auto* const set = reinterpret_cast<const std::byte*>(request + 1);
    return {&request->slice, request->set_bytes != 0, own_part(request->slice), set + request->set_bytes};
}

void pack_here(const void* closure, void* result) {
    const auto* const request = static_cast<const PackRequest*>(closure);
    const std::span encoded_set(reinterpret_cast<const std::byte*>(request + 1), request->set_bytes);
    pack(request->slice, Runs(request->slice, encoded_set), static_cast<std::byte*>(result));
}

void unpack_here(const void* closure, void* /*result*/) {
    const auto* const request = static_cast<const PackRequest*>(closure);
    const std::span encoded_set(reinterpret_cast<const std::byte*>(request + 1), request->set_bytes);
    unpack(request->slice, Runs(request->slice, encoded_set), encoded_set.data() + encoded_set.size());
}

void get_slices(std::span<const SliceMove> moves, Packer packer, bool bypass_cache,
                const SlicePacking& packing, const OverlapWork& overlap_work) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    OutstandingTransfers outstanding;
    PackCalls asked(context, packing);
    std::vector<const SliceMove*> own;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        if (slice.owner == self) {
            own.push_back(&move);
        } else if (owner_packs(context, move, packer, packing)) {
            for_each_fragment(move, [&](const SliceMove& fragment) { asked.add(fragment); });
        } else {
            const auto source = bypass_cache ? Context::Source::target : Context::Source::cache;
            const auto begin = [&](std::uint64_t address, std::byte* to, std::uint64_t bytes) {
                return context.start<std::byte>(slice.owner, address, to, bytes, source);
            };
            start_gets(move, begin, [&](Transfer transfer) { outstanding.add(std::move(transfer)); });
        }
    }
    for (const SliceMove* const move : own)
        pack(move->slice, Runs(*move), move->packed);
    if (overlap_work) overlap_work();
    asked.run();
    outstanding.wait_for_all();
}

void get_fragments(const Slice& slice, Packer packer, const SlicePacking& packing, const TakeFragment& take) {
    struct Fragment {
        SliceMove move;
        std::uint64_t at;
        std::vector<std::byte> memory;  ///< of elements in transit
        std::vector<Transfer> transfers;
    };
    Context& context = Context::here();
    std::deque<Fragment> fragments;
    std::uint64_t at = 0;
    for_each_fragment(SliceMove{slice}, [&](const SliceMove& move) {
        fragments.push_back({move, at, {}, {}});
        at += bytes_of(move);
    });
    if (owner_packs(context, SliceMove{slice}, packer, packing)) {
        PackCalls asked(context, packing);
        for (const Fragment& fragment : fragments)
            asked.add(fragment.move, [&take, &fragment](std::span<const std::byte> elements) {
                take(fragment.at, elements);
            });
        asked.run();
        return;
    }
    const auto start = [&](Fragment& fragment) {
        fragment.memory.resize(bytes_of(fragment.move));
        fragment.move.packed = fragment.memory.data();
        fragment.transfers = start_get_slices(std::span(&fragment.move, 1));
    };
    std::size_t started = 0;
    while (!fragments.empty()) {
        for (; started < std::min(fragments.size(), most_fragments); ++started)
            start(fragments[started]);
        for (Transfer& transfer : fragments.front().transfers)
            transfer.wait();
        take(fragments.front().at, fragments.front().memory);
        fragments.pop_front();
        --started;
    }
}

std::vector<Transfer> start_get_slices(std::span<const SliceMove> moves) {
    Context& context = Context::here();
    std::vector<Transfer> transfers;
    for (const SliceMove& move : moves) {
        if (move.slice.bytes() == 0) continue;
        const auto begin = [&](std::uint64_t address, std::byte* to, std::uint64_t bytes) {
            return context.start<std::byte>(move.slice.owner, address, to, bytes, Context::Source::target);
        };
        start_gets(move, begin, [&](Transfer transfer) { transfers.push_back(std::move(transfer)); });
    }
    return transfers;
}

void put_slices(std::span<const SliceMove> moves, Code unpack_code) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    OutstandingTransfers outstanding;
    UpdateCalls asked(context, unpack_code);
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (bytes_of(move) == 0) continue;
        if (slice.owner == self) {
            unpack(slice, Runs(move), move.packed);
        } else if (owner_unpacks(context, move)) {
            asked.add(move);
        } else {
            Runs(move).for_each([&](const Run& run) {
                outstanding.add(context.start<const std::byte>(slice.owner, slice.address + run.part_offset,
                                                               move.packed + run.packed_offset, run.bytes));
            });
        }
    }
    asked.run();
    outstanding.wait_for_all();
}

void combine_slices(std::span<const SliceMove> moves, Code combine) {
    UpdateCalls asked(Context::here(), combine);
    for (const SliceMove& move : moves)
        asked.add(move);
    asked.run();
}

}  // namespace nearfetch::detail
