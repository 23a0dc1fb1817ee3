// SPDX-License-Identifier: Apache-2.0
//
// What an access to an element costs, by where the element is: the ten types of LAPPS's Table 4 (section
// 6.2.1). Rank 0 of two goes over its own or the other rank's part with a stride. All kinds take turns within
// one process. Each begins where the one before has ended, so an array that is larger than the caches stays
// out of them.
//
// `address` and `access` are timed apart: in turn the addresses of a batch of elements, then the elements.
// Reads in a loop, as programs have them, are added to one sum, each addition waiting for the one before; and
// as `..., independent` to four. Remote kinds miss in the page cache, which is much smaller than the array.
// `bare get` reads by get() of a GlobalPtr; `located get` finds owner and place first: all that an array does
// but its check (6.2.4). `checked` is through the array with another element prefetched. With --only one kind
// runs alone, to count its instructions. These are pages in the cache, if the array is small:
//
//     valgrind --tool=callgrind array_access_cost --elements 8192 --rounds 1 --only own --count 100000

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <nearfetch/array.hpp>
#include <numeric>

#include "common/validators.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

using Array = BlockArray<double, 1>;

constexpr std::size_t batch = 512;
constexpr std::int64_t line = 64 / sizeof(double);
/// More remote elements are not learned: each is read by a message.
constexpr std::int64_t most_learned = 16384;

struct Options {
    std::int64_t elements = 8192;
    std::int64_t stride = 1;
    std::int64_t count = 100'000;
    std::int64_t remote_count = 10'000;
    int rounds = 3;
    std::string only;
};

/// Two neighbours have the same.
double value_at(std::int64_t place) { return static_cast<double>(place / 2 % 7); }

/// The places that are read, one after the other. At the end it goes on in other cache lines.
class Walk {
  public:
    Walk(const Options& options, std::int64_t first)
        : stride_(options.stride), elements_(options.elements), place_(first % options.elements) {}
    std::int64_t next() {
        const std::int64_t place = place_;
        place_ += stride_;
        if (place_ >= elements_) place_ = (place_ % stride_ + (stride_ > line ? line : 1)) % stride_;
        return place;
    }

  private:
    std::int64_t stride_;
    std::int64_t elements_;
    std::int64_t place_;
};

/// Times `count` reads that are added to `sums` in turn.
template <std::size_t width, class Read>
double ns_each(Walk walk, std::int64_t count, std::array<double, width>& sums, const Read& read) {
    std::array<double, width> in_registers{};
    const std::uint64_t begin_ns = now_ns();
    for (std::int64_t n = 0; n < count; n += width)
        for (double& sum : in_registers)
            sum += read(walk.next());
    const std::uint64_t end_ns = now_ns();
    sums = in_registers;
    return static_cast<double>(end_ns - begin_ns) / static_cast<double>(count);
}

struct Apart {
    double address_ns = 0;
    double access_ns = 0;
};

/// Memory that the compiler has to take for read by others: what is stored is not computed later.
std::atomic<const void*> seen_by_others{nullptr};

/// Times the computation of addresses, and the accesses. Both are done for a batch at a time.
template <class Address, class Access>
Apart ns_apart(Walk walk, std::int64_t count, double& sum, const Address& address, const Access& access) {
    using Of = std::invoke_result_t<const Address&, std::int64_t>;
    const auto places = std::make_unique<std::array<std::int64_t, batch>>();
    const auto addresses = std::make_unique<std::array<Of, batch>>();
    seen_by_others = addresses.get();
    std::uint64_t address_ns = 0;
    std::uint64_t access_ns = 0;
    const std::int64_t batches = (count + batch - 1) / batch;
    for (std::int64_t n = 0; n < batches; ++n) {
        for (std::int64_t& place : *places)
            place = walk.next();
        const std::uint64_t begin_ns = now_ns();
        for (std::size_t k = 0; k < batch; ++k)
            (*addresses)[k] = address((*places)[k]);
        const std::uint64_t between_ns = now_ns();
        for (const Of& each : *addresses)
            sum += access(each);
        const std::uint64_t end_ns = now_ns();
        address_ns += between_ns - begin_ns;
        access_ns += end_ns - between_ns;
    }
    const auto each = [&](std::uint64_t ns) {
        return static_cast<double>(ns) / static_cast<double>(batches * static_cast<std::int64_t>(batch));
    };
    return {each(address_ns), each(access_ns)};
}

/// The times of all kinds, by name.
class Times {
  public:
    explicit Times(const Options& options) : options_(options) {}

    bool is_wanted(const std::string& kind) const {
        return rank() == 0 && (options_.only.empty() || options_.only == kind);
    }
    /// \param address gives what `access` reads \param read does both, as a program does
    template <class Address, class Access, class Read>
    void time(const std::string& kind, std::int64_t count, const Address& address, const Access& access,
              const Read& read) {
        if (is_wanted(kind) && options_.only.empty()) {
            double sum = 0;
            const std::int64_t whole = (count + batch - 1) / batch * static_cast<std::int64_t>(batch);
            const Apart apart = ns_apart(Walk(options_, first_), count, sum, address, access);
            times_[kind + ": address"].push_back(apart.address_ns);
            times_[kind + ": access"].push_back(apart.access_ns);
            check(sum, whole);
        }
        time_reads(kind, count, read);
    }
    template <class Read>
    void time_reads(const std::string& kind, std::int64_t count, const Read& read) {
        time_sums(kind, count, std::array<double, 1>{}, read);
        time_sums(kind + ", independent", count, std::array<double, 4>{}, read);
    }
    /// \param write is given a place and a value
    template <class Write>
    void time_writes(const std::string& kind, std::int64_t count, const Write& write) {
        if (!is_wanted(kind)) return;
        std::array<double, 1> none{};
        const double each = ns_each(Walk(options_, first_), count, none, [&](std::int64_t place) {
            write(place, value_at(place));
            return value_at(place);
        });
        release();
        times_[kind].push_back(each);
        check(none[0], count);
    }
    bool right() const { return right_; }
    const std::map<std::string, std::vector<double>>& all() const { return times_; }

  private:
    template <std::size_t width, class Read>
    void time_sums(const std::string& kind, std::int64_t count, std::array<double, width> sums,
                   const Read& read) {
        if (!is_wanted(kind)) return;
        times_[kind].push_back(ns_each(Walk(options_, first_), count, sums, read));
        check(std::accumulate(sums.begin(), sums.end(), 0.0), (count + width - 1) / width * width);
    }
    /// Notes whether the sum of what was read is right, and goes on behind it.
    void check(double sum, std::int64_t count) {
        Walk walk(options_, first_);
        double expected = 0;
        for (std::int64_t n = 0; n < count; ++n)
            expected += value_at(walk.next());
        right_ = right_ && sum == expected;
        first_ = walk.next();
    }

    const Options& options_;
    std::int64_t first_ = 0;
    bool right_ = true;
    std::map<std::string, std::vector<double>> times_;
};

/// All kinds, of one array. Called by all ranks; rank 0 measures.
class Kinds {
  public:
    explicit Kinds(const Options& options)
        : options_(options), times_(options), far_(Box<1>({}, {2 * options.elements})) {
        far_.for_each([&](const Index<1>& i, double& x) { x = value_at(i[0] % options.elements); });
        barrier();
        if (rank() == 0) local_.assign(far_.local().begin(), far_.local().end());
        barrier();
        others_ = &far_(far_.layout().global(programs::other_rank(), {0})[0]);
    }

    void measure(programs::Run& run) {
        const bool is_small = options_.elements <= most_learned;
        for (int round = 0; round < options_.rounds; ++round) {
            time_own();
            if (round % 2 != 0) time_checked();
            time_remote("");
            if (round % 2 == 0) time_checked();
            time_prefetched("prefetched, mc", false, false);
            time_prefetched("prefetched, ac", true, false);
            time_prefetched("replica, mc", false, true);
            time_prefetched("replica, ac", true, true);
            if (is_small) time_learned();
        }
        if (rank() != 0) return;
        for (const auto& [name, each] : times_.all())
            run.note(name, each);
        run.result(0, times_.right());
    }

  private:
    /// Types 1 to 3 of the paper.
    void time_own() {
        const double* const plain = local_.data();
        const View<double, 1> view = far_.local();
        const Array& far = far_;
        const auto load = [](const double* p) { return *p; };
        const std::int64_t count = options_.count;
        times_.time(
            "local array", count, [plain](std::int64_t i) { return plain + i; }, load,
            [plain](std::int64_t i) { return plain[i]; });
        times_.time(
            "own, view", count, [view](std::int64_t i) { return &view(i); }, load,
            [view](std::int64_t i) { return view(i); });
        times_.time(
            "own", count, [&far](std::int64_t i) -> const double* { return far.own({i}); }, load,
            [&far](std::int64_t i) { return far(i); });
    }
    /// Type 4, and writes.
    void time_remote(const std::string& suffix) {
        const Array& far = far_;
        const std::int64_t there = options_.elements;
        const std::int64_t count = options_.remote_count;
        // Of a small array all pages are in the cache, which acquires have emptied.
        if (rank() == 0 && there <= most_learned)
            for (std::int64_t i = 0; i < there; ++i)
                (void)far.read({there + i});
        const auto load = [](GlobalPtr<double> p) { return get(p); };
        times_.time(
            "remote" + suffix, count, [&](std::int64_t i) { return &far_(there + i); }, load,
            [&far, there](std::int64_t i) { return far(there + i); });
        if (suffix.empty()) {
            times_.time_reads("bare get", count,
                              [others = others_](std::int64_t i) { return get(others + i); });
            times_.time_reads("located get", count, [&far, there, others = others_](std::int64_t i) {
                const Location<1> location = far.layout().locate({there + i});
                return get(others.at_rank(location.rank) + location.position);
            });
        }
        time_writes("write" + suffix);
    }
    void time_checked() {
        // One element alone: that it is not the one that is read has to be found out each time.
        const std::int64_t end = far_.bounds().upper[0];
        far_.prefetch_custom({{{{end - 1}, {end}}}, {}}, {.consistent = false});
        time_remote(", checked");
        far_.evict_prefetch();
    }
    /// Types 5 to 7, and with a replica, which holds the elements where their indices say, 8 to 10.
    void time_prefetched(const std::string& kind, bool consistent, bool replica) {
        if (replica)
            far_.prefetch_all_to_all({.consistent = consistent});
        else
            far_.prefetch_custom({{far_.bounds()}, {}}, {.consistent = consistent});
        const std::int64_t there = options_.elements;
        const Array& far = far_;
        if (rank() == 0) {
            (void)far.read({there});  // with automatic consistency the elements come now
            times_.time(
                kind, options_.count, [&far, there](std::int64_t i) { return far.prefetched({there + i}); },
                [](const PrefetchedElement<double, 1, Block>& element) { return element.read(); },
                [&far, there](std::int64_t i) { return far(there + i); });
            if (!consistent) {
                const View<const double, 1> here = far.resident({{there}, {2 * there}}).elements;
                times_.time(
                    kind + ", in place", options_.count, [here](std::int64_t i) { return &here(i); },
                    [](const double* p) { return *p; }, [here](std::int64_t i) { return here(i); });
            }
            if (!replica) time_writes(consistent ? "write, ac" : "write, mc");
        }
        barrier();
        far_.evict_prefetch();
    }
    /// Each other element: what is learned is no box.
    void time_learned() {
        const std::int64_t there = options_.elements;
        const Array& far = far_;
        far_.observe();
        if (rank() == 0)
            for (std::int64_t i = 0; i < there; i += 2)
                (void)far.read({there + i});
        far_.prefetch_observed({.consistent = false});
        times_.time_reads("prefetched, learned", options_.count, [&far, there](std::int64_t i) {
            return far(there + (i & ~std::int64_t{1}));  // the even one of two, with the same value
        });
        barrier();
        far_.evict_prefetch();
    }
    void time_writes(const std::string& kind) {
        times_.time_writes(kind, options_.remote_count,
                           [&](std::int64_t i, double value) { far_.write({options_.elements + i}, value); });
    }

    const Options& options_;
    Times times_;
    Array far_;
    std::vector<double> local_;
    GlobalPtr<double> others_;
};

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("array_access_cost", "Times accesses to elements by where they are.");
    Options options;
    const auto number = [&](const char* name, auto& value, std::int64_t most, const char* meaning) {
        apps::add_number(program.options(), name, value, 1, most, meaning);
    };
    number("--elements", options.elements, std::int64_t{1} << 32, "of 8 bytes, of each of the two ranks");
    number("--stride", options.stride, std::int64_t{1} << 32, "from one element that is read to the next");
    number("--count", options.count, std::int64_t{1} << 40, "elements that are read, in fours");
    number("--remote-count", options.remote_count, std::int64_t{1} << 40, "the same, of remote kinds");
    number("--rounds", options.rounds, 1000, "that all kinds take turns in");
    program.options().add_option("--only", options.only, "kind that runs, without the others");
    return program.run(argc, argv, [&](programs::Run& run) {
        Kinds kinds(options);
        run.begin();
        run.result(0, true);
        kinds.measure(run);
        run.end();
    });
}
