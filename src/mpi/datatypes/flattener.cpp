// SPDX-License-Identifier: Apache-2.0
#include "mpi/datatypes/flattener.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

// Datatypes are flattened by asking MPI how they were made (MPI_Type_get_envelope and _contents) and
// replaying that, constructor by constructor, on lists of blocks (001, section II-B).
//
// The order of blocks matters: origin and target lists are walked side by side, so both have to be in type
// map order, and only neighbours in that order are merged. The sum of the blocks is checked against MPI's own
// size of the type, so that a library which disagrees about a constructor makes the type not known instead of
// wrong.
//
// MPI-4 libraries refuse to describe types made by large-count constructors through the plain calls. The
// large calls are looked up at run time, since the library that is loaded need not be the one whose header
// was compiled against.

namespace nearfetch {

namespace {

/// Thrown while flattening: the type has no answer.
struct NotKnown {};

void require(bool holds) {
    if (!holds) throw NotKnown{};
}

std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    require(!__builtin_mul_overflow(a, b, &result));
    return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    require(!__builtin_add_overflow(a, b, &result));
    return result;
}

/// Appends a block, merged with the last one if it continues that.
bool append(std::vector<LayoutRun>& out, std::int64_t offset, std::uint64_t size, std::uint64_t limit) {
    std::int64_t end = 0;
    if (__builtin_add_overflow(offset, size, &end)) return false;
    if (!out.empty()) {
        LayoutRun& last = out.back();
        if (last.offset + static_cast<std::int64_t>(last.size) == offset) {
            last.size += size;
            return true;
        }
    }
    if (out.size() >= limit) return false;
    out.push_back({offset, size});
    return true;
}

/// The large-count calls of MPI-4; null where the library lacks them.
struct LargeCalls {
    using Envelope = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
    using Arguments = int (*)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,
                              MPI_Count*, MPI_Datatype*);
    Envelope envelope = reinterpret_cast<Envelope>(dlsym(RTLD_DEFAULT, "PMPI_Type_get_envelope_c"));
    Arguments contents = reinterpret_cast<Arguments>(dlsym(RTLD_DEFAULT, "PMPI_Type_get_contents_c"));

    bool present() const noexcept { return envelope != nullptr && contents != nullptr; }
};

const LargeCalls& large_calls() {
    static const LargeCalls calls;
    return calls;
}

/// How a type was made: the constructor and how many arguments of each kind it had.
struct Envelope {
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    int combiner = MPI_COMBINER_NAMED;

    explicit Envelope(MPI_Datatype type) {
        if (large_calls().present()) {
            require(large_calls().envelope(type, &integers, &addresses, &counts, &types, &combiner) ==
                    MPI_SUCCESS);
            return;
        }
        int i = 0, a = 0, t = 0;
        require(PMPI_Type_get_envelope(type, &i, &a, &t, &combiner) == MPI_SUCCESS);
        integers = i, addresses = a, types = t;
    }

    /// Predefined, with a name or without; such a type is never freed.
    bool predefined() const noexcept {
        switch (combiner) {
            case MPI_COMBINER_NAMED:
            case MPI_COMBINER_F90_REAL:
            case MPI_COMBINER_F90_COMPLEX:
            case MPI_COMBINER_F90_INTEGER:
#if !defined(OPEN_MPI)
            case MPI_COMBINER_VALUE_INDEX:
#endif
                return true;
            default:
                return false;
        }
    }
};

/// A constructor's arguments. The numbers are joined in the order integers, addresses, counts: for most
/// constructors that is one and the same order whether the plain or the large-count variant was called.
class Contents {
  public:
    Contents(MPI_Datatype type, const Envelope& envelope) {
        std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
        std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
        std::vector<MPI_Count> counts(static_cast<std::size_t>(envelope.counts));
        numbers_.reserve(integers.size() + addresses.size() + counts.size());
        std::vector<MPI_Datatype> types(static_cast<std::size_t>(envelope.types), MPI_DATATYPE_NULL);
        if (large_calls().present())
            require(large_calls().contents(type, envelope.integers, envelope.addresses, envelope.counts,
                                           envelope.types, integers.data(), addresses.data(), counts.data(),
                                           types.data()) == MPI_SUCCESS);
        else
            require(PMPI_Type_get_contents(type, static_cast<int>(envelope.integers),
                                           static_cast<int>(envelope.addresses),
                                           static_cast<int>(envelope.types), integers.data(),
                                           addresses.data(), types.data()) == MPI_SUCCESS);
        types_.swap(types);
        numbers_.insert(numbers_.end(), integers.begin(), integers.end());
        numbers_.insert(numbers_.end(), addresses.begin(), addresses.end());
        numbers_.insert(numbers_.end(), counts.begin(), counts.end());
        large_ = envelope.counts > 0;
    }
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;
    /// Derived types come as new references, which are ours to free.
    ~Contents() {
        for (MPI_Datatype& type : types_) {
            try {
                if (!Envelope(type).predefined()) PMPI_Type_free(&type);
            } catch (const NotKnown&) {
            }
        }
    }

    bool large() const noexcept { return large_; }
    std::span<const MPI_Datatype> types() const noexcept { return types_; }

    std::int64_t next() { return next(1)[0]; }
    std::span<const std::int64_t> next(std::int64_t n) {
        require(n >= 0 && static_cast<std::uint64_t>(n) <= numbers_.size() - taken_);
        const std::size_t first = taken_;
        taken_ += static_cast<std::size_t>(n);
        return std::span(numbers_).subspan(first, static_cast<std::size_t>(n));
    }

  private:
    std::vector<std::int64_t> numbers_;
    std::vector<MPI_Datatype> types_;
    std::size_t taken_ = 0;
    bool large_ = false;
};

struct Map {
    std::vector<LayoutRun> blocks;
    std::int64_t extent = 0;
};

/// One dimension of an array of which a part is selected: the runs [first, first + length) of indices.
struct Dimension {
    std::int64_t size = 0;
    std::int64_t first = 0;   ///< index of the first run
    std::int64_t length = 0;  ///< of each run
    std::int64_t step = 0;    ///< from one run to the next
    std::int64_t end = 0;     ///< indices from here on are not selected
};

class Flattener {
  public:
    explicit Flattener(std::uint64_t limit) : limit_(limit) {}

    Map map_of(MPI_Datatype type) {
        require(type != MPI_DATATYPE_NULL);
        const Envelope envelope(type);
        Map map;
        MPI_Aint lower_bound = 0, extent = 0;
        require(PMPI_Type_get_extent(type, &lower_bound, &extent) == MPI_SUCCESS);
        map.extent = extent;
        if (envelope.predefined()) {
            predefined(type, map);
            return map;
        }
        Contents contents(type, envelope);
        if (envelope.combiner == MPI_COMBINER_STRUCT || envelope.combiner == struct_integer) {
            structure(contents, map.blocks);
            return map;
        }
        require(contents.types().size() == 1);
        derived(envelope.combiner, contents, map_of(contents.types()[0]), map.blocks);
        return map;
    }

  private:
    // Constructors that MPI-3.0 removed. Open MPI hides the names but keeps the numbers; the standard ABI has
    // neither.
#if defined(OPEN_MPI)
    static constexpr int hvector_integer = MPI_COMBINER_HVECTOR - 1,
                         hindexed_integer = MPI_COMBINER_HINDEXED - 1,
                         struct_integer = MPI_COMBINER_STRUCT - 1;
#elif defined(MPI_ABI)
    static constexpr int hvector_integer = -1, hindexed_integer = -2, struct_integer = -3;
#else
    static constexpr int hvector_integer = MPI_COMBINER_HVECTOR_INTEGER,
                         hindexed_integer = MPI_COMBINER_HINDEXED_INTEGER,
                         struct_integer = MPI_COMBINER_STRUCT_INTEGER;
#endif

    void add(const std::vector<LayoutRun>& pattern, std::int64_t start, std::int64_t count,
             std::int64_t stride, std::vector<LayoutRun>& out) const {
        require(count >= 0 && repeat(pattern, start, static_cast<std::uint64_t>(count), stride, limit_, out));
    }

    /// A predefined type without a gap is one block; of those with a gap only C's pairs are known.
    void predefined(MPI_Datatype type, Map& map) const {
        int size = 0;
        require(PMPI_Type_size(type, &size) == MPI_SUCCESS && size > 0);
        if (size == map.extent) {
            add({{0, static_cast<std::uint64_t>(size)}}, 0, 1, 0, map.blocks);
            return;
        }
        struct DoubleInt {
            double value;
            int index;
        };
        struct LongInt {
            long value;
            int index;
        };
        struct ShortInt {
            short value;
            int index;
        };
        struct LongDoubleInt {
            long double value;
            int index;
        };
        const auto pair = [&]<class Pair>(MPI_Datatype named, const Pair& p) {
            if (type != named || map.extent != sizeof(Pair) || size != sizeof p.value + sizeof p.index)
                return false;
            add({{0, sizeof p.value}}, 0, 1, 0, map.blocks);
            add({{offsetof(Pair, index), sizeof p.index}}, 0, 1, 0, map.blocks);
            return true;
        };
        require(pair(MPI_DOUBLE_INT, DoubleInt{}) || pair(MPI_LONG_INT, LongInt{}) ||
                pair(MPI_SHORT_INT, ShortInt{}) || pair(MPI_LONG_DOUBLE_INT, LongDoubleInt{}));
    }

    /// A type made of one other type.
    void derived(int combiner, Contents& contents, const Map& inner, std::vector<LayoutRun>& out) {
        switch (combiner) {
            case MPI_COMBINER_DUP:
            case MPI_COMBINER_RESIZED:
                add(inner.blocks, 0, 1, 0, out);
                return;
            case MPI_COMBINER_CONTIGUOUS:
                add(inner.blocks, 0, contents.next(), inner.extent, out);
                return;
            case MPI_COMBINER_VECTOR:
                vector(contents, inner, inner.extent, out);
                return;
            case hvector_integer:
            case MPI_COMBINER_HVECTOR:
                vector(contents, inner, 1, out);
                return;
            case MPI_COMBINER_INDEXED:
                indexed(contents, inner, inner.extent, out);
                return;
            case hindexed_integer:
            case MPI_COMBINER_HINDEXED:
                indexed(contents, inner, 1, out);
                return;
            case MPI_COMBINER_INDEXED_BLOCK:
                indexed_block(contents, inner, inner.extent, out);
                return;
            case MPI_COMBINER_HINDEXED_BLOCK:
                indexed_block(contents, inner, 1, out);
                return;
            case MPI_COMBINER_SUBARRAY:
                subarray(contents, inner, out);
                return;
            case MPI_COMBINER_DARRAY:
                darray(contents, inner, out);
                return;
            default:
                throw NotKnown{};
        }
    }

    void vector(Contents& contents, const Map& inner, std::int64_t unit, std::vector<LayoutRun>& out) const {
        const std::int64_t count = contents.next(), length = contents.next(), stride = contents.next();
        if (count == 0) return;
        std::vector<LayoutRun> row;
        add(inner.blocks, 0, length, inner.extent, row);
        add(row, 0, count, product(stride, unit), out);
    }

    void indexed(Contents& contents, const Map& inner, std::int64_t unit, std::vector<LayoutRun>& out) const {
        const std::int64_t count = contents.next();
        const auto lengths = contents.next(count), places = contents.next(count);
        for (std::size_t i = 0; i < lengths.size(); ++i)
            add(inner.blocks, product(places[i], unit), lengths[i], inner.extent, out);
    }

    void indexed_block(Contents& contents, const Map& inner, std::int64_t unit,
                       std::vector<LayoutRun>& out) const {
        const std::int64_t count = contents.next(), length = contents.next();
        for (const std::int64_t place : contents.next(count))
            add(inner.blocks, product(place, unit), length, inner.extent, out);
    }

    void structure(Contents& contents, std::vector<LayoutRun>& out) {
        const std::int64_t count = contents.next();
        const auto lengths = contents.next(count), places = contents.next(count);
        const auto types = contents.types();
        require(types.size() == lengths.size());
        Map inner;
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (lengths[i] == 0) continue;
            if (i == 0 || types[i] != types[i - 1] || lengths[i - 1] == 0) inner = map_of(types[i]);
            add(inner.blocks, places[i], lengths[i], inner.extent, out);
        }
    }

    void subarray(Contents& contents, const Map& inner, std::vector<LayoutRun>& out) const {
        const std::int64_t rank = contents.next();
        std::int64_t order = contents.large() ? contents.next() : 0;
        const auto sizes = contents.next(rank), parts = contents.next(rank), starts = contents.next(rank);
        if (!contents.large()) order = contents.next();
        std::vector<Dimension> dimensions;
        for (std::size_t d = 0; d < sizes.size(); ++d)
            dimensions.push_back({sizes[d], starts[d], parts[d], sizes[d], sum(starts[d], parts[d])});
        array(dimensions, order, inner, out);
    }

    /// MPI-4.1, section 5.1.4. Ranks lie in the process grid in row-major order, whatever the order of the
    /// array.
    void darray(Contents& contents, const Map& inner, std::vector<LayoutRun>& out) const {
        std::int64_t processes = contents.next(), rank = contents.next();
        const std::int64_t n = contents.next();
        std::span<const std::int64_t> sizes;
        if (!contents.large()) sizes = contents.next(n);
        const auto kinds = contents.next(n), arguments = contents.next(n), grid = contents.next(n);
        const std::int64_t order = contents.next();
        if (contents.large()) sizes = contents.next(n);
        std::vector<Dimension> dimensions;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            require(grid[d] > 0);
            processes /= grid[d];
            require(processes > 0);
            const std::int64_t place = rank / processes;
            rank %= processes;
            std::int64_t length = arguments[d];
            if (kinds[d] == MPI_DISTRIBUTE_NONE)
                length = sizes[d];
            else if (length == MPI_DISTRIBUTE_DFLT_DARG)
                length = kinds[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
            require(length > 0);
            dimensions.push_back(
                {sizes[d], product(place, length), length, product(grid[d], length), sizes[d]});
        }
        array(dimensions, order, inner, out);
    }

    /// The selected part of an array, its fastest dimension innermost.
    void array(std::vector<Dimension>& dimensions, std::int64_t order, const Map& inner,
               std::vector<LayoutRun>& out) const {
        require(order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN);
        if (order == MPI_ORDER_C) std::reverse(dimensions.begin(), dimensions.end());
        std::vector<LayoutRun> part = inner.blocks;
        std::int64_t stride = inner.extent;
        for (const Dimension& d : dimensions) {
            std::vector<LayoutRun> wider;
            if (part.empty()) return;
            for (std::int64_t i = d.first; i < d.end; i = sum(i, d.step))
                add(part, product(i, stride), std::min(d.length, d.end - i), stride, wider);
            part = std::move(wider);
            stride = product(stride, d.size);
        }
        add(part, 0, 1, 0, out);
    }

    std::uint64_t limit_;
};

/// Whether the library sees the type in the same way, as far as its own size and bounds tell.
bool agrees(MPI_Datatype type, const std::vector<LayoutRun>& blocks, std::uint64_t size) {
    MPI_Count its_size = 0;
    if (PMPI_Type_size_x(type, &its_size) != MPI_SUCCESS) return false;
    if (static_cast<std::uint64_t>(its_size) != size) return false;
#if defined(OPEN_MPI)
    // It takes a stride of -1 byte for "none given". (MPICH is not asked: it misreports the bounds of some
    // darrays.)
    MPI_Count its_lower = 0, its_extent = 0;
    if (PMPI_Type_get_true_extent_x(type, &its_lower, &its_extent) != MPI_SUCCESS) return false;
    std::int64_t lower = INT64_MAX, upper = INT64_MIN;
    for (const LayoutRun& block : blocks) {
        lower = std::min(lower, block.offset);
        upper = std::max(upper, block.offset + static_cast<std::int64_t>(block.size));
    }
    return size == 0 || (lower == its_lower && upper - lower == its_extent);
#else
    static_cast<void>(blocks);
    return true;
#endif
}

}  // namespace

bool repeat(const std::vector<LayoutRun>& pattern, std::int64_t start, std::uint64_t count,
            std::int64_t stride, std::uint64_t limit, std::vector<LayoutRun>& out) {
    if (pattern.empty() || count == 0) return true;
    if (pattern.size() == 1 && stride >= 0 && static_cast<std::uint64_t>(stride) == pattern[0].size) {
        std::int64_t offset = 0;
        std::uint64_t size = 0;
        if (__builtin_add_overflow(start, pattern[0].offset, &offset)) return false;
        if (__builtin_mul_overflow(pattern[0].size, count, &size)) return false;
        return append(out, offset, size, limit);
    }
    for (std::uint64_t i = 0;;) {
        for (const LayoutRun& block : pattern) {
            std::int64_t offset = 0;
            if (__builtin_add_overflow(start, block.offset, &offset)) return false;
            if (!append(out, offset, block.size, limit)) return false;
        }
        if (++i == count) return true;
        if (__builtin_add_overflow(start, stride, &start)) return false;
    }
}

bool is_datatype(MPI_Datatype type) noexcept {
    if (type == MPI_DATATYPE_NULL) return false;
#if defined(OPEN_MPI) || defined(MPI_ABI)
    return type != nullptr;
#else
    // MPICH: bits 30 and 31 are the kind of the handle, never 0, bits 26 to 29 that of the object, 3 for
    // datatypes.
    const auto bits = static_cast<std::uint32_t>(type);
    return (bits >> 30) != 0 && ((bits >> 26) & 0xf) == 3;
#endif
}

bool is_predefined(MPI_Datatype type) noexcept {
    try {
        return Envelope(type).predefined();
    } catch (const NotKnown&) {
        return false;
    }
}

Layout compute_layout(MPI_Datatype type, std::uint64_t run_limit) {
    Layout layout;
    try {
        Map map = Flattener(run_limit).map_of(type);
        for (const LayoutRun& block : map.blocks)
            layout.size += block.size;
        require(agrees(type, map.blocks, layout.size));
        layout.blocks = std::move(map.blocks);
        layout.blocks.shrink_to_fit();
        layout.extent = map.extent;
        layout.known = true;
    } catch (const NotKnown&) {
        layout = Layout{};
    }
    return layout;
}

}  // namespace nearfetch
