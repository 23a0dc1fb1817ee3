// SPDX-License-Identifier: Apache-2.0
//
// Slices on their way (nearfetch/detail/array/slices.hpp). All that can travel at the same time does: GETs
// are started first, then owners are asked to pack, some at a time, and at last the GETs are waited for.
//
// Where what is wanted does not lie side by side, a GET also brings what is in between if that is little. A
// network passes these bytes sooner than it starts another GET: on the modelled ones 1.5 to 8 KiB. An owner
// is asked to pack where that takes many GETs, or they bring much in vain; one that is to stay passive where
// that would be very many, or very much. What a rank has itself is copied while the GETs are under way.

#include <algorithm>
#include <cstring>
#include <deque>
#include <nearfetch/detail/array/slices.hpp>

#include "array/pieces.hpp"
#include "array/runs.hpp"
#include "base/copy.hpp"
#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

// So many GETs or PUTs, and so many bytes that nobody wants, are better than to interrupt the owner.
struct Limits {
    std::int64_t messages;
    std::uint64_t given_along_bytes;
};
// About as many take the time of a message there and back.
constexpr Limits few{4, 8 * 1024};
// An owner that is to stay passive. More of them take several times as long as the owner would.
constexpr Limits many{16, 16 * 1024};
// Transfers of a thread that are under way at a time.
constexpr std::size_t most_under_way = 64;
// And owners that are asked to pack, as far as their answers are small. What is larger is asked for in
// pieces, the next one before the last has come: so the network has always something to do, and what is in
// memory twice meanwhile is little.
constexpr std::size_t most_asked = 8;
constexpr std::uint64_t most_asked_bytes = 256 * 1024;
constexpr std::uint64_t run_bytes_each = 64 * 1024;
// That are under way where a slice arrives piece by piece.
constexpr std::size_t most_runs = most_asked_bytes / run_bytes_each;
// Of an answer; what is larger is fetched run by run.
constexpr std::uint64_t most_answer_bytes = std::uint64_t{1} << 30;
// Between two runs, to fetch them together; and of what is fetched together.
constexpr std::uint64_t most_hole_bytes = 1024;
constexpr std::uint64_t most_cover_bytes = 16 * 1024;

std::uint64_t bytes_of(const SliceMove& move) { return detail::bytes_of(move.slice, move.only); }

/// Runs that one GET brings, with what is in between.
class Cover final : public Transfer::State {
  public:
    Cover(std::vector<Run> runs, std::byte* packed, std::vector<std::byte> covered, Transfer transfer)
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
            copy_bytes(packed_ + run.here, covered_.data() + (run.there - runs_.front().there), run.bytes);
        runs_.clear();  // once
    }

    std::vector<Run> runs_;
    std::byte* packed_;
    std::vector<std::byte> covered_;
    Transfer transfer_;
};

/// Calls visit(runs) for those that one GET is to bring: one, or several with little in between.
template <class Visit>
void for_each_cover(const Runs& all, const Visit& visit) {
    std::vector<Run> runs;
    all.for_each([&](const Run& run) {
        if (!runs.empty() && (run.there - runs.back().there - runs.back().bytes > most_hole_bytes ||
                              run.there + run.bytes - runs.front().there > most_cover_bytes)) {
            visit(std::span<const Run>(runs));
            runs.clear();
        }
        runs.push_back(run);
    });
    if (!runs.empty()) visit(std::span<const Run>(runs));
}

/// \param begin(address, memory, bytes) starts a GET \param add(transfer)
template <class Begin, class Add>
void start_gets(const SliceMove& move, const Begin& begin, const Add& add) {
    for_each_cover(Runs(move), [&](std::span<const Run> runs) {
        const std::uint64_t address = move.slice.address + runs.front().there;
        if (runs.size() == 1) {
            add(begin(address, move.packed + runs.front().here, runs.front().bytes));
            return;
        }
        std::vector<std::byte> covered(runs.back().there + runs.back().bytes - runs.front().there);
        Transfer transfer = begin(address, covered.data(), covered.size());
        add(Transfer(std::make_unique<Cover>(std::vector<Run>(runs.begin(), runs.end()), move.packed,
                                             std::move(covered), std::move(transfer))));
    });
}

/// Transfers under way, in the order of their start.
class Flight {
  public:
    void add(Transfer transfer) {
        if (transfers_.size() == most_under_way) land();
        transfers_.push_back(std::move(transfer));
    }
    void land_all() {
        while (!transfers_.empty())
            land();
    }

  private:
    void land() {
        Transfer oldest = std::move(transfers_.front());
        transfers_.pop_front();
        oldest.wait();
    }
    std::deque<Transfer> transfers_;
};

std::byte* own_part(const Slice& slice) {
    const auto elements =
        static_cast<std::uint64_t>(slice.part[0] * slice.part[1] * slice.part[2] * slice.part[3]);
    return local(slice.address, elements * slice.element_bytes);
}

void pack(const Slice& slice, const Runs& runs, std::byte* packed) {
    const std::byte* const part = own_part(slice);
    runs.for_each([&](const Run& run) { copy_bytes(packed + run.here, part + run.there, run.bytes); });
}

void unpack(const Slice& slice, const std::byte* packed) {
    std::byte* const part = own_part(slice);
    Runs(slice).for_each([&](const Run& run) { copy_bytes(part + run.there, packed + run.here, run.bytes); });
}

bool may_ask(const Context& context, const SliceMove& move) {
    return bytes_of(move) <= most_answer_bytes && context.answered();
}

/// Calls visit(piece) for pieces of a slice that follow each other when packed; for all of a set.
template <class Visit>
void for_each_piece(const SliceMove& move, const Visit& visit) {
    if (move.only != nullptr || move.slice.bytes() <= run_bytes_each) {
        visit(move);
        return;
    }
    std::size_t d = 0;
    while (d < 3 && move.slice.extent[d] == 1)
        ++d;
    const std::int64_t extent = move.slice.extent[d];
    const std::uint64_t row_bytes = move.slice.bytes() / static_cast<std::uint64_t>(extent);
    const std::int64_t rows =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(run_bytes_each / row_bytes));
    for (std::int64_t row = 0; row < extent; row += rows) {
        SliceMove piece = move;
        piece.slice.lower[d] += row;
        piece.slice.extent[d] = std::min(rows, extent - row);
        if (piece.packed != nullptr) piece.packed += static_cast<std::uint64_t>(row) * row_bytes;
        if (row_bytes > run_bytes_each && d < 3)
            for_each_piece(piece, visit);
        else
            visit(piece);
    }
}

/// Whether it is better than GETs: of these there were many, or they brought much that nobody wants.
bool owner_packs(const Context& context, const SliceMove& move, Packer packer) {
    const Limits& most = packer == Packer::owner ? few : many;
    std::int64_t gets = 0;
    std::uint64_t bytes = 0;
    for_each_cover(Runs(move), [&](std::span<const Run> runs) {
        ++gets;
        bytes += runs.back().there + runs.back().bytes - runs.front().there;
    });
    return (gets > most.messages || bytes - bytes_of(move) > most.given_along_bytes) &&
           may_ask(context, move);
}

/// Whether it is better than PUTs.
bool owner_unpacks(const Context& context, const SliceMove& move) {
    std::int64_t puts = 0;
    Runs(move).for_each([&](const Run&) { ++puts; });
    return puts > few.messages && may_ask(context, move);
}

}  // namespace

void pack_here(const void* closure, void* result) {
    const auto* const order = static_cast<const Order*>(closure);
    const std::span text(reinterpret_cast<const std::byte*>(order + 1), order->text_bytes);
    pack(order->slice, Runs(order->slice, text), static_cast<std::byte*>(result));
}

void unpack_here(const void* closure, void* /*result*/) {
    const auto* const order = static_cast<const Order*>(closure);
    unpack(order->slice, reinterpret_cast<const std::byte*>(order + 1));
}

void get_slices(std::span<const SliceMove> moves, Packer packer, bool around, Code pack_code,
                const Meanwhile& meanwhile) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    Flight flight;
    std::deque<std::vector<std::byte>> orders;
    std::vector<Context::Call> asked;
    std::vector<const SliceMove*> own;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        if (slice.owner == self) {
            own.push_back(&move);
        } else if (owner_packs(context, move, packer)) {
            for_each_piece(move, [&](const SliceMove& piece) {
                orders.push_back(message_of(piece.slice, Runs::text_of(piece), {}));
                asked.push_back({slice.owner, context.runtime().code_offset(pack_code), orders.back(),
                                 bytes_of(piece), Context::Call::copy_to(piece.packed), true});
            });
        } else {
            const auto begin = [&](std::uint64_t address, std::byte* to, std::uint64_t bytes) {
                return around ? context.start_fetch(slice.owner, address, to, bytes)
                              : context.start_get(slice.owner, address, to, bytes);
            };
            start_gets(move, begin, [&](Transfer transfer) { flight.add(std::move(transfer)); });
        }
    }
    for (const SliceMove* const move : own)
        pack(move->slice, Runs(*move), move->packed);
    if (meanwhile) meanwhile();
    // Not all ranks ask the same one first.
    std::stable_partition(asked.begin(), asked.end(),
                          [&](const Context::Call& call) { return call.rank > self; });
    context.call(asked, std::memory_order_release, {most_asked, most_asked_bytes});
    flight.land_all();
}

void get_runs(const Slice& slice, Packer packer, Code pack_code, const TakePiece& take) {
    struct Piece {
        SliceMove move;
        std::uint64_t at;
        std::vector<std::byte> memory;  ///< of an order, or of elements that are on their way
        std::vector<Transfer> transfers;
    };
    Context& context = Context::here();
    std::deque<Piece> pieces;
    std::uint64_t at = 0;
    for_each_piece(SliceMove{slice}, [&](const SliceMove& move) {
        pieces.push_back({move, at, {}, {}});
        at += bytes_of(move);
    });
    if (owner_packs(context, SliceMove{slice}, packer)) {
        std::vector<Context::Call> asked;
        for (Piece& piece : pieces) {
            piece.memory = message_of(piece.move.slice, {}, {});
            asked.push_back(
                {slice.owner, context.runtime().code_offset(pack_code), piece.memory, bytes_of(piece.move),
                 [&take, &piece](std::span<const std::byte> elements) { take(piece.at, elements); }, true});
        }
        context.call(asked, std::memory_order_release, {most_asked, most_asked_bytes});
        return;
    }
    const auto start = [&](Piece& piece) {
        piece.memory.resize(bytes_of(piece.move));
        piece.move.packed = piece.memory.data();
        piece.transfers = start_get_slices(std::span(&piece.move, 1));
    };
    std::size_t started = 0;
    while (!pieces.empty()) {
        for (; started < std::min(pieces.size(), most_runs); ++started)
            start(pieces[started]);
        for (Transfer& transfer : pieces.front().transfers)
            transfer.wait();
        take(pieces.front().at, pieces.front().memory);
        pieces.pop_front();
        --started;
    }
}

std::vector<Transfer> start_get_slices(std::span<const SliceMove> moves) {
    Context& context = Context::here();
    std::vector<Transfer> transfers;
    for (const SliceMove& move : moves) {
        if (move.slice.bytes() == 0) continue;
        const auto begin = [&](std::uint64_t address, std::byte* to, std::uint64_t bytes) {
            return context.start_fetch(move.slice.owner, address, to, bytes);
        };
        start_gets(move, begin, [&](Transfer transfer) { transfers.push_back(std::move(transfer)); });
    }
    return transfers;
}

void put_slices(std::span<const SliceMove> moves, Code unpack_code) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    const std::int64_t code = context.runtime().code_offset(unpack_code);
    Flight flight;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        if (slice.owner == self) {
            unpack(slice, move.packed);
        } else if (owner_unpacks(context, move)) {
            const std::vector<std::byte> message = message_of(slice, {}, {move.packed, slice.bytes()});
            const Context::Call call{slice.owner, code, message, 0, {}, true};
            context.call(std::span(&call, 1), std::memory_order_release);
            // What the cache has of these bytes is older now.
            Runs(move).for_each([&](const Run& run) {
                const std::uint64_t address = slice.address + run.there;
                context.forget(slice.owner, {address, address + run.bytes});
            });
        } else {
            Runs(move).for_each([&](const Run& run) {
                flight.add(context.start_put(slice.owner, slice.address + run.there, move.packed + run.here,
                                             run.bytes));
            });
        }
    }
    flight.land_all();
}

}  // namespace nearfetch::detail
