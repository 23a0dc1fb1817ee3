// SPDX-License-Identifier: Apache-2.0
//
// Every rank prefetches all of a distributed matrix, and reads some elements of it. Then the matrix changes,
// and it starts again. The synthetic benchmarks of LAPPS for the first time (section 6.2.2) and for updates
// (6.2.3).

#include <CLI/CLI.hpp>
#include <nearfetch/array.hpp>
#include <set>

#include "common/random.hpp"
#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Matrix = BlockArray<double, 2>;

struct Options {
    std::int64_t order = 200;
    int iterations = 5;
    std::int64_t reads = 100;
    programs::Version version;

    /// The value before that iteration, from 0.
    double value(const Index<2>& i, int iteration) const {
        return static_cast<double>(order * i[0] + i[1] + iteration);
    }
};

/// The indices that this rank reads, the same each time.
std::vector<Index<2>> chosen(const Options& options) {
    std::vector<Index<2>> indices;
    const auto order = static_cast<std::uint64_t>(options.order);
    std::uint64_t dice = static_cast<std::uint64_t>(rank()) + 1;
    for (std::int64_t n = 0; n < options.reads; ++n) {
        dice = apps::mixed(dice);
        const std::uint64_t place = dice % (order * order);
        indices.push_back(
            {static_cast<std::int64_t>(place / order), static_cast<std::int64_t>(place % order)});
    }
    return indices;
}

/// \return whether all values read are right
bool iterate(Matrix& a, const std::vector<Index<2>>& indices, const Options& options) {
    std::vector<double> copy;
    bool right = true;
    for (int n = 0; n < options.iterations; ++n) {
        if (n != 0) a.for_each([](const Index<2>&, double& element) { element += 1; });
        barrier();
        if (options.version.is_prefetched() && n == 0)
            a.prefetch_all_to_all(options.version.prefetch());
        else if (options.version.is_manual())
            a.update_prefetch();
        if (options.version.is_by_hand()) {
            copy.resize(static_cast<std::size_t>(a.bounds().size()));
            a.get(a.bounds(), copy);
        }
        const Matrix& same = a;
        for (const Index<2>& i : indices) {
            const double element = options.version.is_by_hand()
                                       ? copy[static_cast<std::size_t>(options.order * i[0] + i[1])]
                                       : same[i];
            right = right && element == options.value(i, n);
        }
        barrier();
    }
    return right;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("replicate",
                              "Prefetches all of a distributed matrix in every rank, repeatedly.");
    Options options;
    apps::add_number(program.options(), "--order", options.order, 1, std::int64_t{1} << 20,
                     "rows and columns of the matrix");
    apps::add_number(program.options(), "--iterations", options.iterations, 1, 1'000'000,
                     "number of prefetches");
    apps::add_number(program.options(), "--reads", options.reads, 0, std::int64_t{1} << 30,
                     "elements that each rank reads each time");
    options.version.add_options(program.options());
    return program.run(argc, argv, [&](programs::Run& run) {
        Matrix a({options.order, options.order});
        a.for_each([&](const Index<2>& i, double& element) { element = options.value(i, 0); });
        const std::vector<Index<2>> indices = chosen(options);

        run.begin();
        const bool right = iterate(a, indices, options);
        run.end();

        run.result(programs::checksum(a), right);
        options.version.note(run);
        programs::Needed needed;
        for (const Index<2>& i : std::set<Index<2>>(indices.begin(), indices.end()))
            needed.add(a, {i, {i[0] + 1, i[1] + 1}});
        run.least(needed.traffic(options.iterations));
    });
}
