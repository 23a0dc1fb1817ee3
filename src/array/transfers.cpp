// SPDX-License-Identifier: Apache-2.0
//
// Slices on their way (nearfetch/array_slices.hpp). All that can travel at the same time does: GETs are
// started first, then owners are asked to pack, some at a time, and at last the GETs are waited for.
//
// Where the owner stays passive and what is wanted does not lie side by side, a GET also brings what is in
// between if that is little. A network passes these bytes sooner than it starts another GET: on the modelled
// ones 1.5 to 8 KiB.

#include <algorithm>
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
// And owners that are asked to pack, unless their answers are large: these fill the network, and each is in
// memory twice. Each owner has a thread for each rank that asks.
constexpr std::size_t most_asked = 8;
constexpr std::uint64_t most_asked_bytes = 256 * 1024;
// Of an answer; what is larger is fetched run by run.
constexpr std::uint64_t most_answer_bytes = std::uint64_t{1} << 30;
// Between two runs, to fetch them together; and of what is fetched together.
constexpr std::uint64_t most_hole_bytes = 1024;
constexpr std::uint64_t most_cover_bytes = 16 * 1024;

/// A slice's elements, as far as they lie side by side at the owner.
class Runs {
  public:
    explicit Runs(const Slice& slice) : slice_(slice) {
        bytes_ = slice.element_bytes * static_cast<std::uint64_t>(slice.extent[3]);
        for (; first_ > 0 && slice.extent[first_] == slice.part[first_]; --first_)
            bytes_ *= static_cast<std::uint64_t>(slice.extent[first_ - 1]);
        for (std::size_t d = 0; d < first_; ++d)
            count_ *= slice.extent[d];
    }
    std::int64_t count() const { return count_; }
    /// Calls visit(offset in the owner's part, offset in what is packed, length), in bytes.
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
            visit(static_cast<std::uint64_t>(offset) * slice_.element_bytes, packed, bytes_);
            packed += bytes_;
        });
    }

    /// Of the dimensions that a run goes through.
    std::size_t first_dimension() const { return first_; }
    /// Of each run.
    std::uint64_t bytes() const { return bytes_; }

  private:
    const Slice& slice_;
    std::uint64_t bytes_;
    std::int64_t count_ = 1;
    std::size_t first_ = 3;
};

/// Cuts a slice into pieces that are one GET each: runs, or several with little in between.
class Pieces {
  public:
    explicit Pieces(const Slice& slice) : slice_(slice) {
        const Runs runs(slice);
        std::uint64_t span = runs.bytes();
        std::uint64_t stride = slice.element_bytes;
        for (std::size_t d = 4; d-- > 0;) {
            if (d < runs.first_dimension()) {
                const auto extent = static_cast<std::uint64_t>(slice.extent[d]);
                const bool near = stride - span <= most_hole_bytes && span <= most_cover_bytes;
                const std::uint64_t fit = near ? 1 + (most_cover_bytes - span) / stride : 1;
                step_[d] = static_cast<std::int64_t>(std::min(fit, extent));
                if (step_[d] < slice.extent[d]) break;
                span += (extent - 1) * stride;
            } else {
                step_[d] = slice.extent[d];
            }
            stride *= static_cast<std::uint64_t>(slice.part[d]);
        }
    }
    /// Calls visit(piece, offset in what is packed, in bytes).
    template <class Visit>
    void for_each(Visit&& visit) const {
        Box<4> outer;
        for (std::size_t d = 0; d < 4; ++d)
            outer.upper[d] = (slice_.extent[d] + step_[d] - 1) / step_[d];
        std::uint64_t packed = 0;
        for_each_index(outer, [&](const Index<4>& i) {
            Slice piece = slice_;
            for (std::size_t d = 0; d < 4; ++d) {
                piece.lower[d] += i[d] * step_[d];
                piece.extent[d] = std::min(step_[d], slice_.extent[d] - i[d] * step_[d]);
            }
            visit(piece, packed);
            packed += piece.bytes();
        });
    }

  private:
    const Slice& slice_;
    Index<4> step_{1, 1, 1, 1};  ///< how many indices of each dimension a piece has
};

/// A piece on its way with what is in between.
class Cover final : public Transfer::State {
  public:
    /// \param first the offset in the owner's part from which on it is covered
    Cover(const Slice& piece, std::byte* packed, std::uint64_t first, std::vector<std::byte> covered,
          Transfer transfer)
        : piece_(piece),
          packed_(packed),
          first_(first),
          covered_(std::move(covered)),
          transfer_(std::move(transfer)) {}

    bool test() override {
        if (!transfer_.test()) return false;
        take_piece();
        return true;
    }
    int wait() override {
        transfer_.wait();
        take_piece();
        return 0;
    }

  private:
    void take_piece() {
        const Runs runs(piece_);
        runs.for_each([&](std::uint64_t there, std::uint64_t here, std::uint64_t bytes) {
            std::memcpy(packed_ + here, covered_.data() + (there - first_), bytes);
        });
    }

    Slice piece_;
    std::byte* packed_;
    std::uint64_t first_;
    std::vector<std::byte> covered_;
    Transfer transfer_;
};

/// \param begin starts a GET
template <class Begin>
Transfer start_piece(const Slice& piece, std::byte* packed, const Begin& begin) {
    const Runs runs(piece);
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    runs.for_each([&](std::uint64_t there, std::uint64_t, std::uint64_t bytes) {
        if (end == 0) first = there;
        end = there + bytes;
    });
    if (runs.count() == 1) return begin(piece.owner, piece.address + first, packed, runs.bytes());
    std::vector<std::byte> covered(end - first);
    Transfer transfer = begin(piece.owner, piece.address + first, covered.data(), covered.size());
    return Transfer(std::make_unique<Cover>(piece, packed, first, std::move(covered), std::move(transfer)));
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

/// Calls copy(part, packed, bytes) for each run of a slice of this rank's own.
template <class Byte, class Copy>
void for_each_own_run(const Slice& slice, Byte* packed, const Copy& copy) {
    const auto elements =
        static_cast<std::uint64_t>(slice.part[0] * slice.part[1] * slice.part[2] * slice.part[3]);
    std::byte* const part = local(slice.address, elements * slice.element_bytes);
    Runs(slice).for_each([&](std::uint64_t there, std::uint64_t here, std::uint64_t bytes) {
        copy(part + there, packed + here, bytes);
    });
}

void pack(const Slice& slice, std::byte* packed) {
    for_each_own_run(slice, packed, [](const std::byte* part, std::byte* here, std::uint64_t bytes) {
        std::memcpy(here, part, bytes);
    });
}

void unpack(const Slice& slice, const std::byte* packed) {
    for_each_own_run(slice, packed, [](std::byte* part, const std::byte* here, std::uint64_t bytes) {
        std::memcpy(part, here, bytes);
    });
}

bool owner_packs(const Context& context, const Slice& slice) {
    return Runs(slice).count() > few_runs && slice.bytes() <= most_answer_bytes && context.answered();
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
    const auto begin = [&](Rank owner, std::uint64_t address, std::byte* to, std::uint64_t bytes) {
        return around ? context.start_fetch(owner, address, to, bytes)
                      : context.start_get(owner, address, to, bytes);
    };
    Flight flight;
    std::vector<Context::Call> asked;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        if (slice.owner == self) {
            pack(slice, move.packed);
        } else if (packer == Packer::owner && owner_packs(context, slice)) {
            asked.push_back({slice.owner,
                             context.runtime().code_offset(pack_code),
                             std::as_bytes(std::span(&slice, 1)),
                             {move.packed, slice.bytes()}});
        } else {
            Pieces(slice).for_each([&](const Slice& piece, std::uint64_t here) {
                flight.add(start_piece(piece, move.packed + here, begin));
            });
        }
    }
    // Not all ranks ask the same one first.
    std::stable_partition(asked.begin(), asked.end(),
                          [&](const Context::Call& call) { return call.rank > self; });
    for (std::span<const Context::Call> left = asked; !left.empty();) {
        std::size_t next = 0;
        for (std::uint64_t bytes = 0; next < std::min(most_asked, left.size()); ++next) {
            bytes += left[next].result.size();
            if (next > 0 && bytes > most_asked_bytes) break;
        }
        context.call(left.first(next), std::memory_order_release);
        left = left.subspan(next);
    }
    flight.land_all();
}

std::vector<Transfer> start_get_slices(std::span<const SliceMove> moves) {
    Context& context = Context::here();
    const auto begin = [&](Rank owner, std::uint64_t address, std::byte* to, std::uint64_t bytes) {
        return context.start_fetch(owner, address, to, bytes);
    };
    std::vector<Transfer> transfers;
    for (const SliceMove& move : moves) {
        const Slice& slice = move.slice;
        if (slice.bytes() == 0) continue;
        Pieces(slice).for_each([&](const Slice& piece, std::uint64_t here) {
            transfers.push_back(start_piece(piece, move.packed + here, begin));
        });
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
        } else if (owner_packs(context, slice)) {
            std::vector<std::byte> message(sizeof(Slice) + slice.bytes());
            std::memcpy(message.data(), &slice, sizeof(Slice));
            std::memcpy(message.data() + sizeof(Slice), move.packed, slice.bytes());
            const Context::Call call{slice.owner, code, message, {}};
            context.call(std::span(&call, 1), std::memory_order_release);
            // What the cache has of these bytes is older now.
            Runs(slice).for_each([&](std::uint64_t there, std::uint64_t, std::uint64_t bytes) {
                const std::uint64_t address = slice.address + there;
                context.forget(slice.owner, {address, address + bytes});
            });
        } else {
            Runs(slice).for_each([&](std::uint64_t there, std::uint64_t here, std::uint64_t bytes) {
                flight.add(context.start_put(slice.owner, slice.address + there, move.packed + here, bytes));
            });
        }
    }
    flight.land_all();
}

}  // namespace nearfetch::detail
