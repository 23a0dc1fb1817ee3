// SPDX-License-Identifier: Apache-2.0

// MPI tells how a datatype was made (MPI_Type_get_envelope and MPI_Type_get_contents; MPI-4.1,
// section 5.1.13). The flattener does the same, constructor by constructor, on lists of blocks (001, section
// II-B).
//
// The blocks of a list are in the order of the type map, because the lists of origin and target are walked
// side by side. Only neighbours in that order are merged.
//
// The library may disagree about a constructor. So the result is compared with the size that MPI tells; if
// they differ, the layout is not known.
//
// The calls of MPI-3 do not describe types that were made by large-count constructors. The large-count calls
// are looked up at run time, because the library that is loaded may be older than the mpi.h in use.

#include "mpi/datatypes/datatype.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace nearfetch {

namespace {

using Blocks = std::vector<LayoutRun>;
/// Sums and products of two 64-bit numbers do not overflow in it.
__extension__ typedef __int128 Wide;

bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

/// Thrown when a type cannot be flattened.
struct NotKnown {};

void require(bool holds) {
    if (!holds) throw NotKnown{};
}

/// Appends a block, or joins it to the last one. \return false as repeat() does
bool append(Blocks& out, Wide offset, Wide size, std::uint64_t limit) {
    if (offset < INT64_MIN || offset + size > INT64_MAX) return false;
    const LayoutRun run{static_cast<std::int64_t>(offset), static_cast<std::uint64_t>(size)};
    if (!out.empty() && out.back().offset + static_cast<std::int64_t>(out.back().size) == run.offset) {
        out.back().size += run.size;
        return true;
    }
    if (out.size() >= limit) return false;
    out.push_back(run);
    return true;
}

/// Appends `count` copies of `pattern`: the first moved by `start`, each later one by `stride` more. The time
/// is proportional to the blocks that are appended.
/// \return false if `out` would have more than `limit` blocks, or an address would overflow
bool repeat(const Blocks& pattern, Wide start, Wide count, Wide stride, std::uint64_t limit, Blocks& out) {
    if (!fits(start) || !fits(stride) || count < 0) return false;
    if (pattern.size() == 1 && stride == pattern[0].size && count > 0)
        return append(out, start + pattern[0].offset, pattern[0].size * count, limit);
    for (Wide i = 0; i < count && !pattern.empty(); ++i, start += stride)
        for (const LayoutRun& block : pattern)
            if (!append(out, start + block.offset, block.size, limit)) return false;
    return true;
}

/// The large-count calls of MPI-4.
struct LargeCalls {
    using Envelope = int(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
    using Contents = int(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,
                         MPI_Count*, MPI_Datatype*);
    Envelope* envelope = reinterpret_cast<Envelope*>(dlsym(RTLD_DEFAULT, "PMPI_Type_get_envelope_c"));
    Contents* contents = reinterpret_cast<Contents*>(dlsym(RTLD_DEFAULT, "PMPI_Type_get_contents_c"));

    /// Null where the library lacks them.
    static const LargeCalls* find() {
        static const LargeCalls calls;
        return calls.envelope != nullptr && calls.contents != nullptr ? &calls : nullptr;
    }
};

/// How a type was made: the constructor, and how many arguments of each kind it had.
struct Envelope {
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    int combiner = MPI_COMBINER_NAMED;

    explicit Envelope(MPI_Datatype type) {
        int status = MPI_SUCCESS;
        if (const LargeCalls* const large = LargeCalls::find()) {
            status = large->envelope(type, &integers, &addresses, &counts, &types, &combiner);
        } else {
            int i = 0, a = 0, t = 0;
            status = PMPI_Type_get_envelope(type, &i, &a, &t, &combiner);
            integers = i, addresses = a, types = t;
        }
        require(status == MPI_SUCCESS);
    }

    bool is_predefined() const noexcept {
        switch (combiner) {
            case MPI_COMBINER_NAMED:
            case MPI_COMBINER_F90_REAL:
            case MPI_COMBINER_F90_COMPLEX:
            case MPI_COMBINER_F90_INTEGER:
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
            case MPI_COMBINER_VALUE_INDEX:
#endif
                return true;
            default:
                return false;
        }
    }
};

/// A constructor's arguments. The numbers are in the order integers, addresses, counts. For most constructors
/// this order is the same in the plain and in the large-count variant.
class Arguments {
  public:
    Arguments(MPI_Datatype type, const Envelope& made)
        : types_(made.types, MPI_DATATYPE_NULL), is_large_(made.counts > 0) {
        std::vector<int> integers(made.integers);
        std::vector<MPI_Aint> addresses(made.addresses);
        std::vector<MPI_Count> counts(made.counts);
        numbers_.reserve(integers.size() + addresses.size() + counts.size());
        int status = MPI_SUCCESS;
        if (const LargeCalls* const large = LargeCalls::find())
            status = large->contents(type, made.integers, made.addresses, made.counts, made.types,
                                     integers.data(), addresses.data(), counts.data(), types_.data());
        else
            status = PMPI_Type_get_contents(type, static_cast<int>(made.integers),
                                            static_cast<int>(made.addresses), static_cast<int>(made.types),
                                            integers.data(), addresses.data(), types_.data());
        require(status == MPI_SUCCESS);
        numbers_.insert(numbers_.end(), integers.begin(), integers.end());
        numbers_.insert(numbers_.end(), addresses.begin(), addresses.end());
        numbers_.insert(numbers_.end(), counts.begin(), counts.end());
    }
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    /// MPI hands out derived types as new references, which have to be freed.
    ~Arguments() {
        for (MPI_Datatype& type : types_)
            if (!is_predefined(type)) PMPI_Type_free(&type);
    }

    bool is_large() const noexcept { return is_large_; }
    std::span<const MPI_Datatype> types() const noexcept { return types_; }

    std::int64_t next() { return next(1)[0]; }
    std::span<const std::int64_t> next(std::int64_t n) {
        require(n >= 0 && static_cast<std::uint64_t>(n) <= numbers_.size() - taken_);
        return {numbers_.data() + std::exchange(taken_, taken_ + n), static_cast<std::size_t>(n)};
    }

  private:
    std::vector<std::int64_t> numbers_;
    std::vector<MPI_Datatype> types_;
    std::size_t taken_ = 0;
    bool is_large_;
};

/// One dimension of an array of which a part is selected: the runs [first, first + length) of indices.
struct Dimension {
    std::int64_t size = 0;
    std::int64_t first = 0;   ///< index of the first run
    std::int64_t length = 0;  ///< of each run
    std::int64_t step = 0;    ///< from one run to the next
    std::int64_t end = 0;     ///< indices from here on are not selected
};

// Constructors that MPI-3.0 removed. Open MPI hides the names but keeps the numbers. The standard ABI has
// neither.
#if defined(OPEN_MPI)
constexpr int hvector_integer = MPI_COMBINER_HVECTOR - 1, hindexed_integer = MPI_COMBINER_HINDEXED - 1,
              struct_integer = MPI_COMBINER_STRUCT - 1;
#elif defined(MPI_ABI)
constexpr int hvector_integer = -1, hindexed_integer = -2, struct_integer = -3;
#else
constexpr int hvector_integer = MPI_COMBINER_HVECTOR_INTEGER,
              hindexed_integer = MPI_COMBINER_HINDEXED_INTEGER, struct_integer = MPI_COMBINER_STRUCT_INTEGER;
#endif

/// Appends the blocks of `pair`, C's pair of a Value and an index, if `type` is that.
template <class Value>
void append_pair(Blocks& out, MPI_Datatype pair, MPI_Datatype type, int size, MPI_Aint extent) {
    struct Pair {
        Value value;
        int index;
    };
    if (type != pair || size != sizeof(Value) + sizeof(int) || extent != sizeof(Pair)) return;
    append(out, 0, sizeof(Value), 2);
    append(out, offsetof(Pair, index), sizeof(int), 2);
}

/// A predefined type without a gap is one block. Of those with a gap only C's pairs are known.
Blocks predefined(MPI_Datatype type, MPI_Aint extent) {
    int size = 0;
    require(PMPI_Type_size(type, &size) == MPI_SUCCESS && size > 0);
    if (size == extent) return {{0, static_cast<std::uint64_t>(size)}};
    Blocks blocks;
    append_pair<double>(blocks, MPI_DOUBLE_INT, type, size, extent);
    append_pair<long>(blocks, MPI_LONG_INT, type, size, extent);
    append_pair<short>(blocks, MPI_SHORT_INT, type, size, extent);
    append_pair<long double>(blocks, MPI_LONG_DOUBLE_INT, type, size, extent);
    require(!blocks.empty());
    return blocks;
}

class Flattener {
  public:
    explicit Flattener(std::uint64_t limit) : limit_(limit) {}

    /// Blocks and extent, no more.
    Layout map_of(MPI_Datatype type) const {
        require(type != MPI_DATATYPE_NULL);
        const Envelope made(type);
        MPI_Aint lower_bound = 0, extent = 0;
        require(PMPI_Type_get_extent(type, &lower_bound, &extent) == MPI_SUCCESS);
        if (made.is_predefined()) return {predefined(type, extent), extent};
        Arguments arguments(type, made);
        if (made.combiner == MPI_COMBINER_STRUCT || made.combiner == struct_integer)
            return {structure(arguments), extent};
        require(arguments.types().size() == 1);
        return {derived(made.combiner, arguments, map_of(arguments.types()[0])), extent};
    }

  private:
    void add(Blocks& out, const Blocks& pattern, Wide start, Wide count, Wide stride) const {
        require(repeat(pattern, start, count, stride, limit_, out));
    }

    /// A type made of one other type.
    Blocks derived(int combiner, Arguments& arguments, const Layout& inner) const {
        switch (combiner) {
            case MPI_COMBINER_DUP:
            case MPI_COMBINER_RESIZED:
                return inner.blocks;
            case MPI_COMBINER_CONTIGUOUS:
                return contiguous(arguments, inner);
            case MPI_COMBINER_VECTOR:
                return vector(arguments, inner, inner.extent);
            case hvector_integer:
            case MPI_COMBINER_HVECTOR:
                return vector(arguments, inner, 1);
            case MPI_COMBINER_INDEXED:
                return indexed(arguments, inner, inner.extent, false);
            case hindexed_integer:
            case MPI_COMBINER_HINDEXED:
                return indexed(arguments, inner, 1, false);
            case MPI_COMBINER_INDEXED_BLOCK:
                return indexed(arguments, inner, inner.extent, true);
            case MPI_COMBINER_HINDEXED_BLOCK:
                return indexed(arguments, inner, 1, true);
            case MPI_COMBINER_SUBARRAY:
                return subarray(arguments, inner);
            case MPI_COMBINER_DARRAY:
                return darray(arguments, inner);
            default:
                throw NotKnown{};
        }
    }

    Blocks contiguous(Arguments& arguments, const Layout& inner) const {
        Blocks out;
        add(out, inner.blocks, 0, arguments.next(), inner.extent);
        return out;
    }

    /// \param unit of strides, bytes
    Blocks vector(Arguments& arguments, const Layout& inner, std::int64_t unit) const {
        const std::int64_t count = arguments.next(), length = arguments.next(), stride = arguments.next();
        Blocks row, out;
        if (count == 0) return out;
        add(row, inner.blocks, 0, length, inner.extent);
        add(out, row, 0, count, Wide{stride} * unit);
        return out;
    }

    /// \param unit of displacements, bytes
    Blocks indexed(Arguments& arguments, const Layout& inner, std::int64_t unit, bool has_one_length) const {
        const std::int64_t count = arguments.next();
        const auto lengths = arguments.next(has_one_length ? 1 : count), places = arguments.next(count);
        Blocks out;
        for (std::size_t i = 0; i < places.size(); ++i)
            add(out, inner.blocks, Wide{places[i]} * unit, lengths[has_one_length ? 0 : i], inner.extent);
        return out;
    }

    Blocks structure(Arguments& arguments) const {
        const std::int64_t count = arguments.next();
        const auto lengths = arguments.next(count), places = arguments.next(count);
        const auto types = arguments.types();
        require(types.size() == lengths.size());
        Blocks out;
        Layout inner;
        MPI_Datatype inner_type = MPI_DATATYPE_NULL;
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (lengths[i] == 0) continue;
            if (types[i] != inner_type) inner = map_of(inner_type = types[i]);
            add(out, inner.blocks, places[i], lengths[i], inner.extent);
        }
        return out;
    }

    Blocks subarray(Arguments& arguments, const Layout& inner) const {
        const std::int64_t rank = arguments.next();
        std::int64_t order = arguments.is_large() ? arguments.next() : 0;
        const auto sizes = arguments.next(rank), parts = arguments.next(rank), starts = arguments.next(rank);
        if (!arguments.is_large()) order = arguments.next();
        std::vector<Dimension> dimensions;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            require(starts[d] <= sizes[d] && parts[d] <= sizes[d] - starts[d]);
            dimensions.push_back({sizes[d], starts[d], parts[d], sizes[d], starts[d] + parts[d]});
        }
        return array(dimensions, order, inner);
    }

    /// MPI-4.1, section 5.1.4. Ranks lie in the process grid in row-major order, whatever the order of the
    /// array.
    Blocks darray(Arguments& arguments, const Layout& inner) const {
        std::int64_t processes = arguments.next(), rank = arguments.next();
        const std::int64_t n = arguments.next();
        std::span<const std::int64_t> sizes;
        if (!arguments.is_large()) sizes = arguments.next(n);
        const auto kinds = arguments.next(n), lengths = arguments.next(n), grid = arguments.next(n);
        const std::int64_t order = arguments.next();
        if (arguments.is_large()) sizes = arguments.next(n);
        std::vector<Dimension> dimensions;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            require(grid[d] > 0 && grid[d] <= processes);
            processes /= grid[d];
            const std::int64_t place = rank / processes;
            rank %= processes;
            std::int64_t length = lengths[d];
            if (kinds[d] == MPI_DISTRIBUTE_NONE)
                length = sizes[d];
            else if (length == MPI_DISTRIBUTE_DFLT_DARG)
                length = kinds[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
            require(length > 0 && fits(Wide{grid[d]} * length));
            dimensions.push_back({sizes[d], place * length, length, grid[d] * length, sizes[d]});
        }
        return array(dimensions, order, inner);
    }

    /// The selected part of an array, its fastest dimension innermost.
    Blocks array(std::vector<Dimension>& dimensions, std::int64_t order, const Layout& inner) const {
        require(order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN);
        if (order == MPI_ORDER_C) std::reverse(dimensions.begin(), dimensions.end());
        Blocks part = inner.blocks;
        Wide stride = inner.extent;
        for (const Dimension& d : dimensions) {
            Blocks wider;
            if (part.empty()) return part;
            for (Wide i = d.first; i < d.end; i += d.step)
                add(wider, part, i * stride, std::min<Wide>(d.length, d.end - i), stride);
            part = std::move(wider);
            stride *= d.size;
            require(fits(stride));
        }
        return part;
    }

    std::uint64_t limit_;
};

/// Whether the library sees the type in the same way, as far as its own size and bounds tell.
bool agrees(MPI_Datatype type, const Layout& layout) {
    MPI_Count size = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || static_cast<std::uint64_t>(size) != layout.size)
        return false;
#if defined(OPEN_MPI)
    // Open MPI takes a stride of -1 byte for "none given". MPICH is not asked: it tells wrong bounds of some
    // darrays.
    MPI_Count its_lower = 0, its_extent = 0;
    if (PMPI_Type_get_true_extent_x(type, &its_lower, &its_extent) != MPI_SUCCESS) return false;
    std::int64_t lower = INT64_MAX, upper = INT64_MIN;
    for (const LayoutRun& block : layout.blocks) {
        lower = std::min(lower, block.offset);
        upper = std::max(upper, block.offset + static_cast<std::int64_t>(block.size));
    }
    return size == 0 || (lower == its_lower && upper - lower == its_extent);
#else
    return true;
#endif
}

}  // namespace

bool is_datatype(MPI_Datatype type) noexcept {
    if (type == MPI_DATATYPE_NULL) return false;
#if defined(OPEN_MPI) || defined(MPI_ABI) || defined(NEARFETCH_MPI_SMPI)
    return type != nullptr;
#else
    // MPICH: bits 30 and 31 are the kind of the handle, never 0. Bits 26 to 29 are the kind of the object: 3
    // for datatypes.
    const auto bits = static_cast<std::uint32_t>(type);
    return (bits >> 30) != 0 && ((bits >> 26) & 0xf) == 3;
#endif
}

bool is_predefined(MPI_Datatype type) noexcept try {
    return Envelope(type).is_predefined();
} catch (const NotKnown&) {
    return false;
}

Layout detail::compute_layout(MPI_Datatype type, std::uint64_t run_limit) try {
    Layout layout = Flattener(run_limit).map_of(type);
    for (const LayoutRun& block : layout.blocks)
        layout.size += block.size;
    require(agrees(type, layout));
    layout.blocks.shrink_to_fit();
    layout.known = true;
    return layout;
} catch (const NotKnown&) {
    return {};
}

bool flatten(const Layout& layout, std::int64_t base, std::uint64_t count, std::uint64_t run_limit,
             std::vector<LayoutRun>& out) {
    out.clear();
    return layout.known && repeat(layout.blocks, base, count, layout.extent, run_limit, out);
}

}  // namespace nearfetch
