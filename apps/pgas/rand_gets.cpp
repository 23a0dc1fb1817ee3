// SPDX-License-Identifier: Apache-2.0
//
// rand-gets (Ferguson and Buettner 2015, section V-A): reads random elements of a large remote array. Almost
// none is read twice: it shows the cost of a cache without benefit.

#include "pgas/random_indices.hpp"

using namespace nearfetch;

int main(int argc, char** argv) {
    programs::Program program("rand_gets", "Reads random elements of an array at another rank.");
    programs::RandomAccesses accesses;
    return accesses.run(program, argc, argv, [&](programs::Run& run, GlobalPtr<std::int64_t> array) {
        accesses.fill(array);

        run.begin();
        std::int64_t sum = 0;
        if (rank() == 0)
            for (std::int64_t i = 0; i < accesses.operations; ++i)
                sum += array[accesses.index(i)];
        run.end();

        run.result(static_cast<std::uint64_t>(sum), rank() != 0 || sum == accesses.sum());
        // Further accesses to a page cannot be predicted, so the first access to each page is a get.
        const std::uint64_t gets = accesses.distinct(1024);
        run.least({.get_messages = gets, .get_bytes = 8 * gets, .round_trips = gets});
    });
}
