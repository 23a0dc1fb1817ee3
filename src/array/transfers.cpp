// SPDX-License-Identifier: Apache-2.0
//
// Transfers of slices (nearfetch/detail/array/slices.hpp). They overlap: GETs are started first, then owners
// are asked to pack, a few at a time, then the GETs are waited for. Own parts are copied while GETs are
// outstanding.
//
// Elements that do not go to packed memory are distributed by this rank: from fragments if they are many.
//
// One GET covers several runs if the gaps between them are small: a network moves a small gap faster than it
// starts another GET. An owner packs if GETs would be many, or would move many unwanted bytes. An owner that
// is to stay passive packs only if these numbers are very large, or if those of all owners together are.

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <nearfetch/detail/array/slices.hpp>

#include "array/fragments.hpp"
#include "array/runs.hpp"
#include "array/strided_copy.hpp"
#include "base/copy.hpp"
#include "pgas/ordered.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

void charge_copy(std::uint64_t bytes) {
    pgas::Runtime& runtime = Context::here().runtime();
    if (runtime.job().virtual_time()) runtime.job().compute(bytes * runtime.options().copied_kib_ns / 1024);
}

namespace {

// Up to so many GETs or PUTs and unwanted bytes are cheaper than an interruption of the owner.
struct Limits {
    std::int64_t messages;
    std::uint64_t unwanted_bytes;
    std::uint64_t long_bytes = ~std::uint64_t{0};  ///< a GET of so many is not counted
};
// About one round trip.
constexpr Limits active_owner_limits{4, 8 * 1024};
// For elements that are distributed here, which packing would copy twice. A long GET takes its time for its
// bytes, not for its start.
constexpr Limits distributed_limits{4, 8 * 1024, 4 * 1024};
// For moves of few messages: no more than a request and its answer.
constexpr Limits few_messages_limits{2, 8 * 1024};
// For owners that should stay passive: beyond these, GETs take several times as long.
constexpr Limits passive_owner_limits{16, 16 * 1024};
// Limit of outstanding transfers per thread.
constexpr std::int64_t most_outstanding = 64;
// Limits of outstanding pack requests. A larger slice is requested in fragments, and the next request is sent
// before the last answer has come. So the network stays busy with small staging buffers.
constexpr std::size_t most_asked = 8;
constexpr std::uint64_t most_asked_bytes = 256 * 1024;
// Larger slices that are distributed come in fragments.
constexpr std::uint64_t most_staged_bytes = 256 * 1024;
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
        std::uint64_t lines = 0;
        for (const Run& run : runs_) {
            copy_bytes(packed_ + run.packed_offset,
                       covered_.data() + (run.part_offset - runs_.front().part_offset), run.bytes);
            lines += whole_lines(run.bytes);
        }
        runs_.clear();  // only once
        charge_copy(lines);
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
        if (std::ssize(transfers_) == most_outstanding) wait_for_oldest();
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
    runs.copy_each(
        [&](const Run& run) { copy_bytes(packed + run.packed_offset, part + run.part_offset, run.bytes); });
}

void unpack(const Slice& slice, const Runs& runs, const std::byte* packed) {
    std::byte* const part = own_part(slice);
    runs.copy_each(
        [&](const Run& run) { copy_bytes(part + run.part_offset, packed + run.packed_offset, run.bytes); });
}

/// Puts packed elements where the move wants them.
void distribute(const SliceMove& move, const std::byte* packed) {
    const Slice& slice = move.slice;
    copy_strided(move.packed, *move.steps, packed, packed_steps(slice.extent, slice.element_bytes),
                 slice.extent, slice.element_bytes);
    charge_copy(slice.bytes());
}

void copy_own(const SliceMove& move) {
    const Slice& slice = move.slice;
    if (!move.steps) return pack(slice, Runs(move), move.packed);
    const Steps steps = packed_steps(slice.part, slice.element_bytes);
    const std::byte* first = own_part(slice);
    for (std::size_t d = 0; d < 4; ++d)
        first += slice.lower[d] * steps[d];
    copy_strided(move.packed, *move.steps, first, steps, slice.extent, slice.element_bytes);
    charge_copy(slice.bytes());
}

bool may_ask(Context& context, const SliceMove& move) {
    return bytes_of(move) <= most_answer_bytes && context.runtime().job().threads();
}

const Limits& limits_of(const SliceMove& move) {
    if (move.few_messages) return few_messages_limits;
    return move.steps ? distributed_limits : active_owner_limits;
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
            take = taking(fragment);
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
    static pgas::RemoteCall::Take taking(const SliceMove& fragment) {
        if (!fragment.steps)
            return [to = fragment.packed](std::span<const std::byte> elements) {
                copy_bytes(to, elements.data(), elements.size());
                charge_copy(elements.size());
            };
        return [fragment](std::span<const std::byte> elements) { distribute(fragment, elements.data()); };
    }
    void unpack(const SliceMove& fragment, const std::byte* from, const pgas::RemoteCall::Take& take) const {
        const bool is_staged = take || fragment.steps;
        const std::uint64_t bytes = fragment.slice.bytes();
        std::vector<std::byte> staged(is_staged ? bytes : 0);
        std::byte* const to = is_staged ? staged.data() : fragment.packed;
        packing_.unpack(packing_.context, fragment.slice, from, to);
        charge_copy(bytes);
        if (is_staged) (take ? take : taking(fragment))({to, bytes});
    }

    Context& context_;
    const SlicePacking& packing_;
    std::deque<std::vector<std::byte>> messages_;
    std::vector<pgas::RemoteCall> calls_;
};

/// Of owners that should stay passive, if so many are asked: their GETs are outstanding together.
Limits passive_limits(std::int64_t owners) {
    Limits limits = passive_owner_limits;
    limits.messages = std::clamp(most_outstanding / owners, active_owner_limits.messages, limits.messages);
    return limits;
}

/// Whether the owner should pack: there would be many short GETs, or many unwanted bytes.
/// \param owners that are asked together
bool owner_packs(Context& context, const SliceMove& move, Packer packer, const SlicePacking& packing,
                 std::int64_t owners) {
    if (packs_own_way(packing, move) && packer == Packer::owner && may_ask(context, move)) return true;
    const Limits most = packer != Packer::owner ? passive_limits(owners) : limits_of(move);
    std::int64_t gets = 0;
    std::uint64_t bytes = 0;
    for_each_covering_get(Runs(move), [&](std::span<const Run> runs) {
        const std::uint64_t covered = runs.back().part_offset + runs.back().bytes - runs.front().part_offset;
        if (covered < most.long_bytes) ++gets;
        bytes += covered;
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

namespace {

/// Slices that are distributed when they have come.
class Distributed {
  public:
    /// \param begin begin(move) starts a GET of packed elements
    template <class Begin>
    void start(const SliceMove& move, const Begin& begin) {
        const std::uint64_t bytes = move.slice.bytes();
        if (bytes > most_staged_bytes) {
            large_.emplace_back(
                move, [](const SliceMove& fragment, std::uint64_t, std::span<const std::byte> elements) {
                    distribute(fragment, elements.data());
                });
            return;
        }
        small_.push_back({move, std::make_unique_for_overwrite<std::byte[]>(bytes)});
        begin(SliceMove{move.slice, small_.back().memory.get()});
    }
    void finish_large() {
        for (FragmentGets& gets : large_)
            gets.finish();
    }
    /// \pre their GETs are complete
    void finish_small() {
        for (const Staged& staged : small_)
            distribute(staged.move, staged.memory.get());
    }

  private:
    struct Staged {
        SliceMove move;
        std::unique_ptr<std::byte[]> memory;
    };
    std::vector<Staged> small_;
    std::deque<FragmentGets> large_;
};

}  // namespace

void get_slices(std::span<const SliceMove> moves, Packer packer, bool bypass_cache,
                const SlicePacking& packing, const OverlapWork& overlap_work) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    Distributed distributed;  // it has the memory of GETs
    OutstandingTransfers outstanding;
    PackCalls asked(context, packing);
    std::vector<const SliceMove*> own;
    const auto start = [&](const SliceMove& move) {
        const auto source = bypass_cache ? Context::Source::target : Context::Source::cache;
        const auto begin = [&](std::uint64_t address, std::byte* to, std::uint64_t bytes) {
            return context.start<std::byte>(move.slice.owner, address, to, bytes, source);
        };
        start_gets(move, begin, [&](Transfer transfer) { outstanding.add(std::move(transfer)); });
    };
    const std::int64_t owners = std::ranges::count_if(
        moves, [&](const SliceMove& move) { return move.slice.owner != self && move.slice.bytes() != 0; });
    for (const SliceMove& move : moves) {
        const bool is_packed = !move.steps || are_packed(*move.steps, move.slice);
        if (move.slice.bytes() == 0) continue;
        if (move.slice.owner == self)
            own.push_back(&move);
        else if (owner_packs(context, move, packer, packing, owners))
            for_each_fragment(move, [&](const SliceMove& fragment) { asked.add(fragment); });
        else if (is_packed)
            start(move);
        else
            distributed.start(move, start);
    }
    for (const SliceMove* const move : own)
        copy_own(*move);
    if (overlap_work) overlap_work();
    asked.run();
    distributed.finish_large();
    outstanding.wait_for_all();
    distributed.finish_small();
}

void get_fragments(const Slice& slice, Packer packer, const SlicePacking& packing, const TakeFragment& take) {
    Context& context = Context::here();
    const SliceMove all{slice};
    if (!owner_packs(context, all, packer, packing, 1)) return FragmentGets(all, take).finish();
    PackCalls asked(context, packing);
    std::uint64_t at = 0;
    for_each_fragment(all, [&](const SliceMove& fragment) {
        asked.add(fragment, [&take, fragment, at](std::span<const std::byte> elements) {
            take(fragment, at, elements);
        });
        at += fragment.slice.bytes();
    });
    asked.run();
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
