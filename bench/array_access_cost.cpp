// SPDX-License-Identifier: Apache-2.0
//
// What reading and writing an element costs where the network takes no time, by where it is: in a local
// array, in the own part of a distributed one, prefetched, or at another rank and in the page cache (LAPPS,
// section 6.2.1). Each kind goes over as many elements with the same stride; they take turns within one
// process. Reads are added to one sum, each addition waiting for the one before, and, as `..., independent`,
// to four. `bare get` reads the remote elements of the array by get() of a GlobalPtr. `located get` finds an
// element's owner and place first: all that the array does but its check. Of an array that has something
// prefetched, an access has to find out whether it is this (6.2.4): that is measured of the same array as
// without, for another one has its pages elsewhere in the processor's caches. What is prefetched is written
// twice. With --only one kind runs alone, to count its instructions:
//
//     valgrind --tool=callgrind array_access_cost --rounds 1 --only own --count 100000    # and 200000

#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <nearfetch/array.hpp>
#include <numeric>

#include "common/validators.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

using Array = BlockArray<double, 1>;

constexpr std::int64_t elements = 8192;  // of each rank: half of the default page cache

struct Options {
    std::int64_t stride = 1;
    std::int64_t count = 1'000'000;
    int rounds = 5;
    std::string only;
};

/// Times `count` reads that are added to `sums` in turn. \param read gives the element of a place below
/// `elements`
template <std::size_t width, class Read>
double ns_each(const Options& options, std::array<double, width>& sums, const Read& read) {
    const std::uint64_t begin_ns = now_ns();
    std::int64_t place = 0;
    for (std::int64_t n = 0; n < options.count; n += width)
        for (double& sum : sums) {
            sum += read(place);
            place += options.stride;
            if (place >= elements) place = (place + 1) % options.stride;
        }
    return static_cast<double>(now_ns() - begin_ns) / static_cast<double>(options.count);
}

/// The same for writes. \param write is given a place and a value
template <class Write>
double ns_each_write(const Options& options, const Write& write) {
    std::array<double, 1> none{};
    const double each = ns_each(options, none, [&](std::int64_t place) {
        write(place, static_cast<double>(place % 7));
        return 0.0;
    });
    release();
    return each;
}

/// All kinds, by name. \param arrays one for each way to prefetch, all with the same elements
class Kinds {
  public:
    Kinds()
        : far_(Box<1>({}, {2 * elements})),
          manual_(far_.bounds()),
          automatic_(far_.bounds()),
          learned_(far_.bounds()) {
        for (Array* const array : {&far_, &manual_, &automatic_, &learned_})
            array->for_each(
                [](const Index<1>& i, double& x) { x = static_cast<double>(i[0] % elements % 7); });
        const std::vector<std::vector<Box<1>>> all{{far_.bounds()}, {}};
        manual_.prefetch_custom(all, {.consistent = false});
        automatic_.prefetch_custom(all);
        // Each other one: what is learned is no box.
        learned_.observe();
        if (rank() == 0)
            for (std::int64_t i = 0; i < elements; ++i)
                (void)learned_.read({elements + (i | 1)});
        learned_.prefetch_observed({.consistent = false});
    }

    /// Of rank 0. Called by all ranks.
    void measure(const Options& options, programs::Run& run) {
        std::vector<double> local(static_cast<std::size_t>(elements));
        for (std::int64_t i = 0; i < elements; ++i)
            local[static_cast<std::size_t>(i)] = far_(i);
        const double* const plain = local.data();
        const View<double, 1> view = far_.local();
        // The other rank's part of far_: at the same address as this one's.
        const auto some = allocate<double>(1);
        const GlobalPtr<double> others =
            (some + (far_.own(far_.own_box().lower) - some.local())).at_rank(programs::other_rank());
        const Array &far = far_, &manual = manual_, &automatic = automatic_, &learned = learned_;
        std::map<std::string, std::vector<double>> times;
        std::map<std::string, double> sums;
        for (int round = 0; round < options.rounds; ++round) {
            const auto is_wanted = [&](const std::string& name) {
                return rank() == 0 && (options.only.empty() || options.only == name);
            };
            const auto time_sums = [&]<std::size_t width>(const std::string& name,
                                                          std::array<double, width> all, const auto& read) {
                if (!is_wanted(name)) return;
                times[name].push_back(ns_each(options, all, read));
                sums[name] += std::accumulate(all.begin(), all.end(), 0.0);
            };
            const auto time = [&](const std::string& name, const auto& read) {
                time_sums(name, std::array<double, 1>{}, read);
                time_sums(name + ", independent", std::array<double, 4>{}, read);
            };
            const auto time_writes = [&](const std::string& name, Array& array) {
                if (!is_wanted(name)) return;
                times[name].push_back(ns_each_write(
                    options, [&](std::int64_t i, double value) { array.write({elements + i}, value); }));
            };
            const auto time_far = [&](const std::string& suffix) {
                if (rank() == 0)
                    for (std::int64_t i = 0; i < elements; ++i)
                        (void)far.read({elements + i});  // into the page cache, which acquires have emptied
                time("remote" + suffix, [&](std::int64_t i) { return far(elements + i); });
                if (suffix.empty()) {
                    time("bare get", [&](std::int64_t i) { return get(others + i); });
                    time("located get", [&](std::int64_t i) {
                        const Location<1> location = far.layout().locate({elements + i});
                        return get(others.at_rank(location.rank) + location.position);
                    });
                }
                time_writes("write" + suffix, far_);
            };
            const auto time_checked = [&] {
                // One element alone: that it is not the one that is read has to be found out each time.
                far_.prefetch_custom({{{{2 * elements - 1}, {2 * elements}}}, {}}, {.consistent = false});
                time_far(", checked");
                far_.evict_prefetch();
            };
            time("local array", [&](std::int64_t i) { return plain[i]; });
            time("own, view", [&](std::int64_t i) { return view(i); });
            time("own", [&](std::int64_t i) { return far(i); });
            if (round % 2 != 0) time_checked();
            time_far("");
            if (round % 2 == 0) time_checked();
            time("prefetched, ac", [&](std::int64_t i) { return automatic(elements + i); });
            time("prefetched, mc", [&](std::int64_t i) { return manual(elements + i); });
            time("prefetched, learned", [&](std::int64_t i) { return learned(elements + (i | 1)); });
            time_writes("write, ac", automatic_);
            time_writes("write, mc", manual_);
        }
        if (rank() != 0) return;
        for (const auto& [name, each] : times)
            run.note(name, each);
        bool right = true;
        std::array<double, 1> odd{};
        for (int round = 0; round < options.rounds; ++round)
            ns_each(options, odd, [&](std::int64_t i) { return plain[i | 1]; });
        for (const char* const name : {"prefetched, learned", "prefetched, learned, independent"})
            if (const auto sum = sums.extract(name); !sum.empty()) right = right && sum.mapped() == odd[0];
        for (const auto& [name, sum] : sums)
            right = right && sum == sums.begin()->second;
        run.result(0, right);
    }

  private:
    Array far_, manual_, automatic_, learned_;
};

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("array_access_cost", "Times reads of elements by where they are.");
    Options options;
    apps::add_number(program.options(), "--stride", options.stride, 1, elements,
                     "from one element that is read to the next");
    apps::add_number(program.options(), "--count", options.count, 1, std::int64_t{1} << 40,
                     "elements that are read, in fours");
    apps::add_number(program.options(), "--rounds", options.rounds, 1, 1000, "that all kinds take turns in");
    const auto segment_bytes = [] { return std::uint64_t{1} << 20; };
    program.options().add_option("--only", options.only, "kind that runs, without the others");
    return program.run(argc, argv, segment_bytes, [&](programs::Run& run) {
        Kinds kinds;
        run.begin();
        run.result(0, true);
        kinds.measure(options, run);
        run.end();
    });
}
