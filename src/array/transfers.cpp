// SPDX-License-Identifier: Apache-2.0
//
// Slices on their way (nearfetch/array_slices.hpp). All that can travel at the same time does: GETs are
// started first, then owners are asked to pack, one after the other because a thread waits for its answer,
// and at last the GETs are waited for.

#include <cstring>
#include <deque>
#include <nearfetch/array_slices.hpp>

#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

// So many messages are better than to interrupt the owner.
constexpr std::int64_t few_runs = 4;
// Transfers of a thread that are under way at a time.
constexpr std::size_t most_under_way = 64;
// Of an answer; what is larger is fetched run by run.
constexpr std::uint64_t most_answer_bytes = std::uint64_t{1} << 30;

/// Elements that lie side by side at the owner.
struct Runs {
    explicit Runs(const Slice& slice) : slice_(slice) {
        bytes = slice.element_bytes * static_cast<std::uint64_t>(slice.extent[3]);
        for (; first_ > 0 && slice.extent[first_] == slice.part[first_]; --first_)
            bytes *= static_cast<std::uint64_t>(slice.extent[first_ - 1]);
        for (std::size_t d = 0; d < first_; ++d)
            count *= slice.extent[d];
    }
    /// Calls visit(offset in the owner's part, offset in what is packed), in bytes.
    template <class Visit>
    void for_each(Visit&& visit) const {
        Box<4> outer(slice_.lower, slice_.lower);
        for (std::size_t d = 0; d < 4; ++d)
            outer.upper[d] += d < first_ ? slice_.extent[d] : 1;
        std::uint64_t packed = 0;
        for_each_index(outer, [&](const Index<4>& i) {
            std::int64_t offset = 0;
            for (std::size_t d = 0; d < 4; ++d)
                offset = offset * slice_.part[d] + i[d];
            visit(static_cast<std::uint64_t>(offset) * slice_.element_bytes, packed);
            packed += bytes;
        });
    }

    std::uint64_t bytes;
    std::int64_t count = 1;

  private:
    const Slice& slice_;
    std::size_t first_ = 3;  ///< of the dimensions that a run goes through
};

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

void pack(const Slice& slice, std::byte* packed) {
    const std::byte* const part = own_part(slice);
    const Runs runs(slice);
    runs.for_each([&](std::uint64_t there, std::uint64_t here) {
        std::memcpy(packed + here, part + there, runs.bytes);
    });
}

void unpack(const Slice& slice, const std::byte* packed) {
    std::byte* const part = own_part(slice);
    const Runs runs(slice);
    runs.for_each([&](std::uint64_t there, std::uint64_t here) {
        std::memcpy(part + there, packed + here, runs.bytes);
    });
}

bool owner_packs(const Context& context, const Slice& slice) {
    return Runs(slice).count > few_runs && slice.bytes() <= most_answer_bytes && context.answered();
}

}  // namespace

void pack_here(const void* closure, void* result) {
    pack(*static_cast<const Slice*>(closure), static_cast<std::byte*>(result));
}

void unpack_here(const void* closure, void* /*result*/) {
    const auto* const slice = static_cast<const Slice*>(closure);
    unpack(*slice, reinterpret_cast<const std::byte*>(slice + 1));
}

void get_slices(std::span<const SliceMove> moves, Packer packer, bool around, Code pack_code) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    Flight flight;
    std::vector<const SliceMove*> asked;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        if (slice.owner == self) {
            pack(slice, move.packed);
        } else if (packer == Packer::owner && owner_packs(context, slice)) {
            asked.push_back(&move);
        } else {
            const Runs runs(slice);
            runs.for_each([&](std::uint64_t there, std::uint64_t here) {
                const std::uint64_t address = slice.address + there;
                flight.add(around ? context.start_fetch(slice.owner, address, move.packed + here, runs.bytes)
                                  : context.start(slice.owner, address, move.packed + here, runs.bytes));
            });
        }
    }
    for (const SliceMove* move : asked)
        context.call(move->slice.owner, context.runtime().code_offset(pack_code),
                     std::as_bytes(std::span(&move->slice, 1)), {move->packed, move->slice.bytes()},
                     std::memory_order_release);
    flight.land_all();
}

std::vector<Transfer> start_get_slices(std::span<const SliceMove> moves) {
    Context& context = Context::here();
    std::vector<Transfer> transfers;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        const Runs runs(slice);
        runs.for_each([&](std::uint64_t there, std::uint64_t here) {
            transfers.push_back(
                context.start_fetch(slice.owner, slice.address + there, move.packed + here, runs.bytes));
        });
    }
    return transfers;
}

void put_slices(std::span<const SliceMove> moves, Code unpack_code) {
    Context& context = Context::here();
    const Rank self = context.runtime().job().rank();
    Flight flight;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        if (slice.owner == self) {
            unpack(slice, move.packed);
        } else if (owner_packs(context, slice)) {
            std::vector<std::byte> message(sizeof(Slice) + slice.bytes());
            std::memcpy(message.data(), &slice, sizeof(Slice));
            std::memcpy(message.data() + sizeof(Slice), move.packed, slice.bytes());
            context.call(slice.owner, context.runtime().code_offset(unpack_code), message, {},
                         std::memory_order_release);
            // What the cache has of these bytes is older now.
            const Runs runs(slice);
            runs.for_each([&](std::uint64_t there, std::uint64_t) {
                const std::uint64_t address = slice.address + there;
                context.forget(slice.owner, {address, address + runs.bytes});
            });
        } else {
            const Runs runs(slice);
            runs.for_each([&](std::uint64_t there, std::uint64_t here) {
                flight.add(context.start<const std::byte>(slice.owner, slice.address + there,
                                                          move.packed + here, runs.bytes));
            });
        }
    }
    flight.land_all();
}

}  // namespace nearfetch::detail
