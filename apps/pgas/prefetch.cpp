// SPDX-License-Identifier: Apache-2.0
//
// prefetch (Ferguson and Buettner 2015, Listing 7 and section V-A): sums elements of a remote array at
// computed indices, with a prefetch k iterations ahead of each. With `auto` a Prefetcher chooses k.

#include "common/validators.hpp"
#include "pgas/headers.hpp"
#include "pgas/random_indices.hpp"

using namespace nearfetch;

namespace {

using Array = programs::Headers::Array;

// Listing 7.
std::int64_t add_up(const Array& array, const programs::RandomAccesses& accesses, std::uint64_t compute_ns,
                    std::int64_t k) {
    const std::int64_t n = accesses.operations;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < std::min(k, n); ++i)
        prefetch(array + accesses.index(i));
    for (std::int64_t i = 0; i < n; ++i) {
        if (k > 0 && i + k < n) prefetch(array + accesses.index(i + k));
        sum += get(array + accesses.index(i));
        if (compute_ns != 0) compute(compute_ns);
    }
    return sum;
}

// k is chosen at run time.
std::int64_t add_up(const Array& array, const programs::RandomAccesses& accesses, std::uint64_t compute_ns,
                    Prefetcher& ahead) {
    const std::int64_t n = accesses.operations;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        ahead.step(i, n, [&](std::int64_t j) { prefetch(array + accesses.index(j)); });
        sum += get(array + accesses.index(i));
        if (compute_ns != 0) compute(compute_ns);
    }
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("prefetch",
                              "Reads elements of an array at another rank that it asks for ahead.");
    programs::RandomAccesses accesses;
    std::string distance = "auto";
    program.options()
        .add_option("--distance", distance, "iterations ahead; 0: no prefetching; auto: found as it runs")
        ->check(apps::whole_number() | CLI::IsMember({"auto"}))
        ->type_name("N|auto")
        ->capture_default_str();
    std::uint64_t compute_ns = 0;
    program.options()
        .add_option("--compute-ns", compute_ns, "that each iteration computes for")
        ->check(apps::whole_number())
        ->type_name("N");
    programs::Headers headers;
    headers.add_options(program.options());
    return accesses.run(program, argc, argv, [&](programs::Run& run, GlobalPtr<std::int64_t> elements) {
        accesses.fill(elements);
        const auto header = headers.allocate_of(elements);

        Prefetcher ahead;
        run.begin();
        std::int64_t sum = 0;
        if (rank() == 0) {
            const Array array(elements, header, headers);
            sum = distance == "auto" ? add_up(array, accesses, compute_ns, ahead)
                                     : add_up(array, accesses, compute_ns, std::stoll(distance));
        }
        run.end();

        run.result(static_cast<std::uint64_t>(sum), rank() != 0 || sum == accesses.sum());
        if (rank() == 0) {
            run.note("distance", distance);
            run.note("last_distance", static_cast<std::uint64_t>(ahead.distance()));
        }
        const std::uint64_t gets = accesses.distinct(64);
        run.least({.get_messages = gets, .get_bytes = 8 * gets});
    });
}
