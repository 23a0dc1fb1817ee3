// SPDX-License-Identifier: Apache-2.0
//
// rand-puts (Ferguson and Buettner 2015, section V-A): writes random elements of a large remote array. Puts
// cannot be combined; a cache can only avoid waiting for each.

#include "common/random.hpp"
#include "pgas/random_indices.hpp"

using namespace nearfetch;

int main(int argc, char** argv) {
    programs::Program program("rand_puts", "Writes random elements of an array at another rank.");
    programs::RandomAccesses accesses;
    return accesses.run(program, argc, argv, [&](programs::Run& run, GlobalPtr<std::int64_t> array) {
        // So that the memory is populated, as in a program that has used it.
        if (rank() == array.rank()) std::fill_n(array.local(), accesses.elements, 0);

        run.begin();
        if (rank() == 0)
            for (std::int64_t i = 0; i < accesses.operations; ++i)
                array[accesses.index(i)] = i + 1;
        run.end();

        // An element that was written twice has the later value.
        std::uint64_t checksum = 0;
        bool right = true;
        if (rank() == array.rank()) {
            std::vector<std::int64_t> expected(static_cast<std::size_t>(accesses.elements));
            for (std::int64_t i = 0; i < accesses.operations; ++i)
                expected[static_cast<std::size_t>(accesses.index(i))] = i + 1;
            const std::int64_t* const values = array.local();
            for (std::int64_t i = 0; i < accesses.elements; ++i) {
                const std::int64_t value = values[i];
                right = right && value == expected[static_cast<std::size_t>(i)];
                if (value != 0) checksum += apps::mixed(value * accesses.elements + i);
            }
        }
        run.result(checksum, right);
        const std::uint64_t puts = accesses.distinct(8);
        run.least({.put_messages = puts, .put_bytes = 8 * puts});
    });
}
