// SPDX-License-Identifier: Apache-2.0
//
// Array functions that need messages of a real transport: resizing, contributions (without a thread that
// answers), gathers by runs or packed by the owner, and slices that ranks of a node share.

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <nearfetch/array.hpp>
#include <nearfetch/gather.hpp>

#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

double value_at(const Index<2>& i) { return static_cast<double>(1000 * i[0] + i[1]); }

bool keeps_elements() {
    BlockArray<double, 2> a({20, 30});
    a.for_each([](const Index<2>& i, double& element) { element = value_at(i); });
    a.prefetch_stencil();
    bool right = true;
    for (const Box<2>& bounds :
         {Box<2>({5, -5}, {40, 90}), Box<2>({0, 0}, {20, 25}), Box<2>({1, 1}, {2, 60})}) {
        const Box<2> before = a.bounds();
        a.resize(bounds);
        a.update_prefetch();
        for_each_index(bounds, [&](const Index<2>& i) {
            right = right && a[i] == (before.contains(i) ? value_at(i) : 0);
        });
        barrier();
        a.for_each([](const Index<2>& i, double& element) { element = value_at(i); });
        barrier();
    }
    return right;
}

bool adds_contributions() {
    CyclicArray<double, 1> a({40});
    a.prefetch_all_to_all();
    for (int round = 1; round <= 3; ++round) {
        for (std::int64_t i = 0; i < 40; ++i)
            a.contribute({i}, static_cast<double>(i * (rank() + 1)));
        a.accumulate_ghosts();
    }
    bool right = true;
    for (std::int64_t i = 0; i < 40; ++i)
        right = right && a(i) == static_cast<double>(3 * i * ranks() * (ranks() + 1) / 2);
    barrier();
    return right;
}

bool gathers() {
    bool right = true;
    for (const std::int64_t stride : {1, 7, 300}) {
        BlockArray<double, 1> a({20000});
        std::vector<std::int64_t> indices;
        for (std::int64_t k = 0; k < 5000; ++k)
            indices.push_back(19999 - stride * k % 20000);
        Gather gathered(a, indices);
        for (int round = 1; round <= 2; ++round) {
            a.for_each(
                [&](const Index<1>& i, double& element) { element = static_cast<double>(round * i[0]); });
            barrier();
            gathered.update();
            for (std::size_t k = 0; k < gathered.size(); ++k)
                right = right && gathered[k] == static_cast<double>(round * indices[k]);
            barrier();
        }
    }
    return right;
}

/// All ranks of a node want the same slices of the other nodes, at the same time.
bool shares_fetches(bool on_nodes) {
    const std::int64_t count = 4000;
    BlockArray<double, 1> a({count});
    BlockArray<std::int64_t, 1> shared({ranks()});
    a.prefetch_all_to_all();
    bool right = true;
    for (int round = 1; round <= 50; ++round) {
        a.for_each([&](const Index<1>& i, double& element) { element = static_cast<double>(round * i[0]); });
        barrier();
        for (std::int64_t i = 0; i < count; ++i)
            right = right && a(i) == static_cast<double>(round * i);
        barrier();
    }
    shared(rank()) = static_cast<std::int64_t>(prefetch_statistics().bytes_from_node);
    barrier();
    return right && (shared.sum() > 0) == on_nodes;
}

/// Ranks of a node hold large slices once, and each sees what it has put.
bool shares_memory(bool on_nodes) {
    BlockArray<double, 2> a({512, 512});
    a.prefetch_all_to_all({.static_domain = true});
    const Index<2> last{511, 511};
    bool right = true;
    for (int round = 1; round <= 20; ++round) {
        const auto expected = [&](const Index<2>& i) { return round * value_at(i); };
        a.for_each([&](const Index<2>& i, double& element) { element = expected(i); });
        barrier();
        for_each_index(a.bounds(), [&](const Index<2>& i) { right = right && a.read(i) == expected(i); });
        barrier();
        if (rank() == 0) {
            a[last] = -round;
            right = right && a.read(last) == -round && a.read({511, 510}) == expected({511, 510});
        }
        barrier();
        right = right && a.read(last) == -round;
        barrier();
    }
    return right && (prefetch_statistics().shared_bytes > 0) == on_nodes;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("arrays_on_mpi", "Checks arrays on a real network.");
    bool on_nodes = false;
    const auto make_nodes = [&on_nodes] { on_nodes = setenv("NEARFETCH_NODE_RANKS", "2", 1) == 0; };
    program.options().add_flag_callback("--nodes", make_nodes, "two ranks count as a node");
    return program.run(argc, argv, [&on_nodes](programs::Run& run) {
        run.begin();
        const bool kept = keeps_elements();
        const bool added = adds_contributions();
        const bool gathered = gathers();
        const bool shared = shares_fetches(on_nodes) && shares_memory(on_nodes);
        run.result(0, kept && added && gathered && shared);
        run.end();
    });
}
