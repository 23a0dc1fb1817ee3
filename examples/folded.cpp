// SPDX-License-Identifier: Apache-2.0
//
// A distribution of one's own, with its own prefetch pattern and its own packing
// (nearfetch/distribution.hpp).
//
//     folded [ranks]             ranks in this process
//     mpiexec -n 3 folded        ranks are processes; the program in <build>/programs/<family>
//
// L is a lower triangular matrix, and each rank computes rows of L times its transpose. Row i costs i * i
// operations, so with one block per rank the last rank would do most of them. A folded distribution gives
// each rank one block from the front and one from the back. What is above the diagonal is zero on every rank,
// so the packing leaves it out: about half of the bytes.

#include <cstdio>
#include <cstring>
#include <exception>
#include <nearfetch/array.hpp>
#include <string>
#include <vector>

#ifdef FOLDED_ON_MPI
#include <nearfetch/pgas_mpi.hpp>
#endif

using namespace nearfetch;

/// 2 * parts blocks. Part p has block p, and block p from the back.
class Folded {
  public:
    static constexpr bool contiguous = false;

    Folded() = default;
    Folded(std::int64_t size, Rank parts, std::int64_t /*block*/)
        : size_(size), parts_(parts), block_((size + 2 * parts - 1) / (2 * parts)) {}

    Rank part(std::int64_t i) const {
        const std::int64_t block = i / block_;
        return static_cast<Rank>(block < parts_ ? block : 2 * parts_ - 1 - block);
    }
    std::int64_t local(std::int64_t i) const { return below(part(i), i); }
    std::int64_t global(Rank part, std::int64_t local) const {
        const std::int64_t front = below(part, parts_ * block_);
        return local < front ? front_of(part) + local : back_of(part) + local - front;
    }
    /// How many of the part's numbers are smaller than i.
    std::int64_t below(Rank part, std::int64_t i) const {
        const auto in_block = [&](std::int64_t begin) {
            return std::clamp<std::int64_t>(std::min(i, size_) - begin, 0, block_);
        };
        return in_block(front_of(part)) + in_block(back_of(part));
    }
    std::int64_t size() const { return size_; }
    friend bool operator==(const Folded&, const Folded&) = default;

  private:
    std::int64_t front_of(Rank part) const { return part * block_; }
    std::int64_t back_of(Rank part) const { return (2 * parts_ - 1 - part) * block_; }
    std::int64_t size_ = 0;
    std::int64_t parts_ = 1;
    std::int64_t block_ = 1;
};

/// Of a lower triangular matrix only what is not above the diagonal travels, row after row.
template <>
struct nearfetch::Packing<double, 2, Folded> {
    using Part = PackedBox<2, Folded>;

    static std::uint64_t bytes(const Part& box) {
        std::int64_t elements = 0;
        for (std::int64_t row = 0; row < box.shape()[0]; ++row)
            elements += travels(box, row);
        return static_cast<std::uint64_t>(elements) * sizeof(double);
    }
    static void pack(const Part& box, const View<const double, 2>& elements, std::byte* to) {
        for (std::int64_t row = 0; row < box.shape()[0]; ++row) {
            const std::size_t row_bytes = static_cast<std::size_t>(travels(box, row)) * sizeof(double);
            if (row_bytes > 0) std::memcpy(to, &elements(row, 0), row_bytes);
            to += row_bytes;
        }
    }
    static void unpack(const Part& box, const std::byte* from, const View<double, 2>& elements) {
        for (std::int64_t row = 0; row < box.shape()[0]; ++row) {
            const std::int64_t count = travels(box, row);
            const std::size_t row_bytes = static_cast<std::size_t>(count) * sizeof(double);
            if (row_bytes > 0) std::memcpy(&elements(row, 0), from, row_bytes);
            from += row_bytes;
            for (std::int64_t column = count; column < box.shape()[1]; ++column)
                elements(row, column) = 0;
        }
    }

  private:
    /// How many elements at the beginning of a row of the box. Columns are not dealt out here.
    static std::int64_t travels(const Part& box, std::int64_t row) {
        const Index<2> first = box.index({row, 0});
        return std::clamp<std::int64_t>(first[0] - first[1] + 1, 0, box.shape()[1]);
    }
};

namespace {

using Matrix = DistributedArray<double, 2, Folded>;

constexpr std::int64_t n = 120;

/// The matrix of a round: small integers, so that sums are exact.
double element_of(std::int64_t i, std::int64_t j, int round) {
    return j > i ? 0 : static_cast<double>((3 * i + 5 * j + round) % 7);
}

/// The pattern: a rank reads all rows up to its last one.
std::vector<Box<2>> rows_before(const Layout<2, Folded>& layout, Rank rank) {
    const Index<2> shape = layout.local_shape(rank);
    if (shape[0] == 0) return {};
    const Index<2> last = layout.global(rank, {shape[0] - 1, 0});
    return {Box<2>({0, 0}, {last[0] + 1, layout.bounds().upper[1]})};
}

/// Row i and row j of L, multiplied.
template <class Read>
double product(std::int64_t i, std::int64_t j, const Read& read) {
    double sum = 0;
    for (std::int64_t k = 0; k <= std::min(i, j); ++k)
        sum += read(i, k) * read(j, k);
    return sum;
}

void run() {
    const Box<2> bounds({0, 0}, {n, n});
    const std::array<Rank, 2> rows_only{ranks(), 1};
    Matrix lower(bounds, rows_only), squared(bounds, rows_only);
    lower.prefetch_custom(rows_before);
    for (int round = 0; round < 3; ++round) {
        lower.for_each([&](const Index<2>& i, double& x) { x = element_of(i[0], i[1], round); });
        barrier();  // what is prefetched is stale now, and comes again when it is read
        squared.for_each([&](const Index<2>& i, double& x) {
            if (i[1] <= i[0]) x = product(i[0], i[1], [&](auto a, auto b) -> double { return lower(a, b); });
        });
        squared.for_each([&](const Index<2>& i, const double& x) {
            const double expected =
                product(i[0], i[1], [&](auto a, auto b) { return element_of(a, b, round); });
            if (i[1] <= i[0] && x != expected) throw Error("folded: a wrong element");
        });
        barrier();
    }
    const PrefetchStatistics prefetched = prefetch_statistics();
    const std::uint64_t gets = statistics()["get_messages"];
    if (rank() == 0)
        std::printf("%d ranks, %lu fetches of prefetched rows, %lu single GETs: right\n", ranks(),
                    static_cast<unsigned long>(prefetched.updates), static_cast<unsigned long>(gets));
}

}  // namespace

int main(int argc, char** argv) {
    try {
#ifdef FOLDED_ON_MPI
        return launch_mpi({}, &argc, &argv, run);
#else
        launch({.ranks = argc > 1 ? std::stoi(argv[1]) : 3}, run);
        return 0;
#endif
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
