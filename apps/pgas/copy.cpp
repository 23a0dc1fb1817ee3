// SPDX-License-Identifier: Apache-2.0
//
// copy (Ferguson and Buettner 2015, section V-A): copies an array to another, element by element. Both are at
// another rank, so each element is a get and a put. With headers each access reads those, too.

#include <CLI/CLI.hpp>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/headers.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

int main(int argc, char** argv) {
    programs::Program program("copy", "Copies an array at another rank, element by element.");
    std::int64_t n = 10'000;
    apps::add_number(program.options(), "--elements", n, 1, std::int64_t{1} << 30, "of 8 bytes each");
    programs::Headers headers;
    headers.add_options(program.options());
    return program.run(argc, argv, [&](programs::Run& run) {
        const auto a = allocate<std::int64_t>(n).at_rank(programs::other_rank());
        const auto b = allocate<std::int64_t>(n).at_rank(programs::other_rank());
        const auto value = [](std::int64_t i) { return static_cast<std::int64_t>(apps::mixed(i)); };
        if (rank() == a.rank())
            for (std::int64_t i = 0; i < n; ++i)
                a.local()[i] = value(i);
        if (rank() == b.rank()) std::fill_n(b.local(), n, 0);
        const auto header_of_a = headers.allocate_of(a), header_of_b = headers.allocate_of(b);

        run.begin();
        if (rank() == 0) {
            const programs::Headers::Array from(a, header_of_a, headers), to(b, header_of_b, headers);
            for (std::int64_t i = 0; i < n; ++i)
                put(to + i, get(from + i));
        }
        run.end();

        std::uint64_t checksum = 0;
        bool right = true;
        if (rank() == b.rank())
            for (std::int64_t i = 0; i < n; ++i) {
                right = right && b.local()[i] == value(i);
                checksum += apps::mixed(b.local()[i] + i);
            }
        run.result(checksum, right);
        const auto bytes = 8 * static_cast<std::uint64_t>(n);
        run.least({.get_messages = 1, .get_bytes = bytes, .put_messages = 1, .put_bytes = bytes});
    });
}
